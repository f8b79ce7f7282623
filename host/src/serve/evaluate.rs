//! One document.

use std::sync::Arc;

use axum::{extract::Request, http::StatusCode, response::Response};

use super::{
    access::Remarks,
    body,
    fault::{ErrorFormat, Fault, json},
    routes::App,
};

/// Has the document in the body of a request judged by the evaluator of that name; without one by the only one there is.
pub(super) async fn evaluate(app: Arc<App>, name: Option<String>, request: Request) -> Response {
    let name = match app.find(name) {
        Ok(name) => name,
        Err(fault) => return fault.refuse(request).await,
    };
    // Whoever has to wait for a place keeps nothing in memory here.
    let Ok(_place) = app.places.try_acquire() else {
        let message = format!(
            "{} documents are being worked on or waiting, which is the limit; try again later",
            app.settings.places
        );
        let fault = Fault::new(StatusCode::TOO_MANY_REQUESTS, "busy", message);
        return fault.refuse(request).await;
    };
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let document = match body::read(&head.headers, body, &app.settings).await {
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
            let error = Some(refusal.message.clone());
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
