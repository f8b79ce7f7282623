//! Routes of the server, and the record of each request.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
use tokio::sync::Semaphore;

use super::{
    Access, Remarks, Service, Settings,
    admission::admit,
    catalog,
    fault::{ErrorFormat, Fault, json, read_body},
    metrics::{MEDIA_TYPE, Metrics},
};

/// State that all requests share.
pub(super) struct App {
    pub(super) service: Service,
    pub(super) settings: Arc<Settings>,
    /// Limits the number of documents that are evaluated or waiting.
    pub(super) places: Semaphore,
    pub(super) metrics: Metrics,
    pub(super) on_access: OnAccess,
}

pub(super) type OnAccess = Box<dyn Fn(&Access) + Send + Sync>;

impl App {
    /// Returns the name of the evaluator that a request addresses.
    pub(super) fn find(&self, name: Option<String>) -> Result<String, Fault> {
        let mut offered = self.service.offered();
        match (name, offered.next(), offered.next()) {
            (Some(name), ..) if self.service.offered().any(|one| one.name == name) => Ok(name),
            (Some(name), ..) => Err(self.unknown(&name)),
            (None, Some(only), None) => Ok(only.name.clone()),
            (None, ..) => {
                let message = format!(
                    "several evaluators are offered; use /evaluators/NAME with one of {}",
                    self.names()
                );
                Err(Fault::new(StatusCode::NOT_FOUND, "unknown_evaluator", message))
            }
        }
    }

    pub(super) fn unknown(&self, name: &str) -> Fault {
        let message = format!("there is no evaluator `{name}`; the server offers {}", self.names());
        Fault::new(StatusCode::NOT_FOUND, "unknown_evaluator", message)
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.service.offered().map(|one| one.name.as_str()).collect();
        names.join(", ")
    }
}

pub(super) fn router(app: Arc<App>) -> Router {
    let routes = routes(&app);
    let all = match &app.settings.base_path {
        // A proxy may keep or remove its prefix, and probes do not use it.
        Some(base) => {
            let root = post(only_one).fallback(write_only);
            routes.clone().route(&format!("{base}/"), root).nest(base.as_str(), routes)
        }
        None => routes,
    };
    all.layer(middleware::from_fn_with_state(Arc::clone(&app.settings), admit))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), watch))
        .with_state(app)
}

fn routes(app: &Arc<App>) -> Router<Arc<App>> {
    let catalog = catalog::all(&app.service);
    let document = catalog::openapi(&app.service, &app.settings).to_string();
    let read_only = async |request| only("GET, HEAD", request).await;
    Router::new()
        .route("/healthz", get(async || json("{\"status\":\"ok\"}\n")).fallback(read_only))
        .route("/readyz", get(ready).fallback(read_only))
        .route("/metrics", get(metrics).fallback(read_only))
        .route("/openapi.json", get(async move || json(document.clone())).fallback(read_only))
        .route("/evaluators", get(async move || json(catalog.clone())).fallback(read_only))
        .route(
            "/evaluators/{name}",
            get(described)
                .post(named)
                .fallback(async |request| only("GET, HEAD, POST", request).await),
        )
        .route("/evaluators/{name}/invoke", post(named).fallback(write_only))
        .route("/", post(only_one).fallback(write_only))
        .route("/invoke", post(only_one).fallback(write_only))
        .fallback(nowhere)
}

/// All evaluators are started before the server listens, and on shutdown it stops listening.
async fn ready(State(app): State<Arc<App>>) -> Response {
    match app.service.outdated() {
        None => json("{\"status\":\"ready\"}\n"),
        Some(reason) => Fault::new(StatusCode::SERVICE_UNAVAILABLE, Service::OUTDATED, reason)
            .into_response(ErrorFormat::Json),
    }
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    let limit = app.settings.places.min(Semaphore::MAX_PERMITS);
    let in_progress = limit.saturating_sub(app.places.available_permits());
    let mut response = Response::new(app.metrics.text(in_progress, limit).into());
    let media_type = HeaderValue::from_static(MEDIA_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

/// Name in a path; an error if it is not UTF-8.
type Name = Result<Path<String>, PathRejection>;

async fn named(State(app): State<Arc<App>>, name: Name, request: Request) -> Response {
    match name {
        Ok(Path(name)) => evaluate(app, Some(name), request).await,
        Err(_) => misnamed().refuse(request).await,
    }
}

async fn only_one(State(app): State<Arc<App>>, request: Request) -> Response {
    evaluate(app, None, request).await
}

async fn described(State(app): State<Arc<App>>, name: Name) -> Response {
    let Ok(Path(name)) = name else { return misnamed().into_response(ErrorFormat::Json) };
    match catalog::one(&app.service, &name) {
        Some(text) => json(text),
        None => app.unknown(&name).into_response(ErrorFormat::Json),
    }
}

fn misnamed() -> Fault {
    let message = "the name of the evaluator is not UTF-8";
    Fault::new(StatusCode::NOT_FOUND, "unknown_evaluator", message)
}

async fn nowhere(request: Request) -> Response {
    let message = format!(
        "there is nothing at {}; send documents to /evaluators/NAME, which GET /evaluators lists",
        request.uri().path()
    );
    Fault::new(StatusCode::NOT_FOUND, "not_found", message).refuse(request).await
}

async fn write_only(request: Request) -> Response {
    only("POST", request).await
}

async fn only(methods: &'static str, request: Request) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let message = format!("{method} is not allowed at {path}; use {methods}");
    let fault = Fault::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
    let mut response = fault.refuse(request).await;
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

/// Evaluates the document in the body of a request with the named evaluator, or with the only one if there is no name.
async fn evaluate(app: Arc<App>, name: Option<String>, request: Request) -> Response {
    let name = match app.find(name) {
        Ok(name) => name,
        Err(fault) => return fault.refuse(request).await,
    };
    // The body is not read before this, so that refused requests take no memory.
    let Ok(_place) = app.places.try_acquire() else {
        let message = format!(
            "{} documents are being evaluated or waiting, which is the limit; try again later",
            app.settings.places
        );
        let fault = Fault::new(StatusCode::TOO_MANY_REQUESTS, "busy", message);
        return fault.refuse(request).await;
    };
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let document = match read_body(&head.headers, body, &app.settings).await {
        Ok(document) => document,
        Err((fault, beginning)) => {
            return fault.into_response(ErrorFormat::of(path, None, &beginning));
        }
    };
    let Some(answered) = app.service.answer(&name, &document).await else {
        return app.unknown(&name).into_response(ErrorFormat::of(path, None, &document));
    };
    let contract = answered.contract;
    let (mut response, error) = match answered.result {
        Ok(text) => (json(text), None),
        Err(refusal) => {
            let error = Some(refusal.headline.as_ref().unwrap_or(&refusal.message).clone());
            (Fault::from(refusal).into_response(ErrorFormat::of(path, contract, &document)), error)
        }
    };
    response.extensions_mut().insert(Remarks {
        evaluator: Some(name),
        contract: contract.map(evaluator_protocol::Contract::name),
        error,
        dropped: answered.dropped,
        warnings: answered.warnings,
        stderr: answered.stderr,
    });
    response
}

/// Counts and reports every request, also one whose client disconnects before the response.
async fn watch(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let access = Access {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        status: None,
        took: Duration::ZERO,
        remarks: Remarks::default(),
    };
    let mut watched = Watched { access, start: Instant::now(), app };
    let mut response = next.run(request).await;
    watched.access.remarks = response.extensions_mut().remove().unwrap_or_default();
    watched.access.status = Some(response.status().as_u16());
    response
}

struct Watched {
    access: Access,
    start: Instant,
    app: Arc<App>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.access.took = self.start.elapsed();
        let Access { status, took, ref remarks, .. } = self.access;
        let document = remarks.evaluator.as_deref().map(|name| (name, remarks.contract));
        self.app.metrics.count(status, took, document);
        (self.app.on_access)(&self.access);
    }
}
