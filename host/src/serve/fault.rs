//! What is no answer.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use evaluator_protocol::{
    Contract,
    agenta::http::{ErrorStatus, HttpReply},
    detect,
};

use super::{access::Remarks, body};
use crate::run::Refusal;

/// What Agenta appends to the address of a remote workflow.
const INVOKE: &str = "/invoke";

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

    /// The response to a request whose body nobody has read, and of which hardly anything will be.
    pub(super) async fn refuse(self, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let beginning = body::skim(&head.headers, body, Vec::new()).await;
        // Whoever uses another method is not Agenta, wherever it asks.
        let path = if head.method == Method::POST { head.uri.path() } else { "/" };
        self.tell(Terms::of(path, None, &beginning))
    }

    /// The response.
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
    /// The form for whoever sent a document there, of which perhaps only the beginning is known.
    pub(super) fn of(path: &str, contract: Option<Contract>, beginning: &[u8]) -> Self {
        // An evaluator may be called so.
        let is_invoke = path.ends_with(INVOKE) && path != "/evaluators/invoke";
        let is_agenta = || match contract.or_else(|| detect(beginning).ok()) {
            Some(contract) => contract == Contract::Agenta,
            // What Agenta sends begins with its inputs.
            None => {
                let rest = beginning.trim_ascii_start().strip_prefix(b"{");
                rest.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"inputs\""))
            }
        };
        if is_invoke || is_agenta() { Self::Text } else { Self::Json }
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
    fn agenta_is_told_by_the_path_or_by_documents_even_if_they_are_cut_off() {
        for (path, text, terms) in [
            ("/", r#"{"inputs": {}, "output": "x"}"#, Terms::Text),
            ("/", r#"{"output": "x", "inputs": {}}"#, Terms::Text),
            ("/", r#" { "inputs": {"a": "#, Terms::Text),
            ("/", r#"{"metric_name": "x", "inputs"#, Terms::Json),
            ("/", r#"{"metric_name": "x"}"#, Terms::Json),
            ("/", "", Terms::Json),
            ("/", "[", Terms::Json),
            ("/invoke", "", Terms::Text),
            ("/evaluators/a/invoke", "[", Terms::Text),
            ("/evaluators/invoke", "[", Terms::Json),
        ] {
            assert_eq!(Terms::of(path, None, text.as_bytes()), terms, "{path} {text}");
        }
        let beginning = br#"{"inputs": {"#;
        assert_eq!(Terms::of("/", Some(Contract::AgentV), beginning), Terms::Json);
    }
}
