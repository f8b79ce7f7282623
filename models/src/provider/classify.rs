//! Kinds of error answers of model servers. All providers send the same words in different places.

use std::time::Duration;

use serde_json::Value;

use crate::{ErrorKind, ModelError, Redactor, Secret, refusal::Refusal};

/// An answer that is not a reply.
#[derive(Debug)]
pub(super) struct Answered<'a> {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: &'a [u8],
}

/// Kinds by words in `type`, `code`, `status`, `reason` of an error, before its status is looked at.
const WORDS: &[(ErrorKind, &[&str])] = &[
    (
        ErrorKind::Quota,
        &[
            "insufficient_quota",
            "credit_balance_exhausted",
            "organization_spend_limit_exceeded",
            "project_spend_limit_exceeded",
            "organization_usage_limit_exceeded",
            "enforced_spend_limit_reached",
            "billing_error",
        ],
    ),
    (ErrorKind::TooLong, &["context_length_exceeded", "model_context_window_exceeded"]),
    (ErrorKind::Blocked, &["content_filter", "ResponsibleAIPolicyViolation"]),
    (
        ErrorKind::Unauthorized,
        &[
            "invalid_api_key",
            "authentication_error",
            "permission_error",
            "PERMISSION_DENIED",
            "UNAUTHENTICATED",
            "API_KEY_INVALID",
        ],
    ),
    (ErrorKind::Unavailable, &["overloaded_error", "UNAVAILABLE"]),
    (
        ErrorKind::RateLimited,
        &["rate_limit_exceeded", "rate_limit_error", "slow_down", "RESOURCE_EXHAUSTED"],
    ),
];

/// Phrases of servers that have no word for a request that is too long.
const TOO_LONG: &[&str] = &[
    "maximum context length",
    "prompt is too long",
    "exceeds the maximum number of tokens",
    "context window",
];

/// Turns an error answer into an error.
pub(super) fn classify(
    answered: &Answered<'_>,
    key: Option<&Secret>,
    redactor: &Redactor,
) -> ModelError {
    let status = answered.status;
    let body: Value = serde_json::from_slice(answered.body).unwrap_or_default();
    // Gemini puts some errors into a list.
    let body = body.get(0).unwrap_or(&body);
    let error = body.get("error").unwrap_or(body);
    let words = words(error);
    let raw = match error.get("message").or(Some(error)).and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => page(&String::from_utf8_lossy(answered.body)).to_owned(),
    };
    let kind = kind(status, &words, &raw);
    let retry_after = wait(&answered.headers).or_else(|| retry_info(error));
    let text = excerpt(&redactor.redact(&raw));
    let message = match kind {
        // The text of the server may repeat a part of the key.
        ErrorKind::Unauthorized => format!(
            "the server refused the key ({}); check {}",
            words.first().cloned().unwrap_or_else(|| status.to_string()),
            key.map_or("whether it needs one", |key| key.name())
        ),
        ErrorKind::Blocked => {
            format!("the server refused the judged text that the request contains: {text}")
        }
        _ if (300..400).contains(&status) => {
            "the server redirects, which is not followed; configure the final address".to_owned()
        }
        _ => format!("the server answered {status}: {text}"),
    };
    let mut result = ModelError::new(kind, message);
    result.status = Some(status);
    result.retry_after = retry_after;
    let stated = |key: &str| {
        let text = error.get(key)?.as_str().filter(|text| !text.trim().is_empty())?;
        Some(excerpt(&redactor.redact(text)))
    };
    let mut refusal = Refusal::read(stated("code"), stated("param"), &redactor.redact(&raw));
    let is_refused = ["unsupported_value", "unsupported_parameter"];
    refusal.is_of_parameter =
        kind == ErrorKind::InvalidRequest && words.iter().any(|word| is_refused.contains(&&**word));
    result.refusal = Some(Box::new(refusal));
    // A limit per day does not pass by waiting, and neither does a limit of zero.
    let quotas = String::from_utf8_lossy(answered.body);
    result.is_final =
        kind == ErrorKind::RateLimited && (quotas.contains("PerDay") || raw.contains("limit: 0"));
    result
}

fn kind(status: u16, words: &[String], text: &str) -> ErrorKind {
    let word = WORDS.iter().find(|(_, known)| words.iter().any(|word| known.contains(&&**word)));
    if let Some((kind, _)) = word {
        return *kind;
    }
    let text = text.to_lowercase();
    match status {
        400 | 413 | 422 if TOO_LONG.iter().any(|phrase| text.contains(phrase)) => {
            ErrorKind::TooLong
        }
        200 => ErrorKind::BadAnswer,
        401 | 403 => ErrorKind::Unauthorized,
        402 => ErrorKind::Quota,
        404 | 410 => ErrorKind::NotFound,
        429 => ErrorKind::RateLimited,
        408 | 409 | 500..=599 => ErrorKind::Unavailable,
        _ => ErrorKind::InvalidRequest,
    }
}

/// Words by which servers name an error.
fn words(error: &Value) -> Vec<String> {
    let places = ["/code", "/type", "/status", "/innererror/code", "/details/error_code"];
    let mut words: Vec<String> = places
        .iter()
        .filter_map(|place| error.pointer(place)?.as_str().map(str::to_owned))
        .collect();
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    words.extend(details.filter_map(|it| it.get("reason")?.as_str().map(str::to_owned)));
    words
}

/// Returns the wait of the headers `retry-after-ms` and `retry-after`.
fn wait(headers: &[(String, String)]) -> Option<Duration> {
    let header =
        |name: &str| headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.trim());
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(wait) = header("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(wait / 1000.0).ok();
    }
    let text = header("retry-after")?;
    if let Some(seconds) = number(text) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    // A date counts from the date of the answer, because the clock of this machine may be wrong.
    let until = httpdate::parse_http_date(text).ok()?;
    until.duration_since(httpdate::parse_http_date(header("date")?).ok()?).ok()
}

/// Returns the wait of Gemini's `google.rpc.RetryInfo`, such as `45.837906927s`.
fn retry_info(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let text = details.iter().find_map(|it| it.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

/// Characters of a server's text in an error.
const EXCERPT: usize = 500;

/// Returns a body that is not JSON as messages show it. Pages of proxies and logins say nothing about the request.
pub(super) fn page(body: &str) -> &str {
    if body.trim_start().starts_with('<') { "an HTML page" } else { body }
}

/// Returns the beginning of a text in one line.
pub(super) fn excerpt(text: &str) -> String {
    let line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(EXCERPT).collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_from_every_form() {
        let headers = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> =
                pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            wait(&pairs).map(|wait| wait.as_millis())
        };
        assert_eq!(headers(&[("retry-after", "2")]), Some(2000));
        assert_eq!(headers(&[("retry-after", "0.5")]), Some(500));
        assert_eq!(headers(&[("retry-after", "2"), ("retry-after-ms", "250")]), Some(250));
        let date = ("date", "Mon, 23 Nov 2026 10:00:00 GMT");
        let until = ("retry-after", "Mon, 23 Nov 2026 10:00:07 GMT");
        assert_eq!(headers(&[until, date]), Some(7000));
        assert_eq!(headers(&[until]), None);
        for bad in ["-1", "NaN", "inf", "soon", ""] {
            assert_eq!(headers(&[("retry-after", bad)]), None, "{bad}");
        }
    }
}
