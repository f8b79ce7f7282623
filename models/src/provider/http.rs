//! Transport: one JSON request to a configured base URL, and its answer or error.

use std::{io, net::IpAddr, time::Duration};

use serde_json::{Map, Value};
use ureq::{
    Agent, Body,
    http::Uri,
    tls::{RootCerts, TlsConfig},
    unversioned::transport::DefaultConnector,
};

use super::{
    classify::{Answered, classify, excerpt, page},
    model::Settings,
    resolve::CachingResolver,
};
use crate::{
    Api, ErrorKind, ModelError, Redactor, Reply, Secret, Usage, certificates::read_certificates,
    request::sha,
};

/// File with trusted certificates instead of the built-in ones, for mirrors and company proxies.
const CERTIFICATES: &str = "SSL_CERT_FILE";
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of each of the two buffers of a connection. Headers of answers fit in it.
const BUFFER: usize = 32 << 10;
/// Largest answer.
const MOST: u64 = 16 << 20;

/// One server with its key. The key is sent to the base URL and nowhere else.
#[derive(Clone, Debug)]
pub(super) struct Server {
    agent: Agent,
    base: String,
    key: Option<Secret>,
    /// Identifies the base URL and the key without showing the key.
    identity: String,
    /// Header of the key, and what precedes the key in it.
    header: (&'static str, &'static str),
    redactor: Redactor,
}

impl Server {
    /// Checks the base URL. Sends nothing.
    pub(super) fn new(
        base: &str,
        key: Option<Secret>,
        header: (&'static str, &'static str),
        settings: &Settings,
    ) -> Result<Self, ModelError> {
        let is_local = check(base, settings.allow_http)?;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_LIMIT))
            // A connection has one answer. On one that is used again, a surplus answer of a faulty server or proxy that arrives
            // after the next request was sent would count as the answer to that request, and nothing in it shows that.
            .max_idle_connections(0)
            .max_idle_connections_per_host(0)
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .user_agent(concat!("evaluator/", env!("CARGO_PKG_VERSION")));
        if is_local {
            config = config.proxy(None);
        }
        if let Some(roots) = certificates(settings)? {
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        let redactor = settings.redactor.with(key.clone());
        let base = base.trim_end_matches('/').to_owned();
        let digest = key.as_ref().map(|key| sha(key.expose().as_bytes()));
        let identity = format!("{base} {}", digest.unwrap_or_default());
        let connector = DefaultConnector::default();
        let agent = Agent::with_parts(config.build(), connector, CachingResolver::default());
        Ok(Self { agent, base, key, identity, header, redactor })
    }

    /// Identifies the server and the key without showing the key.
    pub(super) fn queue(&self, provider: &str) -> String {
        format!("{provider} {}", self.identity)
    }

    /// Returns the base URL.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Posts JSON, once, and returns the JSON of the answer. The path is added to the base URL.
    ///
    /// # Errors
    ///
    /// The request was not answered, or with a status outside of 200 to 299, or not with a JSON object, or the answer has an
    /// `error`.
    pub(super) fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Value, ModelError> {
        let url = format!("{}{path}", self.base);
        let mut request =
            ureq::http::Request::post(&url).header("content-type", "application/json");
        let key = self.key.as_ref().map(|key| {
            let (name, scheme) = self.header;
            (name, format!("{scheme}{}", key.expose()))
        });
        let key = key.as_ref().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in headers.iter().copied().chain(key) {
            request = request.header(name, value);
        }
        let invalid = |text: String| ModelError::new(ErrorKind::InvalidRequest, text);
        let text = serde_json::to_vec(body).map_err(|error| invalid(error.to_string()))?;
        let sent = request.body(text).map(|request| self.run(request, limit));
        // A header may be impossible; the message does not show it.
        let sent = sent.map_err(|_| invalid(format!("no request can be sent to {url}")))?;
        let mut response = sent.map_err(|error| self.explain(&error, limit))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MOST).read_to_vec();
        let body = body.map_err(|error| self.explain(&error, limit))?;
        if (200..300).contains(&status) {
            return json(status, &body, &self.redactor);
        }
        let headers = response.headers().iter();
        let headers = headers.map(|(name, value)| {
            (name.as_str().to_owned(), value.to_str().unwrap_or_default().to_owned())
        });
        let answered = Answered { status, headers: headers.collect(), body: &body };
        Err(classify(&answered, self.key.as_ref(), &self.redactor))
    }

    fn run(
        &self,
        request: ureq::http::Request<Vec<u8>>,
        limit: Duration,
    ) -> Result<ureq::http::Response<Body>, ureq::Error> {
        let configured = self.agent.configure_request(request);
        self.agent.run(configured.timeout_global(Some(limit)).build())
    }

    fn explain(&self, error: &ureq::Error, limit: Duration) -> ModelError {
        let text = excerpt(&self.redactor.redact(&error.to_string()));
        let base = &self.base;
        let is_tls = matches!(error, ureq::Error::Rustls(_))
            || matches!(error, ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData);
        let (kind, text) = match error {
            ureq::Error::Timeout(_) => (
                ErrorKind::Timeout,
                format!("{base} did not answer within {} s", limit.as_secs_f64()),
            ),
            ureq::Error::BodyExceedsLimit(_) => {
                (ErrorKind::BadAnswer, format!("the answer of {base} exceeds {MOST} bytes"))
            }
            _ if is_tls && text.contains("certificate") => {
                (ErrorKind::Certificate, format!("no secure connection to {base}: {text}"))
            }
            _ => (ErrorKind::Network, format!("no answer from {base}: {text}")),
        };
        ModelError::new(kind, text)
    }
}

/// Returns the certificates to trust instead of the built-in ones, if there are any.
fn certificates(settings: &Settings) -> Result<Option<RootCerts>, ModelError> {
    let Some((_, path)) = settings.variable(&[CERTIFICATES]).filter(|_| !settings.is_offline)
    else {
        return Ok(None);
    };
    read_certificates(path.as_ref()).map(Some).map_err(|reason| {
        let text = format!("{CERTIFICATES} names {path}, which {reason}");
        ModelError::new(ErrorKind::Config, text)
    })
}

/// Checks a base URL. Returns true if it is on this machine.
fn check(base: &str, allow_http: bool) -> Result<bool, ModelError> {
    // The URL may contain a password and is not shown then.
    let bad = |text: &str| ModelError::new(ErrorKind::Config, format!("the base URL {text}"));
    let uri: Uri = base.parse().map_err(|_| bad("is not a URL"))?;
    let host = uri.host().filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| bad("has no host; write it as https://HOST/PATH"))?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(bad("must not contain a user or password; put the key into a variable"));
    }
    if uri.query().is_some() || base.contains('#') {
        return Err(bad("must end with its path"));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_local = host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(is_local),
        Some("http") if is_local || allow_http => Ok(is_local),
        Some("http") => Err(bad(&format!(
            "{base} must begin with https://; http:// is for this machine only, unless `allow_http: true`"
        ))),
        _ => Err(bad("must begin with https://")),
    }
}

/// Reads an answer as a JSON object without an `error` in it. The status of an answer with one may be 200.
pub(super) fn json(status: u16, body: &[u8], redactor: &Redactor) -> Result<Value, ModelError> {
    let answer = object(status, body, redactor)?;
    if answer.get("error").is_none_or(Value::is_null) {
        return Ok(answer);
    }
    let body = answer.to_string();
    let answered = Answered { status: 200, headers: Vec::new(), body: body.as_bytes() };
    Err(classify(&answered, None, redactor))
}

/// Reads an answer as a JSON object. Secrets that the server repeats are removed from all of its texts.
fn object(status: u16, body: &[u8], redactor: &Redactor) -> Result<Value, ModelError> {
    let shown = || excerpt(&redactor.redact(page(&String::from_utf8_lossy(body))));
    let bad = |text: String| {
        let mut error = ModelError::new(ErrorKind::BadAnswer, text);
        error.status = Some(status);
        error
    };
    let mut value: Value = serde_json::from_slice(body)
        .map_err(|_| bad(format!("the answer is not JSON: {}", shown())))?;
    if !value.is_object() {
        return Err(bad(format!("the answer is not an object: {}", shown())));
    }
    redactor.redact_json(&mut value);
    Ok(value)
}

/// Returns an error about an answer of status 200 that has another form.
pub(super) fn unexpected(what: &str) -> ModelError {
    let mut error = ModelError::new(ErrorKind::BadAnswer, format!("the answer has {what}"));
    error.status = Some(200);
    error
}

/// Returns the reply to a forwarded request, which is the whole answer.
///
/// # Errors
///
/// The answer has no results.
pub(super) fn whole(api: Api, usage: Option<Usage>, answer: Value) -> Result<Reply, ModelError> {
    if !answer.get(api.results()).is_some_and(Value::is_array) {
        return Err(unexpected(&format!("no list `{}`", api.results())));
    }
    let model_reported = text_at(&answer, "/model");
    Ok(Reply { usage, model_reported, body: Some(answer), ..Reply::default() })
}

/// Returns a text of an answer, if there is one.
pub(super) fn text_at(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

/// Returns a count of an answer, or 0 if there is none. For counts that only split another one.
pub(super) fn number_at(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns a count of an answer: 0 if it is absent, `None` if it is not a whole number from 0 to 2^64 - 1. Tokens that are not
/// counted must not count as none.
pub(super) fn count_at(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).map_or(Some(0), Value::as_u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_over_https_or_to_this_machine() {
        for base in [
            "https://api.example.com/v1",
            "http://127.0.0.1:1",
            "http://localhost/v1",
            "http://[::1]:8080",
        ] {
            check(base, false).unwrap();
        }
        for (base, text) in [
            ("http://api.example.com", "must begin with https://"),
            ("ftp://api.example.com", "must begin with https://"),
            ("https://me:decoy@api.example.com", "must not contain a user"),
            ("https://api.example.com?key=decoy", "must end with its path"),
            ("api", "must begin with https://"),
            ("", "is not a URL"),
        ] {
            let error = check(base, false).unwrap_err().to_string();
            assert!(error.contains(text) && !error.contains("decoy"), "{base}: {error}");
        }
        check("http://api.example.com", true).unwrap();
    }
}
