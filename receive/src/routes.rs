//! Routes of the receiver, and the answers of OTLP.

use std::{fmt::Display, io::Read, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::post,
};
use evaluator_serve::{Fault, Settings, admit, read_encoded_body};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use prost::Message;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

use crate::{
    file::TraceFile,
    lines::Lines,
    otlp::{self, Accepted, OfResource, PartialSuccess, RpcStatus},
};

/// Requests of the largest size that may be in memory at the same time, and those that are decoded at the same time.
const PLACES: usize = 4;

/// Message to clients that use gRPC.
const GRPC: &str =
    "OTLP over gRPC is not offered; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf in the client";
/// `UNIMPLEMENTED` of gRPC.
const UNIMPLEMENTED: HeaderValue = HeaderValue::from_static("12");

/// Something that the operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A request was refused. Has the status and the message.
    Refused(u16, String),
    /// Spans of a request were rejected, and the others accepted. Has their number, and the reason for the first.
    Rejected(usize, String),
    /// Spans came after their conversation was judged, which is judged again. Has its trace id.
    Late(String),
    /// Bytes at the end of the trace file were removed, which are a line that was cut off.
    CutOff(u64),
}

pub(crate) struct App {
    file: TraceFile,
    settings: Arc<Settings>,
    pub(crate) on_remark: Box<dyn Fn(Remark) + Send + Sync>,
    /// A permit for each byte of a body that has arrived.
    room: Arc<Semaphore>,
    decoders: Arc<Semaphore>,
}

impl App {
    pub(crate) fn new(
        file: TraceFile,
        settings: Arc<Settings>,
        on_remark: Box<dyn Fn(Remark) + Send + Sync>,
    ) -> Self {
        let room = Arc::new(Semaphore::new(PLACES.saturating_mul(settings.body_limit)));
        Self { file, settings, on_remark, room, decoders: Arc::new(Semaphore::new(PLACES)) }
    }

    fn note(&self, fault: &Fault) {
        (self.on_remark)(Remark::Refused(fault.status.as_u16(), fault.message.clone()));
    }
}

pub(crate) fn router(app: Arc<App>) -> Router {
    let settings = Arc::clone(&app.settings);
    Router::new()
        .route("/v1/traces", post(traces))
        .fallback(elsewhere)
        .layer(middleware::from_fn_with_state(settings, admit))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), grpc))
        .with_state(app)
}

/// Answers clients of gRPC, whatever they call.
async fn grpc(State(app): State<Arc<App>>, request: Request, next: middleware::Next) -> Response {
    if !media_type(request.headers()).starts_with("application/grpc") {
        return next.run(request).await;
    }
    app.note(&Fault::new(StatusCode::NOT_IMPLEMENTED, "grpc", GRPC));
    // A percent sign would start an escape in this header; the message has none.
    let headers = [
        (header::CONTENT_TYPE.as_str(), HeaderValue::from_static("application/grpc")),
        ("grpc-status", UNIMPLEMENTED),
        ("grpc-message", HeaderValue::from_static(GRPC)),
    ];
    headers.into_response()
}

async fn elsewhere(State(app): State<Arc<App>>, request: Request) -> Response {
    let path = request.uri().path();
    let message = match path {
        "/v1/metrics" | "/v1/logs" => format!(
            "{path} is not received, only /v1/traces; set OTEL_METRICS_EXPORTER=none and OTEL_LOGS_EXPORTER=none in the client"
        ),
        _ => format!("there is nothing at {path}; send spans to /v1/traces"),
    };
    let fault = Fault::new(StatusCode::NOT_FOUND, "not_found", message);
    app.note(&fault);
    fault.refuse(request).await
}

/// A format of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Protobuf,
}

impl Format {
    fn of(headers: &HeaderMap) -> Option<Self> {
        match &*media_type(headers) {
            "application/json" => Some(Self::Json),
            "application/x-protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }

    /// Returns the media type and the text of an answer.
    fn write(self, message: &(impl Message + serde::Serialize)) -> (&'static str, Vec<u8>) {
        match self {
            // The messages have no maps and no floats, so there is always JSON of them.
            Self::Json => ("application/json", serde_json::to_vec(message).unwrap_or_default()),
            Self::Protobuf => ("application/x-protobuf", message.encode_to_vec()),
        }
    }

    fn accept(self, message: &(impl Message + serde::Serialize)) -> Response {
        let (content_type, body) = self.write(message);
        ([(header::CONTENT_TYPE, content_type)], body).into_response()
    }

    /// Returns the answer to a request that is not accepted.
    fn refuse(self, fault: Fault) -> Response {
        // UNAVAILABLE, INVALID_ARGUMENT; the status of HTTP decides. Python's exporter sends again what is answered by 503, not by 429.
        let code = if fault.status == StatusCode::SERVICE_UNAVAILABLE { 14 } else { 3 };
        let (content_type, body) = self.write(&RpcStatus { code, message: fault.message.clone() });
        fault.with_body(content_type, body)
    }

    fn decode(self, body: &[u8]) -> Result<Vec<OfResource>, String> {
        match self {
            Self::Json => otlp::from_json(body),
            Self::Protobuf => otlp::from_protobuf(body),
        }
    }
}

/// Returns the media type of a body, without parameters.
fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let value = value.unwrap_or_default().split(';').next().unwrap_or_default();
    value.trim().to_ascii_lowercase()
}

/// Accepts spans.
async fn traces(State(app): State<Arc<App>>, request: Request) -> Response {
    let Some(format) = Format::of(request.headers()) else {
        let message = "send spans as application/x-protobuf or application/json";
        let fault = Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", message);
        app.note(&fault);
        return fault.refuse(request).await;
    };
    match accept(&app, format, request).await {
        Ok(None) => format.accept(&Accepted {}),
        Ok(Some((rejected, error_message))) => {
            (app.on_remark)(Remark::Rejected(rejected, error_message.clone()));
            let rejected_spans = i64::try_from(rejected).unwrap_or(i64::MAX);
            let partial_success = Some(PartialSuccess { rejected_spans, error_message });
            format.accept(&otlp::Response { partial_success })
        }
        Err(fault) => {
            app.note(&fault);
            format.refuse(fault)
        }
    }
}

/// Writes the spans of a request. Returns the number of those that were rejected, if there are any, and the reason for the first.
async fn accept(
    app: &Arc<App>,
    format: Format,
    request: Request,
) -> Result<Option<(usize, String)>, Fault> {
    let (head, body) = request.into_parts();
    // The room of the body.
    let mut held: Option<OwnedSemaphorePermit> = None;
    let has_room = |bytes: usize| {
        let room = Arc::clone(&app.room);
        let more = u32::try_from(bytes).ok().and_then(|it| room.try_acquire_many_owned(it).ok());
        match (&mut held, more) {
            (_, None) => return false,
            (Some(held), Some(more)) => held.merge(more),
            (held, more) => *held = more,
        }
        true
    };
    let body = read_encoded_body(&head.headers, body, &app.settings, has_room).await;
    let body = body.map_err(|(fault, _)| fault)?;
    let failed = |error: &dyn Display| {
        let message = format!("reading the request failed: {error}");
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "panic", message)
    };
    let decoder =
        Arc::clone(&app.decoders).acquire_owned().await.map_err(|error| failed(&error))?;
    let (app, room) = (Arc::clone(app), PLACES.saturating_mul(app.settings.body_limit));
    let writing = spawn_blocking(move || {
        // Here, since a client that is gone does not end this.
        let _held = held;
        let body = decompressed(&head.headers, body, app.settings.body_limit)?;
        let read = format.decode(&body).and_then(|resources| Lines::of(&resources, room));
        let Lines { lines, rejected, reason } = read.map_err(|error| {
            let message = format!("the body is not an OTLP request for traces: {error}");
            Fault::new(StatusCode::BAD_REQUEST, "not_otlp", message)
        })?;
        drop(decoder);
        if !lines.is_empty() {
            app.file.append(&lines).map_err(|reason| {
                Fault::new(StatusCode::SERVICE_UNAVAILABLE, "unwritten", reason)
            })?;
        }
        Ok(reason.map(|reason| (rejected, reason)))
    });
    writing.await.map_err(|panic| failed(&panic))?
}

/// Returns a body without its compression.
fn decompressed(headers: &HeaderMap, body: Vec<u8>, limit: usize) -> Result<Vec<u8>, Fault> {
    let encoding = headers.get(header::CONTENT_ENCODING).map_or(&b""[..], HeaderValue::as_bytes);
    let most = limit.saturating_add(1) as u64;
    let mut text = Vec::new();
    let read = match &*encoding.to_ascii_lowercase() {
        b"" | b"identity" => return Ok(body),
        b"gzip" => MultiGzDecoder::new(&*body).take(most).read_to_end(&mut text),
        b"deflate" => ZlibDecoder::new(&*body).take(most).read_to_end(&mut text),
        _ => {
            let message = "only gzip and deflate are supported as compression";
            return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compression", message));
        }
    };
    if let Err(error) = read {
        let message = format!("the body cannot be decompressed: {error}");
        return Err(Fault::new(StatusCode::BAD_REQUEST, "compression", message));
    }
    if text.len() > limit {
        let message = format!("the body is larger than the limit of {limit} bytes");
        return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    Ok(text)
}
