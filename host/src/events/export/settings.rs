//! What the environment says of where events go.

use std::{fs, num::NonZeroUsize, str::FromStr, time::Duration};

use ureq::{
    http::{HeaderName, HeaderValue, Uri},
    tls::{Certificate, PrivateKey},
};

use super::super::Variables;
use super::tls::Tls;

const TIMEOUT: Duration = Duration::from_secs(10);
const BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(512).unwrap();

/// A variable whose value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: `{value}` {problem}")]
pub struct SettingsError {
    /// The variable.
    pub variable: String,
    /// Its value, or the part of it that is meant.
    pub value: String,
    /// What is wrong with it, to be read after the value.
    pub problem: String,
}

impl SettingsError {
    pub(super) fn new(variable: &str, value: &str, problem: impl Into<String>) -> Self {
        Self { variable: variable.to_owned(), value: value.to_owned(), problem: problem.into() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    HttpProtobuf,
    HttpJson,
    Grpc,
}

#[derive(Debug)]
pub(super) struct Settings {
    pub(super) protocol: Protocol,
    /// The URL, for people as well.
    pub(super) endpoint: String,
    pub(super) uri: Uri,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) timeout: Duration,
    pub(super) gzip: bool,
    pub(super) tls: Tls,
    pub(super) batch_size: NonZeroUsize,
}

impl Settings {
    pub(super) fn read(variables: Variables<'_>) -> Result<Self, SettingsError> {
        let env = Env { variables };
        let protocol = match env.otlp("PROTOCOL") {
            None => Protocol::HttpProtobuf,
            Some((name, text)) => match text.as_str() {
                "http/protobuf" => Protocol::HttpProtobuf,
                "http/json" => Protocol::HttpJson,
                "grpc" => Protocol::Grpc,
                _ => {
                    let known = "is not known (known: http/protobuf, http/json, grpc)";
                    return Err(SettingsError::new(&name, &text, known));
                }
            },
        };
        let (endpoint, uri) = env.endpoint(protocol)?;
        Ok(Self {
            protocol,
            endpoint,
            uri,
            headers: env.headers()?,
            timeout: match env.otlp("TIMEOUT") {
                Some((name, text)) => Duration::from_millis(number(&name, &text, "milliseconds")?),
                None => TIMEOUT,
            },
            gzip: match env.otlp("COMPRESSION") {
                None => false,
                Some((name, text)) => match text.as_str() {
                    "gzip" => true,
                    "none" => false,
                    _ => return Err(SettingsError::new(&name, &text, "is neither gzip nor none")),
                },
            },
            tls: Tls {
                roots: env.pem("CERTIFICATE", Tls::certificates)?.unwrap_or_default(),
                client: env.client()?,
            },
            batch_size: match env.get("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE") {
                Some(text) => number("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", &text, "records")?,
                None => BATCH_SIZE,
            },
        })
    }
}

fn number<T: FromStr>(name: &str, text: &str, unit: &str) -> Result<T, SettingsError> {
    text.parse().map_err(|_| SettingsError::new(name, text, format!("is no number of {unit}")))
}

struct Env<'a> {
    variables: Variables<'a>,
}

impl Env<'_> {
    /// The value of a variable; an empty one counts as absent.
    fn get(&self, name: &str) -> Option<String> {
        let value = (self.variables)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// The variable for logs, else the one for everything, with its name.
    fn otlp(&self, name: &str) -> Option<(String, String)> {
        ["OTEL_EXPORTER_OTLP_LOGS_", "OTEL_EXPORTER_OTLP_"].into_iter().find_map(|prefix| {
            let name = format!("{prefix}{name}");
            let value = self.get(&name)?;
            Some((name, value))
        })
    }

    fn endpoint(&self, protocol: Protocol) -> Result<(String, Uri), SettingsError> {
        let default = match protocol {
            Protocol::Grpc => "http://localhost:4317",
            Protocol::HttpProtobuf | Protocol::HttpJson => "http://localhost:4318",
        };
        let (name, given) = self
            .otlp("ENDPOINT")
            .unwrap_or_else(|| ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), default.to_owned()));
        let url = match protocol {
            Protocol::Grpc if !given.contains("://") => {
                let insecure = self
                    .otlp("INSECURE")
                    .is_some_and(|(_, text)| text.eq_ignore_ascii_case("true"));
                format!("{}://{given}", if insecure { "http" } else { "https" })
            }
            Protocol::HttpProtobuf | Protocol::HttpJson if !name.contains("_LOGS_") => {
                format!("{}/v1/logs", given.trim_end_matches('/'))
            }
            _ => given.clone(),
        };
        match url.parse::<Uri>() {
            Ok(uri)
                if matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some() =>
            {
                Ok((shown(&url), uri))
            }
            _ => Err(SettingsError::new(&name, &given, "is no URL (write http://HOST:PORT)")),
        }
    }

    fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, SettingsError> {
        let Some((name, text)) = self.otlp("HEADERS") else { return Ok(Vec::new()) };
        // Values are secrets more often than not, so no part of them is shown.
        let bad = |key: &str, problem: &str| SettingsError::new(&name, key, problem);
        let pairs = pairs(&text).map_err(|_| bad("...", "has a part that is not KEY=VALUE"))?;
        pairs
            .into_iter()
            .map(|(key, value)| {
                let header = HeaderName::from_str(&key.to_lowercase())
                    .map_err(|_| bad(&key, "is no name of a header"))?;
                let mut value = HeaderValue::from_str(&value)
                    .map_err(|_| bad(&key, "has a value that no header can have"))?;
                value.set_sensitive(true);
                Ok((header, value))
            })
            .collect()
    }

    /// The certificate that identifies this client, and its key. One without the other is a mistake: what is sent
    /// would be sent without either.
    fn client(
        &self,
    ) -> Result<Option<(Vec<Certificate<'static>>, PrivateKey<'static>)>, SettingsError> {
        let chain = self.pem("CLIENT_CERTIFICATE", Tls::certificates)?;
        let key = self.pem("CLIENT_KEY", Tls::key)?;
        let alone = |given: &str, missing: &str| {
            let (name, value) = self.otlp(given).unwrap_or_default();
            let prefix = name.strip_suffix(given).unwrap_or_default();
            let problem = format!("is of no use alone; set {prefix}{missing} as well");
            Err(SettingsError::new(&name, &value, problem))
        };
        match (chain, key) {
            (Some(chain), Some(key)) => Ok(Some((chain, key))),
            (None, None) => Ok(None),
            (Some(_), None) => alone("CLIENT_CERTIFICATE", "CLIENT_KEY"),
            (None, Some(_)) => alone("CLIENT_KEY", "CLIENT_CERTIFICATE"),
        }
    }

    fn pem<T>(
        &self,
        name: &str,
        read: fn(&[u8]) -> Result<T, String>,
    ) -> Result<Option<T>, SettingsError> {
        let Some((name, path)) = self.otlp(name) else { return Ok(None) };
        let read = fs::read(&path).map_err(|error| error.to_string()).and_then(|pem| read(&pem));
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) => Err(SettingsError::new(&name, &path, format!("cannot be used: {error}"))),
        }
    }
}

/// A URL without the name and password that may stand before its host.
fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

/// A list `KEY=VALUE,..` with percent-encoded values.
///
/// # Errors
///
/// The part that is not `KEY=VALUE`.
pub(in crate::events) fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| match part.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok((decoded(key.trim()), decoded(value.trim())))
            }
            _ => Err(part.to_owned()),
        })
        .collect()
}

/// Undoes percent-encoding; what is not encoded, or not text then, stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend(rest.as_bytes());
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::read(&|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn endpoint(set: &[(&str, &str)]) -> String {
        read(set).unwrap().endpoint
    }

    const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const LOGS: &str = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT";
    const GRPC: (&str, &str) = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");

    #[test]
    fn endpoints_are_completed_as_the_specification_says() {
        assert_eq!(endpoint(&[]), "http://localhost:4318/v1/logs");
        assert_eq!(endpoint(&[(ALL, "http://c:1/")]), "http://c:1/v1/logs");
        assert_eq!(endpoint(&[(ALL, "https://c/otlp")]), "https://c/otlp/v1/logs");
        assert_eq!(endpoint(&[(ALL, "http://c:1"), (LOGS, "http://d:2/x")]), "http://d:2/x");
        assert_eq!(endpoint(&[(ALL, " ")]), "http://localhost:4318/v1/logs");
        assert_eq!(endpoint(&[(ALL, "http://me:secret@c:1/x@y")]), "http://c:1/x@y/v1/logs");
        assert_eq!(endpoint(&[GRPC]), "http://localhost:4317");
        assert_eq!(endpoint(&[GRPC, (ALL, "http://c:1")]), "http://c:1");
        assert_eq!(endpoint(&[GRPC, (ALL, "c:1")]), "https://c:1");
        let insecure = ("OTEL_EXPORTER_OTLP_INSECURE", "true");
        assert_eq!(endpoint(&[GRPC, (ALL, "c:1"), insecure]), "http://c:1");
    }

    #[test]
    fn a_certificate_and_its_key_go_together() {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls");
        let (certificate, key) = (format!("{data}/server.pem"), format!("{data}/server.key"));
        for (given, value, missing) in [
            (
                "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
                &certificate,
                "OTEL_EXPORTER_OTLP_CLIENT_KEY",
            ),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", &key, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"),
            (
                "OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY",
                &key,
                "OTEL_EXPORTER_OTLP_LOGS_CLIENT_CERTIFICATE",
            ),
        ] {
            let error = read(&[(given, value)]).unwrap_err().to_string();
            let expected = format!("{given}: `{value}` is of no use alone; set {missing} as well");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn settings_of_logs_come_first() {
        let settings = read(&[
            GRPC,
            ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "none"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1"),
            ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "Authorization=Bearer%20x=%, b = 2"),
            ("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "3"),
        ])
        .unwrap();
        assert_eq!((settings.protocol, settings.gzip), (Protocol::HttpJson, false));
        assert_eq!(settings.timeout, Duration::from_millis(250));
        assert_eq!(settings.batch_size.get(), 3);
        let headers: Vec<_> = settings
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(headers, [("authorization", "Bearer x=%"), ("b", "2")]);
    }

    #[test]
    fn what_cannot_be_used_is_named_and_secrets_are_not() {
        let missing = "OTEL_EXPORTER_OTLP_CERTIFICATE";
        for (name, value, expected) in [
            (
                "OTEL_EXPORTER_OTLP_PROTOCOL",
                "http",
                "OTEL_EXPORTER_OTLP_PROTOCOL: `http` is not known (known: http/protobuf, http/json, grpc)",
            ),
            (
                ALL,
                "localhost:4318",
                "OTEL_EXPORTER_OTLP_ENDPOINT: `localhost:4318` is no URL (write http://HOST:PORT)",
            ),
            (
                LOGS,
                "ftp://c",
                "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `ftp://c` is no URL (write http://HOST:PORT)",
            ),
            (
                "OTEL_EXPORTER_OTLP_TIMEOUT",
                "10s",
                "OTEL_EXPORTER_OTLP_TIMEOUT: `10s` is no number of milliseconds",
            ),
            (
                "OTEL_EXPORTER_OTLP_COMPRESSION",
                "zip",
                "OTEL_EXPORTER_OTLP_COMPRESSION: `zip` is neither gzip nor none",
            ),
            (
                "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
                "0",
                "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: `0` is no number of records",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "secret",
                "OTEL_EXPORTER_OTLP_HEADERS: `...` has a part that is not KEY=VALUE",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "a b=secret",
                "OTEL_EXPORTER_OTLP_HEADERS: `a b` is no name of a header",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "a=secret%0A",
                "OTEL_EXPORTER_OTLP_HEADERS: `a` has a value that no header can have",
            ),
        ] {
            assert_eq!(read(&[(name, value)]).unwrap_err().to_string(), expected);
        }
        let error = read(&[(missing, "/no/such.pem")]).unwrap_err().to_string();
        assert!(
            error.starts_with("OTEL_EXPORTER_OTLP_CERTIFICATE: `/no/such.pem` cannot be used: "),
            "{error}"
        );
    }
}
