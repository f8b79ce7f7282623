//! Errors in the form that each SDK reads.

use std::borrow::Cow;

use http_body_util::Full;
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{self, HeaderName, HeaderValue},
    http::request::Parts,
};
use serde_json::{Value, json};

use crate::{
    ErrorKind,
    proxy::{
        body::{JSON, response},
        fault::{Cause, Fault},
    },
};

/// Header by which servers tell both SDKs whether to send a request again.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Returns the response to a request that is not answered. SDKs do not repeat it: what may pass was repeated already.
pub(in crate::proxy) fn failure(head: &Parts, fault: &Fault) -> Response<Full<Bytes>> {
    let (status, code) = status(fault);
    let is_anthropic = head.uri.path().starts_with("/v1/messages")
        || head.headers.contains_key("anthropic-version");
    let body = if is_anthropic {
        let message = match &fault.param {
            Some(param) => format!("{param}: {}", message(fault)),
            None => message(fault),
        };
        json!({"type": "error", "error": {"type": anthropic_type(status), "message": message}})
    } else {
        openai(fault, (status, &code))
    };
    let mut response = response(status, Some(JSON), body.to_string());
    response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    if let Cause::Model { retry_after: Some(wait), .. } = fault.cause {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn openai(fault: &Fault, (status, code): (StatusCode, &str)) -> Value {
    let kind = match status {
        StatusCode::TOO_MANY_REQUESTS if code == QUOTA => QUOTA,
        StatusCode::TOO_MANY_REQUESTS => "requests",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    };
    // Programs know the codes of OpenAI; a provider has words of its own.
    let code = Some(code).filter(|code| !code.is_empty()).or(fault.code.as_deref());
    let message = message(fault);
    json!({"error": {"message": message, "type": kind, "param": fault.param, "code": code}})
}

fn message(fault: &Fault) -> String {
    let text = match fault.cause {
        Cause::NoToken => {
            "the token is not the one of this evaluation, which is in OPENAI_API_KEY and ANTHROPIC_API_KEY"
        }
        Cause::Expired | Cause::Ended => {
            "the evaluation of this token has ended, or has another address"
        }
        Cause::UsedUp => {
            return format!("{}; raise `max_calls` of the entry's `models`", fault.message);
        }
        _ => &fault.message,
    };
    text.to_owned()
}

/// Code by which OpenAI's users know that waiting does not help.
const QUOTA: &str = "insufficient_quota";

/// Returns the status and the code of OpenAI's form, which may be empty.
fn status(fault: &Fault) -> (StatusCode, Cow<'static, str>) {
    let (status, code) = match fault.cause {
        Cause::NoToken => (StatusCode::UNAUTHORIZED, "invalid_api_key"),
        Cause::Expired | Cause::Ended => (StatusCode::GONE, "evaluation_ended"),
        Cause::NoRoute => (StatusCode::NOT_FOUND, "unknown_url"),
        Cause::UnknownModel => (StatusCode::NOT_FOUND, "model_not_found"),
        Cause::UsedUp => (StatusCode::TOO_MANY_REQUESTS, QUOTA),
        Cause::Slow => (StatusCode::REQUEST_TIMEOUT, "request_timeout"),
        Cause::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "request_too_large"),
        Cause::Bad => (StatusCode::BAD_REQUEST, ""),
        Cause::Unsupported => (StatusCode::BAD_REQUEST, "unsupported_parameter"),
        Cause::Late => (StatusCode::GATEWAY_TIMEOUT, "timeout"),
        Cause::Unreadable => (StatusCode::BAD_GATEWAY, "bad_answer"),
        Cause::Model { kind, status, .. } => return of_model(kind, status),
    };
    (status, code.into())
}

fn of_model(kind: ErrorKind, status: Option<u16>) -> (StatusCode, Cow<'static, str>) {
    let (status, code) = match kind {
        ErrorKind::BudgetExceeded | ErrorKind::Quota => (StatusCode::TOO_MANY_REQUESTS, QUOTA),
        ErrorKind::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded"),
        ErrorKind::NotFound => (StatusCode::NOT_FOUND, "model_not_found"),
        ErrorKind::TooLong => (StatusCode::BAD_REQUEST, "context_length_exceeded"),
        ErrorKind::Blocked => (StatusCode::BAD_REQUEST, "content_filter"),
        ErrorKind::InvalidRequest => {
            let status = status.and_then(|status| StatusCode::from_u16(status).ok());
            let status = status.filter(StatusCode::is_client_error);
            (status.unwrap_or(StatusCode::BAD_REQUEST), "")
        }
        // Only a change helps.
        ErrorKind::NotInCassette | ErrorKind::Config | ErrorKind::Refused => {
            return (StatusCode::BAD_REQUEST, kind.to_string().into());
        }
        ErrorKind::Timeout | ErrorKind::DeadlineExceeded => {
            return (StatusCode::GATEWAY_TIMEOUT, kind.to_string().into());
        }
        // The program did nothing wrong, and its own token is right: not even a refused key is 401.
        _ => return (StatusCode::BAD_GATEWAY, kind.to_string().into()),
    };
    (status, code.into())
}

fn anthropic_type(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::GATEWAY_TIMEOUT => "timeout_error",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    }
}
