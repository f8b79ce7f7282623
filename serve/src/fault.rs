//! Bodies of requests, and error responses.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use evaluator_protocol::{
    Contract,
    agenta::http::{ErrorStatus, HttpReply},
};

use evaluator_launch::clock;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use evaluator_hosts::wants_plain_text;

use super::{Refusal, Remarks, Service, Settings};

/// Error response.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Status.
    pub status: StatusCode,
    /// Kind of the error.
    pub kind: &'static str,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// Format of an error response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorFormat {
    /// `{"error": {"kind": .., "message": ..}}`.
    Json,
    /// Plain text, for hosts that cannot read a JSON object as an error.
    Text,
}

impl Fault {
    /// Creates an error response.
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }

    /// Returns the response to a request whose body is not read, except for its beginning.
    pub async fn refuse(self, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let beginning = skim(&head.headers, body, Vec::new()).await;
        // Hosts send documents by POST only.
        let path = if head.method == Method::POST { head.uri.path() } else { "/" };
        self.into_response(ErrorFormat::of(path, None, &beginning))
    }

    /// Returns the response.
    pub(super) fn into_response(self, format: ErrorFormat) -> Response {
        let (content_type, body) = match format {
            ErrorFormat::Json => {
                let Self { kind, message, .. } = &self;
                let error = serde_json::json!({"error": {"kind": kind, "message": message}});
                ("application/json", error.to_string() + "\n")
            }
            ErrorFormat::Text => {
                // `HttpReply` changes a message that could be read as JSON.
                let reply = HttpReply::error(ErrorStatus::Failed, &self.message);
                (reply.content_type, reply.body)
            }
        };
        self.with_body(content_type, body)
    }

    /// Returns the response with a body of another form.
    pub fn with_body(self, content_type: &'static str, body: impl Into<Body>) -> Response {
        let Self { status, kind, message } = self;
        let mut response =
            (status, [(header::CONTENT_TYPE, content_type)], body.into()).into_response();
        let headers = response.headers_mut();
        match status {
            // Only a restart of the server helps.
            _ if kind == Service::OUTDATED => {}
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::REQUEST_TIMEOUT => {
                // The rest of the body would be read as the next request.
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        let remarks = Remarks { error: Some(message), ..Remarks::default() };
        response.extensions_mut().insert(remarks);
        response
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.status.code());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, kind: refusal.kind, message: refusal.message }
    }
}

impl ErrorFormat {
    /// Returns the format for a client that sent `beginning`, the start of a document or all of it, to `path`.
    pub(super) fn of(path: &str, contract: Option<Contract>, beginning: &[u8]) -> Self {
        if wants_plain_text(path, contract, beginning) { Self::Text } else { Self::Json }
    }
}

/// Returns a response with a JSON document.
pub(super) fn json(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// Limits for a body that is refused: bytes that are kept, bytes that are read, and the time for that. A client that is
/// still sending when the connection is closed would not see the response.
const BEGINNING: usize = 64 << 10;
const PASSED_OVER: usize = 64 << 20;
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// Reads a whole body, which must not be compressed.
///
/// # Errors
///
/// The fault, and the start of the body.
pub(super) async fn read_body(
    headers: &HeaderMap,
    body: Body,
    settings: &Settings,
) -> Result<Vec<u8>, (Fault, Vec<u8>)> {
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let message = "compressed documents are not supported; send it uncompressed";
        let fault = Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed", message);
        return Err((fault, skim(headers, body, Vec::new()).await));
    }
    read_encoded_body(headers, body, settings, |_| true).await
}

/// Reads a whole body, which may be compressed, as it is. `has_room` takes memory for a number of bytes that have arrived, or returns
/// false if there is none.
///
/// # Errors
///
/// The fault, and the start of the body.
pub async fn read_encoded_body(
    headers: &HeaderMap,
    body: Body,
    settings: &Settings,
    mut has_room: impl FnMut(usize) -> bool,
) -> Result<Vec<u8>, (Fault, Vec<u8>)> {
    let limit = settings.body_limit;
    let too_large = || {
        let message = format!("the document is larger than the limit of {limit} bytes");
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    };
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err((too_large(), skim(headers, body, Vec::new()).await));
    }
    let deadline = clock::after(Instant::now(), settings.read_timeout);
    // `announced` is the word of the client, so it does not decide how much memory is reserved.
    let mut read = Vec::with_capacity(usize::try_from(announced).unwrap_or(0).min(BEGINNING));
    let mut body = body;
    loop {
        let frame = match timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(read),
            Ok(Some(Err(error))) => {
                let message = format!("the body is incomplete: {error}");
                return Err((Fault::new(StatusCode::BAD_REQUEST, "cut_short", message), read));
            }
            Err(_) => {
                let seconds = settings.read_timeout.as_secs_f64();
                let message = format!("the body was not received within {seconds} seconds");
                return Err((Fault::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message), read));
            }
        };
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > limit {
            return Err((too_large(), skim(headers, body, read).await));
        }
        if !has_room(data.len()) {
            let message = "too many requests are being read; try again later";
            let fault = Fault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
            return Err((fault, skim(headers, body, read).await));
        }
        read.extend_from_slice(&data);
    }
}

/// Reads the rest of a body within the limits and returns its start.
async fn skim(headers: &HeaderMap, mut body: Body, mut read: Vec<u8>) -> Vec<u8> {
    read.truncate(BEGINNING);
    if headers.contains_key(header::EXPECT) {
        // The client waits for `100 Continue` before it sends the body.
        return read;
    }
    let deadline = clock::after(Instant::now(), DRAIN_LIMIT);
    let mut passed_over = 0;
    while passed_over < PASSED_OVER {
        let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await else { break };
        let Ok(data) = frame.into_data() else { continue };
        passed_over += data.len();
        let room = BEGINNING - read.len();
        read.extend_from_slice(&data[..data.len().min(room)]);
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agenta_is_recognized_by_the_path_or_by_the_beginning_of_a_document() {
        for (path, text, format) in [
            ("/", r#"{"inputs": {}, "output": "x"}"#, ErrorFormat::Text),
            ("/", r#"{"output": "x", "inputs": {}}"#, ErrorFormat::Text),
            ("/", r#" { "inputs": {"a": "#, ErrorFormat::Text),
            ("/", r#"{"metric_name": "x", "inputs"#, ErrorFormat::Json),
            ("/", r#"{"metric_name": "x"}"#, ErrorFormat::Json),
            ("/", "", ErrorFormat::Json),
            ("/", "[", ErrorFormat::Json),
            ("/invoke", "", ErrorFormat::Text),
            ("/evaluators/a/invoke", "[", ErrorFormat::Text),
            ("/evaluators/invoke", "[", ErrorFormat::Json),
        ] {
            assert_eq!(ErrorFormat::of(path, None, text.as_bytes()), format, "{path} {text}");
        }
        let beginning = br#"{"inputs": {"#;
        assert_eq!(ErrorFormat::of("/", Some(Contract::AgentV), beginning), ErrorFormat::Json);
    }
}
