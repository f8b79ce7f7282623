//! The environment variables that decide whether evaluation events are exported, to which collector, and by whom.

use std::{fs, num::NonZeroUsize, str::FromStr, time::Duration};

use evaluator_models::{Redactor, Secret, parse_certificates};
use indexmap::IndexMap;
use percent_encoding::percent_decode_str;
use tonic::transport::{self as grpc, ClientTlsConfig, Identity};
use ureq::{
    http::{HeaderMap, HeaderName, HeaderValue, Uri},
    tls::{ClientCert, PrivateKey, RootCerts, TlsConfig},
};

use super::Variables;
use crate::report::run_file::random_id;

const ENABLE: &str = "AGENTEVALS_EVALUATION_EVENTS";
const EXPLANATION: &str = "AGENTEVALS_EVALUATION_EVENTS_EXPLANATION";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const BATCH: &str = "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE";
const BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(512).unwrap();
const TIMEOUT: Duration = Duration::from_secs(10);
/// The default of `service.name`, under which receivers know the results of agentevals.
const SERVICE: &str = "agentevals";

/// Optional parts of the exported events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventSwitches {
    /// Whether events contain the evaluator's explanation, which may quote the conversation; `false` by default.
    pub explanation: bool,
}

impl EventSwitches {
    /// Returns the switches, or `None` if no events are exported: neither `requested` nor `AGENTEVALS_EVALUATION_EVENTS` is
    /// true, or `OTEL_SDK_DISABLED` or `OTEL_LOGS_EXPORTER=none` disables the export.
    ///
    /// # Errors
    ///
    /// A variable of agentevals is neither true nor false, even if nothing is exported.
    pub fn read(
        requested: bool,
        variables: Variables<'_>,
    ) -> Result<Option<Self>, EventSettingsError> {
        let enabled = flag(ENABLE, variables)?;
        let explanation = flag(EXPLANATION, variables)?;
        let standard = |name: &str| variables(name).unwrap_or_default().trim().to_lowercase();
        // Other programs set these in other spellings; an unknown value does not count.
        let is_disabled = truth(&standard("OTEL_SDK_DISABLED")) == Some(true)
            || standard("OTEL_LOGS_EXPORTER") == "none";
        Ok(((requested || enabled) && !is_disabled).then_some(Self { explanation }))
    }
}

fn flag(variable: &str, variables: Variables<'_>) -> Result<bool, EventSettingsError> {
    let value = variables(variable).unwrap_or_default();
    let text = value.trim().to_lowercase();
    if text.is_empty() {
        return Ok(false);
    }
    truth(&text).ok_or_else(|| {
        let problem = " must be one of true/false/1/0/yes/no/on/off";
        EventSettingsError(format!("{variable}{problem} (got: {value:?})"))
    })
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A variable has a value that cannot be used. Names the variable, its value unless that is a secret, and the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EventSettingsError(String);

impl EventSettingsError {
    fn new(variable: &str, value: &str, problem: impl std::fmt::Display) -> Self {
        Self(format!("{variable}: `{value}` {problem}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    HttpProtobuf,
    HttpJson,
    Grpc,
}

/// Settings of the export.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) protocol: Protocol,
    pub(super) uri: Uri,
    /// The URL for messages, without user name and password.
    pub(super) endpoint: String,
    pub(super) headers: HeaderMap,
    /// Removes the values of the headers, which may be keys.
    pub(super) redactor: Redactor,
    /// Limit for one request, repetitions included.
    pub(super) timeout: Duration,
    pub(super) gzip: bool,
    pub(super) http_tls: TlsConfig,
    pub(super) grpc_tls: ClientTlsConfig,
    /// Records in one request.
    pub(super) batch_size: NonZeroUsize,
    /// Attributes of the exporting process.
    pub(super) resource: Vec<(String, String)>,
}

/// Returns a redactor that removes the values of headers from texts: as a whole, and without the scheme of the authorization.
fn redactor(headers: &HeaderMap) -> Redactor {
    let values = headers.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?)));
    let secrets = values.flat_map(|(name, value)| {
        let last = value.split_whitespace().next_back();
        [Some(value), last].into_iter().flatten().map(move |it| Secret::new(name.as_str(), it))
    });
    Redactor::new(secrets)
}

impl Settings {
    pub(super) fn read(variables: Variables<'_>) -> Result<Self, EventSettingsError> {
        let env = Env { variables };
        let protocols = [
            ("http/protobuf", Protocol::HttpProtobuf),
            ("http/json", Protocol::HttpJson),
            ("grpc", Protocol::Grpc),
        ];
        let protocol = env.one_of("PROTOCOL", &protocols)?.unwrap_or(Protocol::HttpProtobuf);
        let gzip = env.one_of("COMPRESSION", &[("gzip", true), ("none", false)])?;
        let timeout = env.otlp("TIMEOUT").map(|it| number(it, "milliseconds")).transpose()?;
        let batch = env.get(BATCH).map(|text| (BATCH.to_owned(), text));
        let batch_size = batch.map(|it| number(it, "records")).transpose()?;
        let (endpoint, uri) = env.endpoint(protocol)?;
        let headers = env.headers()?;
        let (http_tls, grpc_tls) = env.tls()?;
        Ok(Self {
            protocol,
            uri,
            endpoint,
            redactor: redactor(&headers),
            headers,
            timeout: timeout.map_or(TIMEOUT, Duration::from_millis),
            gzip: gzip.unwrap_or(false),
            http_tls,
            grpc_tls,
            batch_size: batch_size.unwrap_or(BATCH_SIZE),
            resource: env.resource()?,
        })
    }
}

/// Reads the value of a variable as a number.
fn number<T: FromStr>((name, text): (String, String), unit: &str) -> Result<T, EventSettingsError> {
    let problem = || EventSettingsError::new(&name, &text, format!("is not a number of {unit}"));
    text.parse().map_err(|_| problem())
}

/// The standard variables of OpenTelemetry.
struct Env<'a> {
    variables: Variables<'a>,
}

impl Env<'_> {
    /// Returns the value of a variable; an empty one counts as absent.
    fn get(&self, name: &str) -> Option<String> {
        let value = (self.variables)(name)?;
        Some(value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// Returns the name and value of the variable for logs, or else of the one for all signals.
    fn otlp(&self, name: &str) -> Option<(String, String)> {
        ["OTEL_EXPORTER_OTLP_LOGS_", "OTEL_EXPORTER_OTLP_"].into_iter().find_map(|prefix| {
            let name = format!("{prefix}{name}");
            self.get(&name).map(|value| (name, value))
        })
    }

    /// Reads a variable whose values are names.
    fn one_of<T: Copy>(
        &self,
        name: &str,
        values: &[(&str, T)],
    ) -> Result<Option<T>, EventSettingsError> {
        let Some((name, text)) = self.otlp(name) else { return Ok(None) };
        let found = values.iter().find(|(value, _)| *value == text);
        found.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let known: Vec<&str> = values.iter().map(|(value, _)| *value).collect();
            let problem = format!("is not known (known: {})", known.join(", "));
            EventSettingsError::new(&name, &text, problem)
        })
    }

    fn endpoint(&self, protocol: Protocol) -> Result<(String, Uri), EventSettingsError> {
        let is_grpc = protocol == Protocol::Grpc;
        let port = if is_grpc { 4317 } else { 4318 };
        let default =
            || ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), format!("http://localhost:{port}"));
        let (name, given) = self.otlp("ENDPOINT").unwrap_or_else(default);
        let url = if is_grpc && !given.contains("://") {
            let insecure = self.otlp("INSECURE");
            let is_insecure = insecure.is_some_and(|(_, text)| text.eq_ignore_ascii_case("true"));
            format!("{}://{given}", if is_insecure { "http" } else { "https" })
        } else if !is_grpc && !name.contains("_LOGS_") {
            format!("{}/v1/logs", given.trim_end_matches('/'))
        } else {
            given.clone()
        };
        let is_http =
            |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
        match url.parse::<Uri>().ok().filter(is_http) {
            Some(uri) => Ok((without_userinfo(&url), uri)),
            None => {
                let problem = "is not a URL (write http://HOST:PORT)";
                Err(EventSettingsError::new(&name, &given, problem))
            }
        }
    }

    fn headers(&self) -> Result<HeaderMap, EventSettingsError> {
        let mut headers = HeaderMap::new();
        let Some((name, text)) = self.otlp("HEADERS") else { return Ok(headers) };
        // Values are secrets more often than not, so no part of them is shown.
        let invalid = |key: &str, problem: &str| EventSettingsError::new(&name, key, problem);
        for pair in pairs(&text) {
            let (key, value) =
                pair.map_err(|_| invalid("...", "has a part that is not KEY=VALUE"))?;
            let header = HeaderName::from_str(&key)
                .map_err(|_| invalid(&key, "is not the name of a header"))?;
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| invalid(&key, "has a value that headers cannot have"))?;
            value.set_sensitive(true);
            headers.append(header, value);
        }
        Ok(headers)
    }

    /// Reads the authorities to trust, the public ones by default, and the certificate of this client.
    fn tls(&self) -> Result<(TlsConfig, ClientTlsConfig), EventSettingsError> {
        let mut http = TlsConfig::builder();
        let mut grpc = ClientTlsConfig::new().assume_http2(true);
        match self.pem("CERTIFICATE", parse_certificates)? {
            Some((pem, roots)) => {
                http = http.root_certs(RootCerts::new_with_certs(&roots));
                grpc = grpc.ca_certificate(grpc::Certificate::from_pem(pem));
            }
            None => {
                http = http.root_certs(RootCerts::WebPki);
                grpc = grpc.with_webpki_roots();
            }
        }
        let pair = ["CLIENT_CERTIFICATE", "CLIENT_KEY"];
        for [given, missing] in [pair, [pair[1], pair[0]]] {
            // One without the other would show nothing to the collector.
            if let (Some((name, value)), None) = (self.otlp(given), self.otlp(missing)) {
                let other = name.replace(given, missing);
                let problem = format!("has no effect alone; set {other} as well");
                return Err(EventSettingsError::new(&name, &value, problem));
            }
        }
        let private_key = |pem: &[u8]| {
            PrivateKey::from_pem(pem).map_err(|error| format!("holds no private key: {error}"))
        };
        let chain = self.pem(pair[0], parse_certificates)?;
        let key = self.pem(pair[1], private_key)?;
        if let (Some((chain_pem, chain)), Some((key_pem, key))) = (chain, key) {
            http = http.client_cert(Some(ClientCert::new_with_certs(&chain, key)));
            grpc = grpc.identity(Identity::from_pem(chain_pem, key_pem));
        }
        Ok((http.build(), grpc))
    }

    /// Reads the PEM file that a variable names: its text, and its parsed content.
    fn pem<T>(
        &self,
        name: &str,
        parse: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<Option<(Vec<u8>, T)>, EventSettingsError> {
        let Some((name, path)) = self.otlp(name) else { return Ok(None) };
        let read = fs::read(&path).map_err(|error| error.to_string());
        let parsed = read.and_then(|pem| match parse(&pem) {
            Ok(found) => Ok((pem, found)),
            Err(reason) => Err(format!("it {reason}")),
        });
        parsed.map(Some).map_err(|error| {
            EventSettingsError::new(&name, &path, format!("cannot be used: {error}"))
        })
    }

    /// Returns the attributes of this process; those of `OTEL_RESOURCE_ATTRIBUTES` replace the built-in ones, and
    /// `OTEL_SERVICE_NAME` replaces both.
    fn resource(&self) -> Result<Vec<(String, String)>, EventSettingsError> {
        let version = env!("CARGO_PKG_VERSION");
        let own = [
            ("telemetry.sdk.language", "rust".to_owned()),
            ("telemetry.sdk.name", "evaluator".to_owned()),
            ("telemetry.sdk.version", version.to_owned()),
            ("service.name", SERVICE.to_owned()),
            ("service.version", version.to_owned()),
            ("service.instance.id", random_id()),
        ];
        let mut attributes: IndexMap<String, String> =
            own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        for pair in pairs(&self.get(RESOURCE).unwrap_or_default()) {
            let invalid = |part| EventSettingsError::new(RESOURCE, part, "is not KEY=VALUE");
            let (key, value) = pair.map_err(invalid)?;
            attributes.insert(key, value);
        }
        attributes.extend(self.get("OTEL_SERVICE_NAME").map(|it| ("service.name".to_owned(), it)));
        Ok(attributes.into_iter().collect())
    }
}

fn without_userinfo(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

/// Reads a list `KEY=VALUE,..` in which keys and values are percent-encoded. A part that is not `KEY=VALUE` is returned as an
/// error.
fn pairs(text: &str) -> impl Iterator<Item = Result<(String, String), &str>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| match part.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((decoded(key), decoded(value))),
        _ => Err(part),
    })
}

/// Undoes percent-encoding; text that is not UTF-8 then stays as it is.
fn decoded(text: &str) -> String {
    let text = text.trim();
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Settings, EventSettingsError> {
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
            let expected = format!("{given}: `{value}` has no effect alone; set {missing} as well");
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
    fn errors_name_the_variable_and_no_secrets() {
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
                "OTEL_EXPORTER_OTLP_ENDPOINT: `localhost:4318` is not a URL (write http://HOST:PORT)",
            ),
            (
                LOGS,
                "ftp://c",
                "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `ftp://c` is not a URL (write http://HOST:PORT)",
            ),
            (
                "OTEL_EXPORTER_OTLP_TIMEOUT",
                "10s",
                "OTEL_EXPORTER_OTLP_TIMEOUT: `10s` is not a number of milliseconds",
            ),
            (
                "OTEL_EXPORTER_OTLP_COMPRESSION",
                "zip",
                "OTEL_EXPORTER_OTLP_COMPRESSION: `zip` is not known (known: gzip, none)",
            ),
            (
                "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
                "0",
                "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: `0` is not a number of records",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "secret",
                "OTEL_EXPORTER_OTLP_HEADERS: `...` has a part that is not KEY=VALUE",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "a b=secret",
                "OTEL_EXPORTER_OTLP_HEADERS: `a b` is not the name of a header",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "a=secret%0A",
                "OTEL_EXPORTER_OTLP_HEADERS: `a` has a value that headers cannot have",
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

    fn switches(
        requested: bool,
        set: &[(&str, &str)],
    ) -> Result<Option<EventSwitches>, EventSettingsError> {
        EventSwitches::read(requested, &|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn events_are_exported_on_request_unless_disabled() {
        let on = Ok(Some(EventSwitches { explanation: false }));
        let off = Ok(None);
        assert_eq!(switches(false, &[]), off);
        assert_eq!(switches(true, &[]), on);
        assert_eq!(switches(false, &[(ENABLE, " Yes ")]), on);
        assert_eq!(switches(true, &[(ENABLE, "0")]), on);
        assert_eq!(switches(true, &[("OTEL_SDK_DISABLED", "True")]), off);
        assert_eq!(switches(true, &[("OTEL_SDK_DISABLED", "maybe")]), on);
        assert_eq!(switches(true, &[("OTEL_LOGS_EXPORTER", "None")]), off);
        assert_eq!(switches(true, &[("OTEL_LOGS_EXPORTER", "otlp")]), on);
        let explained = Ok(Some(EventSwitches { explanation: true }));
        assert_eq!(switches(true, &[(EXPLANATION, "on")]), explained);
        assert_eq!(switches(false, &[(EXPLANATION, "on")]), off);
    }

    #[test]
    fn invalid_switches_are_errors_even_if_nothing_is_exported() {
        for variable in [ENABLE, EXPLANATION] {
            let error =
                switches(false, &[(variable, "2"), ("OTEL_SDK_DISABLED", "1")]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{variable} must be one of true/false/1/0/yes/no/on/off (got: \"2\")")
            );
        }
    }

    fn resource(set: &[(&str, &str)]) -> Vec<(String, String)> {
        read(set).unwrap().resource
    }

    fn value<'a>(attributes: &'a [(String, String)], key: &str) -> &'a str {
        let mut found = attributes.iter().filter(|(known, _)| known == key);
        let value = &found.next().unwrap().1;
        assert!(found.next().is_none(), "{key} is repeated");
        value
    }

    #[test]
    fn the_environment_replaces_attributes_of_the_process() {
        assert_eq!(value(&resource(&[]), "service.name"), "agentevals");
        let given = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a, team = x%2Cy ,service.version=9");
        let attributes = resource(&[given]);
        assert_eq!(value(&attributes, "service.name"), "a");
        assert_eq!(value(&attributes, "team"), "x,y");
        assert_eq!(value(&attributes, "service.version"), "9");
        let attributes = resource(&[given, ("OTEL_SERVICE_NAME", "b")]);
        assert_eq!(value(&attributes, "service.name"), "b");
        let error = read(&[("OTEL_RESOURCE_ATTRIBUTES", "a=1,b")]).unwrap_err().to_string();
        assert_eq!(error, "OTEL_RESOURCE_ATTRIBUTES: `b` is not KEY=VALUE");
    }

    #[test]
    fn every_process_has_its_own_random_id() {
        let id = random_id();
        assert_ne!(id, random_id());
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
    }
}
