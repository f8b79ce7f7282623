//! Over HTTP.

use std::{borrow::Cow, io::Write, time::Duration};

use flate2::{Compression, write::GzEncoder};
use ureq::{
    Agent,
    http::{Response, StatusCode, header},
};

use super::{
    SendError,
    settings::{Protocol, Settings},
    too_late,
};

/// Longer answers are not read: there is nothing to say in them.
const MAX_ANSWER: u64 = 1 << 20;
/// Characters of an answer that are shown when it is an error.
const MAX_SHOWN: usize = 200;

/// Posts a body and gives the answer's.
pub(super) fn send(settings: &Settings, body: &[u8], left: Duration) -> Result<Vec<u8>, SendError> {
    let content_type = match settings.protocol {
        Protocol::HttpJson => "application/json",
        Protocol::HttpProtobuf | Protocol::Grpc => "application/x-protobuf",
    };
    let body = if settings.gzip { Cow::Owned(gzip(body)) } else { Cow::Borrowed(body) };
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        // What is sent may be secret, so it goes where it was told to go.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(left))
        .tls_config(settings.tls.for_http())
        .user_agent(concat!("evaluator/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let mut request = agent.post(&settings.uri).header(header::CONTENT_TYPE, content_type);
    if settings.gzip {
        request = request.header(header::CONTENT_ENCODING, "gzip");
    }
    for (name, value) in &settings.headers {
        request = request.header(name, value);
    }
    let failed = |error: ureq::Error| match error {
        ureq::Error::Timeout(_) => SendError::Failed(too_late(settings)),
        error => SendError::Failed(error.to_string()),
    };
    let mut response = request.send(&*body).map_err(failed)?;
    let answer = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
    let status = response.status();
    if status.is_success() {
        return answer.map_err(failed);
    }
    let text = answer.unwrap_or_default();
    let text: String = String::from_utf8_lossy(&text)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_SHOWN)
        .collect();
    let reason = format!("HTTP status {status}: {}", text.trim());
    let reason = reason.trim_end_matches(": ").to_owned();
    match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Err(SendError::Busy { reason, after: after(&response) }),
        _ => Err(SendError::Failed(reason)),
    }
}

/// The time after which the collector wants to be asked again.
fn after<T>(response: &Response<T>) -> Option<Duration> {
    let seconds =
        response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

pub(super) fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}
