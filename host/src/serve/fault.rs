//! What is no answer.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use evaluator_protocol::{
    Contract,
    agenta::http::{ErrorStatus, HttpReply},
    detect,
};

use super::access::Remarks;
use crate::run::Refusal;

/// Why a request is not answered.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    pub(super) kind: &'static str,
    pub(super) message: String,
}

/// In which form it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terms {
    /// `{"error": {"kind": .., "message": ..}}`.
    Json,
    /// Plain text, for Agenta: it fails itself over JSON objects.
    Text,
}

impl Fault {
    pub(super) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }

    /// The response, not meant to be kept by anybody.
    pub(super) fn tell(self, terms: Terms) -> Response {
        let Self { status, kind, message } = self;
        let (content_type, body) = match terms {
            Terms::Json => {
                let error = serde_json::json!({"error": {"kind": kind, "message": message}});
                ("application/json", error.to_string() + "\n")
            }
            Terms::Text => {
                // A message that could be read as JSON is not told as it is.
                let reply = HttpReply::error(ErrorStatus::Failed, &message);
                (reply.content_type, reply.body)
            }
        };
        let mut response = (status, [(header::CONTENT_TYPE, content_type)], body).into_response();
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

impl Terms {
    pub(super) fn of(contract: Option<Contract>) -> Self {
        if contract == Some(Contract::Agenta) { Self::Text } else { Self::Json }
    }

    /// The form for a document of which perhaps only the beginning is there. What Agenta sends begins with `inputs`.
    pub(super) fn of_beginning(document: &[u8]) -> Self {
        match detect(document) {
            Ok(contract) => Self::of(Some(contract)),
            Err(_) => {
                let rest = document.trim_ascii_start().strip_prefix(b"{");
                let first = rest.map(<[u8]>::trim_ascii_start).unwrap_or_default();
                if first.starts_with(b"\"inputs\"") { Self::Text } else { Self::Json }
            }
        }
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
    fn agenta_is_told_by_its_documents_even_if_they_are_cut_off() {
        for (text, terms) in [
            (r#"{"inputs": {}, "output": "x"}"#, Terms::Text),
            (r#"{"output": "x", "inputs": {}}"#, Terms::Text),
            (r#" { "inputs": {"a": "#, Terms::Text),
            (r#"{"metric_name": "x", "inputs"#, Terms::Json),
            (r#"{"metric_name": "x"}"#, Terms::Json),
            ("", Terms::Json),
            ("[", Terms::Json),
        ] {
            assert_eq!(Terms::of_beginning(text.as_bytes()), terms, "{text}");
        }
    }
}
