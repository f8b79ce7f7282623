//! Error responses.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use evaluator_protocol::{
    Contract,
    agenta::http::{ErrorStatus, HttpReply},
};

use super::{Remarks, body};
use crate::{hosts::wants_plain_text, run::Refusal};

/// Error response.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    pub(super) kind: &'static str,
    pub(super) message: String,
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
    pub(super) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }

    /// Returns the response to a request whose body is not read, except for its beginning.
    pub(super) async fn refuse(self, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let beginning = body::skim(&head.headers, body, Vec::new()).await;
        // Hosts send documents by POST only.
        let path = if head.method == Method::POST { head.uri.path() } else { "/" };
        self.into_response(ErrorFormat::of(path, None, &beginning))
    }

    /// Returns the response.
    pub(super) fn into_response(self, format: ErrorFormat) -> Response {
        let Self { status, kind, message } = self;
        let (content_type, body) = match format {
            ErrorFormat::Json => {
                let error = serde_json::json!({"error": {"kind": kind, "message": message}});
                ("application/json", error.to_string() + "\n")
            }
            ErrorFormat::Text => {
                // `HttpReply` changes a message that could be read as JSON.
                let reply = HttpReply::error(ErrorStatus::Failed, &message);
                (reply.content_type, reply.body)
            }
        };
        let mut response =
            IntoResponse::into_response((status, [(header::CONTENT_TYPE, content_type)], body));
        let headers = response.headers_mut();
        match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::REQUEST_TIMEOUT => {
                // The rest of the body would be taken for the next request.
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

/// A JSON document as it is.
pub(super) fn json(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
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
