//! Fetching files over HTTP.
//!
//! Redirects are not followed: fetched files are run, so they come from the configured address only. A token is sent only to
//! the servers it is meant for, and never over an unencrypted connection.
//!
//! `GITHUB_TOKEN` is sent to GitHub and to this machine only, because every CI job has it; `AGENTEVALS_GITHUB_TOKEN`
//! is sent to the configured server over https. Redirects are not followed. Requests are blocking (ureq with rustls),
//! because evaluators are fetched before anything runs.

use std::{io, net::IpAddr, time::Duration};

use evaluator_models::read_certificates;
use ureq::{
    Agent,
    http::{Response, Uri},
    tls::{RootCerts, TlsConfig},
};

use super::SourceError;
use crate::runtime::Environment;

/// Default time limit for one file.
const LIMIT: Duration = Duration::from_secs(30);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const LIMIT_VARIABLE: &str = "AGENTEVALS_EVALUATOR_TIMEOUT";

/// File with trusted certificates instead of the built-in ones, for mirrors and company proxies.
const CERTIFICATES_VARIABLE: &str = "SSL_CERT_FILE";

/// Base of URLs: scheme, host, and a path without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BaseUrl {
    text: String,
    host: String,
    is_https: bool,
}

impl BaseUrl {
    /// Reads the value of `variable`.
    pub(super) fn parse(variable: &'static str, text: &str) -> Result<Self, SourceError> {
        let bad = |reason: &str| SourceError::Setting {
            variable,
            // The text may contain a password and is not shown.
            reason: reason.to_owned(),
        };
        let uri: Uri = text.parse().map_err(|_| bad("is not a URL"))?;
        let host = uri.host().filter(|host| !host.is_empty());
        let host =
            host.ok_or_else(|| bad("has no host; write it as https://HOST/PATH"))?.to_owned();
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(bad("must not hold a user or password; set AGENTEVALS_GITHUB_TOKEN"));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(bad("must end with its path"));
        }
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") if is_loopback(&host) => false,
            Some("http") => {
                return Err(bad("must begin with https://; http:// is for this machine only"));
            }
            _ => return Err(bad("must begin with https://")),
        };
        Ok(Self { text: text.trim_end_matches('/').to_owned(), host, is_https })
    }

    /// Returns a URL below the base. `path` has no characters that need quoting.
    pub(super) fn join(&self, path: &str) -> String {
        format!("{}/{path}", self.text)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    fn is_github(&self) -> bool {
        self.is_https && matches!(&*self.host, "raw.githubusercontent.com" | "api.github.com")
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Access token.
#[derive(Clone, derive_more::Debug)]
#[debug("the value of {variable}")]
pub(super) struct Token {
    variable: &'static str,
    value: String,
    /// Whether the token is set for this program, so that it may be sent to a configured mirror.
    dedicated: bool,
}

impl Token {
    /// `AGENTEVALS_GITHUB_TOKEN`, else `GITHUB_TOKEN`.
    pub(super) fn of(environment: &Environment) -> Result<Option<Self>, SourceError> {
        for (variable, dedicated) in [("AGENTEVALS_GITHUB_TOKEN", true), ("GITHUB_TOKEN", false)] {
            let Some(value) = environment.get(variable) else { continue };
            let value = value.to_str().map(str::trim).unwrap_or("\n");
            if value.is_empty() {
                continue;
            }
            if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
                let reason = "contains white space or non-ASCII characters";
                return Err(SourceError::Setting { variable, reason: reason.to_owned() });
            }
            return Ok(Some(Self { variable, value: value.to_owned(), dedicated }));
        }
        Ok(None)
    }

    /// Returns true if the token may be sent to `base`: to GitHub, to this machine, or, if it is set for this program, over
    /// HTTPS to a mirror. `GITHUB_TOKEN`, which every CI job has, must not reach a mirror.
    fn may_go_to(&self, base: &BaseUrl) -> bool {
        base.is_loopback() || base.is_github() || (self.dedicated && base.is_https)
    }
}

/// Fetches files.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: Agent,
    token: Option<Token>,
    limit: Duration,
}

impl Client {
    pub(super) fn new(environment: &Environment) -> Result<Self, SourceError> {
        let limit = time_limit(environment)?;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_LIMIT.min(limit)))
            .timeout_global(Some(limit))
            .user_agent(concat!("evaluator/", env!("CARGO_PKG_VERSION")));
        if let Some(roots) = certificates(environment)? {
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        Ok(Self { agent: config.build().into(), token: Token::of(environment)?, limit })
    }

    /// Fetches `path` below `base`, at most `most` bytes.
    pub(super) fn get(
        &self,
        base: &BaseUrl,
        path: &str,
        most: u64,
    ) -> Result<Vec<u8>, SourceError> {
        let url = base.join(path);
        let mut request = self.agent.get(&url);
        if let Some(token) = self.token.as_ref().filter(|token| token.may_go_to(base)) {
            request = request.header("Authorization", format!("token {}", token.value));
        }
        if base.is_loopback() {
            request = request.config().proxy(None).build();
        }
        let mut response = request.call().map_err(|error| self.explain(&url, most, &error))?;
        if response.status().as_u16() != 200 {
            return Err(self.refusal(&url, &response));
        }
        response
            .body_mut()
            .with_config()
            .limit(most)
            .read_to_vec()
            .map_err(|error| self.explain(&url, most, &error))
    }

    fn explain(&self, url: &str, most: u64, error: &ureq::Error) -> SourceError {
        let url = url.to_owned();
        match error {
            ureq::Error::Timeout(_) => SourceError::TimedOut { url, limit: self.limit },
            ureq::Error::BodyExceedsLimit(_) => {
                SourceError::TooLarge { what: url, limit: format!("{most} bytes") }
            }
            ureq::Error::HostNotFound => {
                SourceError::Unreachable { url, reason: "the host is not known".to_owned() }
            }
            ureq::Error::Rustls(error) => insecure(url, error),
            // TLS error while reading.
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                insecure(url, error)
            }
            error => SourceError::Unreachable { url, reason: error.to_string() },
        }
    }

    fn refusal<B>(&self, url: &str, response: &Response<B>) -> SourceError {
        let status = response.status().as_u16();
        let header =
            |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let limited =
            header("x-ratelimit-remaining") == Some("0") || header("retry-after").is_some();
        let hint = match status {
            404 => return SourceError::NotFound { what: "file".to_owned(), place: url.to_owned() },
            300..=399 => "redirects are not followed; configure the final address".to_owned(),
            401 | 403 | 429 if limited || status == 429 => match &self.token {
                None => "too many requests; set AGENTEVALS_GITHUB_TOKEN or GITHUB_TOKEN, or wait"
                    .to_owned(),
                Some(_) => "too many requests; wait".to_owned(),
            },
            401 | 403 => match &self.token {
                None => "access denied; set AGENTEVALS_GITHUB_TOKEN or GITHUB_TOKEN".to_owned(),
                Some(token) => format!("access denied; check {}", token.variable),
            },
            500..=599 => "the server failed; try again later".to_owned(),
            _ => "unexpected status".to_owned(),
        };
        SourceError::Refused { url: url.to_owned(), status, hint }
    }
}

fn insecure(url: String, error: &dyn std::error::Error) -> SourceError {
    let reason = format!(
        "no secure connection: {error} (certificates to trust can be named in {CERTIFICATES_VARIABLE})"
    );
    SourceError::Unreachable { url, reason }
}

fn time_limit(environment: &Environment) -> Result<Duration, SourceError> {
    let Some(text) = environment.get(LIMIT_VARIABLE) else { return Ok(LIMIT) };
    let seconds = text.to_str().and_then(|text| text.trim().parse::<u64>().ok());
    seconds.filter(|seconds| (1..=3600).contains(seconds)).map(Duration::from_secs).ok_or_else(
        || {
            let reason = "must be a whole number of seconds in 1..=3600".to_owned();
            SourceError::Setting { variable: LIMIT_VARIABLE, reason }
        },
    )
}

/// Returns the configured certificates, if any.
fn certificates(environment: &Environment) -> Result<Option<RootCerts>, SourceError> {
    let Some(path) = environment.get(CERTIFICATES_VARIABLE) else { return Ok(None) };
    read_certificates(path.as_ref()).map(Some).map_err(|reason| SourceError::Setting {
        variable: CERTIFICATES_VARIABLE,
        reason: format!("names {}, which {reason}", path.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Result<BaseUrl, SourceError> {
        BaseUrl::parse("THE_URL", text)
    }

    #[test]
    fn addresses_are_https_or_of_this_machine() {
        for text in [
            "https://a.example",
            "https://a.example:8443/x/y/",
            "http://127.0.0.1:80",
            "http://localhost:1",
            "http://[::1]:1/x",
        ] {
            assert!(base(text).is_ok(), "{text}");
        }
        assert_eq!(base("https://a.example/x/").unwrap().join("b.py"), "https://a.example/x/b.py");
        for text in [
            "",
            "a",
            "http://a.example",
            "ftp://a.example",
            "https://",
            "https://u:secret@a.example",
            "https://a.example/?q=1",
            "http://127.0.0.1.evil.example",
            "file:///etc",
        ] {
            let error = base(text).unwrap_err().to_string();
            assert!(error.starts_with("THE_URL ") && !error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn a_token_stays_where_it_belongs() {
        let token = |name: &str| {
            Token::of(&Environment::new([(name, " abc\n")])).unwrap().expect("there is one")
        };
        let (own, shared) = (token("AGENTEVALS_GITHUB_TOKEN"), token("GITHUB_TOKEN"));
        assert_eq!(own.value, "abc");
        for (url, own_goes, shared_goes) in [
            ("https://raw.githubusercontent.com", true, true),
            ("https://api.github.com", true, true),
            ("http://127.0.0.1:9", true, true),
            ("https://mirror.example", true, false),
            ("https://raw.githubusercontent.com.example", true, false),
        ] {
            let base = base(url).unwrap();
            assert_eq!(
                (own.may_go_to(&base), shared.may_go_to(&base)),
                (own_goes, shared_goes),
                "{url}"
            );
        }
        assert!(!format!("{own:?}").contains("abc"));
    }

    #[test]
    fn the_first_variable_wins_and_empty_ones_do_not_count() {
        let of = |vars: &[(&str, &str)]| {
            Token::of(&Environment::new(vars.iter().copied()))
                .map(|token| token.map(|token| token.value))
        };
        let both = [("GITHUB_TOKEN", "b"), ("AGENTEVALS_GITHUB_TOKEN", "a")];
        assert_eq!(of(&both), Ok(Some("a".to_owned())));
        assert_eq!(
            of(&[("GITHUB_TOKEN", "b"), ("AGENTEVALS_GITHUB_TOKEN", " ")]),
            Ok(Some("b".to_owned()))
        );
        assert_eq!(of(&[]), Ok(None));
        let error = of(&[("GITHUB_TOKEN", "se\ncret")]).unwrap_err().to_string();
        assert!(error.starts_with("GITHUB_TOKEN contains") && !error.contains("cret"), "{error}");
    }
}
