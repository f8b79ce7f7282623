//! Routes of the receiver, and the answers of OTLP.

use std::{io::Read, sync::Arc};

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
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use crate::{
    file::{Refused, TraceFile},
    lines::Lines,
    otlp::{self, OfResource, PartialSuccess, RpcStatus},
};

/// Requests of the largest size that may be in memory at the same time, and those that are decoded at the same time.
const PLACES: usize = 4;
/// Bytes of a permit.
const UNIT: usize = 1 << 10;

/// What an exporter that uses gRPC has to be told.
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
    pub(crate) file: TraceFile,
    pub(crate) settings: Arc<Settings>,
    /// Whether names of sessions are read.
    by_session: bool,
    pub(crate) on_remark: Box<dyn Fn(Remark) + Send + Sync>,
    /// A permit for each [`UNIT`] of the bodies that are being received: slow clients with small ones leave room for others.
    room: Semaphore,
    decoders: Semaphore,
}

impl App {
    pub(crate) fn new(
        file: TraceFile,
        settings: Arc<Settings>,
        by_session: bool,
        on_remark: Box<dyn Fn(Remark) + Send + Sync>,
    ) -> Self {
        let room = Semaphore::new(PLACES.saturating_mul(permits(settings.body_limit) as usize));
        Self { file, settings, by_session, on_remark, room, decoders: Semaphore::new(PLACES) }
    }
}

/// Returns the number of permits for a body.
fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).saturating_add(1)
}

pub(crate) fn router(app: Arc<App>) -> Router {
    let settings = Arc::clone(&app.settings);
    let only_post = async |request| {
        let message = "spans are sent by POST";
        let fault = Fault::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
        let mut response = fault.refuse(request).await;
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        response
    };
    Router::new()
        .route("/v1/traces", post(traces).fallback(only_post))
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(settings, admit))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), grpc))
        .with_state(app)
}

/// Answers clients of gRPC, whatever they call.
async fn grpc(State(app): State<Arc<App>>, request: Request, next: middleware::Next) -> Response {
    let content_type = media_type(request.headers());
    if !content_type.starts_with("application/grpc") {
        return next.run(request).await;
    }
    (app.on_remark)(Remark::Refused(501, GRPC.to_owned()));
    // A percent sign would start an escape in this header; the message has none.
    let headers = [
        (header::CONTENT_TYPE.as_str(), HeaderValue::from_static("application/grpc")),
        ("grpc-status", UNIMPLEMENTED),
        ("grpc-message", HeaderValue::from_static(GRPC)),
    ];
    (StatusCode::OK, headers, ()).into_response()
}

async fn nowhere(State(app): State<Arc<App>>, request: Request) -> Response {
    let path = request.uri().path();
    let message = match path {
        "/v1/metrics" | "/v1/logs" => format!(
            "{path} is not received, only /v1/traces; set OTEL_METRICS_EXPORTER=none and OTEL_LOGS_EXPORTER=none in the client"
        ),
        _ => format!("there is nothing at {path}; send spans to /v1/traces"),
    };
    (app.on_remark)(Remark::Refused(404, message.clone()));
    Fault::new(StatusCode::NOT_FOUND, "not_found", message).refuse(request).await
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

    fn answer(self, status: StatusCode, message: &(impl Message + serde::Serialize)) -> Response {
        let (content_type, body) = match self {
            // The messages have no maps and no floats, so there is always JSON of them.
            Self::Json => ("application/json", serde_json::to_vec(message).unwrap_or_default()),
            Self::Protobuf => ("application/x-protobuf", message.encode_to_vec()),
        };
        (status, [(header::CONTENT_TYPE, content_type)], body).into_response()
    }

    /// Returns the answer to a request that is not accepted.
    fn refuse(self, status: StatusCode, message: String) -> Response {
        // INVALID_ARGUMENT, UNAVAILABLE; the status of HTTP decides.
        let code = if status == StatusCode::SERVICE_UNAVAILABLE { 14 } else { 3 };
        let mut response = self.answer(status, &RpcStatus { code, message });
        let headers = response.headers_mut();
        match status {
            // Python's exporter drops what is answered by 429, and sends again what is answered by 503.
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            // The rest of the body would be read as the next request.
            StatusCode::REQUEST_TIMEOUT => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
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
        (app.on_remark)(Remark::Refused(415, message.to_owned()));
        let fault = Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", message);
        return fault.refuse(request).await;
    };
    match accept(&app, format, request).await {
        Ok(None) => format.answer(StatusCode::OK, &otlp::Response { partial_success: None }),
        Ok(Some((rejected, error_message))) => {
            (app.on_remark)(Remark::Rejected(rejected, error_message.clone()));
            let rejected_spans = i64::try_from(rejected).unwrap_or(i64::MAX);
            let partial_success = Some(PartialSuccess { rejected_spans, error_message });
            format.answer(StatusCode::OK, &otlp::Response { partial_success })
        }
        Err((status, message)) => {
            (app.on_remark)(Remark::Refused(status.as_u16(), message.clone()));
            format.refuse(status, message)
        }
    }
}

/// Writes the spans of a request. Returns the number of those that were rejected, if there are any, and the reason for the first.
async fn accept(
    app: &Arc<App>,
    format: Format,
    request: Request,
) -> Result<Option<(usize, String)>, (StatusCode, String)> {
    let busy = || {
        let message = "too many requests are being read; try again later";
        (StatusCode::SERVICE_UNAVAILABLE, message.to_owned())
    };
    let limit = app.settings.body_limit;
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    let wanted = permits(limit.min(length.unwrap_or(limit)));
    let waiting = timeout(app.settings.read_timeout, app.room.acquire_many(wanted)).await;
    let _room = waiting.map_err(|_| busy())?.map_err(|_| busy())?;
    let (head, body) = request.into_parts();
    let body = read_encoded_body(&head.headers, body, &app.settings).await;
    let body = body.map_err(|(fault, _)| (fault.status, fault.message))?;
    let decoder = app.decoders.acquire().await.map_err(|_| busy())?;
    let by_session = app.by_session;
    let reading = spawn_blocking(move || {
        let body = decompressed(&head.headers, body, limit)?;
        let not_otlp = |error: String| {
            (
                StatusCode::BAD_REQUEST,
                format!("the body is not an OTLP request for traces: {error}"),
            )
        };
        let request = format.decode(&body).map_err(not_otlp)?;
        drop(body);
        Lines::of(request, by_session).map_err(not_otlp)
    });
    let panicked = |error: tokio::task::JoinError| {
        (StatusCode::INTERNAL_SERVER_ERROR, format!("reading the request failed: {error}"))
    };
    let Lines { lines, rejected, reason } = reading.await.map_err(panicked)??;
    drop(decoder);
    if !lines.is_empty() {
        app.file.append(lines).await.map_err(|refused| {
            let message = match refused {
                Refused::Full => "too many conversations are open; try again later".to_owned(),
                Refused::Unwritten(error) => format!("spans cannot be written: {error}"),
            };
            (StatusCode::SERVICE_UNAVAILABLE, message)
        })?;
    }
    Ok(reason.map(|reason| (rejected, reason)))
}

/// Returns a body without its compression.
fn decompressed(
    headers: &HeaderMap,
    body: Vec<u8>,
    limit: usize,
) -> Result<Vec<u8>, (StatusCode, String)> {
    let encoding = headers.get(header::CONTENT_ENCODING).map_or(&b""[..], HeaderValue::as_bytes);
    if encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity") {
        return Ok(body);
    }
    let most = limit.saturating_add(1) as u64;
    let (mut text, is) = (Vec::new(), |name: &[u8]| encoding.eq_ignore_ascii_case(name));
    let read = if is(b"gzip") {
        MultiGzDecoder::new(&*body).take(most).read_to_end(&mut text)
    } else if is(b"deflate") {
        ZlibDecoder::new(&*body).take(most).read_to_end(&mut text)
    } else {
        let message = "only gzip and deflate are supported as compression";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, message.to_owned()));
    };
    if let Err(error) = read {
        return Err((StatusCode::BAD_REQUEST, format!("the body cannot be decompressed: {error}")));
    }
    if text.len() > limit {
        let message = format!("the body is larger than the limit of {limit} bytes");
        return Err((StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    Ok(text)
}
