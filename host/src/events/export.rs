//! Exports events to a collector in batches, with retries: over HTTP with ureq, over gRPC with tonic.

use std::{
    error::Error,
    fmt::Display,
    io::{self, Write},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use flate2::{Compression, write::GzEncoder};
use prost::Message;
use tonic::{
    Code, Status,
    client::Grpc,
    codec::CompressionEncoding,
    metadata::MetadataMap,
    transport::{self, Endpoint},
};
use tonic_prost::ProstCodec;
use ureq::{
    Agent,
    http::{self, HeaderValue, header, uri::PathAndQuery},
};

use super::{
    EventRecord, EventSettingsError, Variables,
    otlp::{PartialSuccess, Request, Response},
    settings::{Protocol, Settings},
};

/// Pause before a request is repeated for the first time; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Shortest pause, even if the collector asks for a shorter one.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// Characters of the reason in an error.
const MAX_REASON: usize = 400;

/// Exports events to a collector, configured by the standard variables of OpenTelemetry.
///
/// | variable | value | default |
/// |---|---|---|
/// | `OTEL_EXPORTER_OTLP_LOGS_ENDPOINT` | the URL | that of the next variable |
/// | `OTEL_EXPORTER_OTLP_ENDPOINT` | the URL, `/v1/logs` is added (not for gRPC) | `http://localhost:4318`, for gRPC 4317 |
/// | `.._PROTOCOL` | `http/protobuf`, `http/json` or `grpc` | `http/protobuf` |
/// | `.._HEADERS` | `KEY=VALUE,..`, percent-encoded | none |
/// | `.._TIMEOUT` | milliseconds for one request, repetitions included | 10000 |
/// | `.._COMPRESSION` | `gzip` or `none` | `none` |
/// | `.._CERTIFICATE`, `.._CLIENT_CERTIFICATE`, `.._CLIENT_KEY` | PEM files | the public authorities, none |
/// | `OTEL_EXPORTER_OTLP_INSECURE` | `true` for gRPC without TLS, where the endpoint has no scheme | `false` |
/// | `OTEL_BLRP_MAX_EXPORT_BATCH_SIZE` | records in one request | 512 |
/// | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | attributes of the exporting process | `agentevals` |
///
/// `OTEL_LOGS_EXPORTER` has one effective value, `none`; see [`EventSwitches`](super::EventSwitches). Each
/// `OTEL_EXPORTER_OTLP_LOGS_..` takes precedence over its `OTEL_EXPORTER_OTLP_..`. The other `OTEL_BLRP_..` configure a queue;
/// this program has no queue, since everything is exported when the run is over.
#[derive(Debug)]
pub struct Exporter {
    settings: Settings,
}

/// Events were not exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{missing} evaluation {} not sent to {endpoint}: {reason}",
    if *.missing == 1 { "event was" } else { "events were" }
)]
#[non_exhaustive]
pub struct ExportError {
    /// URL of the collector.
    pub endpoint: String,
    /// Number of events that did not arrive.
    pub missing: usize,
    /// Cause, in one line.
    pub reason: String,
}

impl Exporter {
    /// Reads the settings. Sends nothing.
    ///
    /// # Errors
    ///
    /// A variable has a value that cannot be used.
    pub fn new(variables: Variables<'_>) -> Result<Self, EventSettingsError> {
        Ok(Self { settings: Settings::read(variables)? })
    }

    /// Sends the events in batches, one of which is in memory at a time. Blocks, for each batch until the timeout at most;
    /// must not be called in an async runtime.
    ///
    /// # Errors
    ///
    /// Some events did not arrive, were refused by the collector, or could not be read. After a request that failed, no
    /// further one is sent.
    pub fn export(
        &self,
        records: impl IntoIterator<Item = io::Result<EventRecord>>,
    ) -> Result<(), ExportError> {
        let Settings { batch_size, resource, .. } = &self.settings;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_nanos()).unwrap_or_default();
        let (mut refused, mut why) = (0, String::new());
        let mut records = records.into_iter().fuse();
        loop {
            let mut taken = 0;
            let batch = records.by_ref().take(batch_size.get()).inspect(|_| taken += 1);
            let batch: Result<Vec<EventRecord>, io::Error> = batch.collect();
            if taken == 0 {
                break;
            }
            let sent = batch
                .map_err(|error| error.to_string())
                .and_then(|batch| self.send(&Request::new(&batch, resource, now)));
            let PartialSuccess { rejected_log_records, error_message } =
                sent.map_err(|reason| {
                    self.error(refused + taken + records.by_ref().count(), &reason)
                })?;
            refused += usize::try_from(rejected_log_records).unwrap_or(0).min(taken);
            if why.is_empty() {
                why = error_message;
            }
        }
        match (refused, why.trim()) {
            (0, _) => Ok(()),
            (_, "") => Err(self.error(refused, "the collector refused them without a reason")),
            (_, why) => Err(self.error(refused, &format!("the collector refused them: {why}"))),
        }
    }

    fn error(&self, missing: usize, reason: &str) -> ExportError {
        // Most of the text may come from the collector, which may repeat what it was sent.
        let reason = self.settings.redactor.redact(reason);
        let one_line = |c: char| if c.is_control() { ' ' } else { c };
        let mut reason: String = reason.chars().map(one_line).collect();
        if let Some((end, _)) = reason.char_indices().nth(MAX_REASON) {
            reason.truncate(end);
            reason.push_str("..");
        }
        ExportError { endpoint: self.settings.endpoint.clone(), missing, reason }
    }

    /// Sends one request, and repeats it while that is permitted and time is left.
    fn send(&self, request: &Request) -> Result<PartialSuccess, String> {
        let timeout = self.settings.timeout;
        let start = Instant::now();
        let left = || timeout.saturating_sub(start.elapsed());
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match send(&self.settings, request, left()) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if left().is_zero() {
                return Err(format!(
                    "no answer within {} ms, the limit for a request (OTEL_EXPORTER_OTLP_TIMEOUT)",
                    timeout.as_millis()
                ));
            }
            match error {
                SendError::Permanent(reason) => return Err(reason),
                SendError::Retryable { reason, after } => {
                    // A collector may ask for any time, from zero to centuries.
                    let wait = after.unwrap_or(pause).max(SHORTEST_PAUSE);
                    if wait >= left() {
                        return Err(reason);
                    }
                    thread::sleep(wait);
                    pause = pause.saturating_mul(2);
                }
            }
        }
    }
}

const USER_AGENT: &str = concat!("evaluator/", env!("CARGO_PKG_VERSION"));
const GRPC_METHOD: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
/// Longest timeout that is announced to a collector.
const MAX_GRPC_TIMEOUT: Duration = Duration::from_secs(99_999_999);
/// Bytes of an HTTP response that are read.
const MAX_RESPONSE: u64 = 1 << 20;
/// Characters of an HTTP response that are part of an error.
const MAX_SHOWN: usize = 200;

/// A request failed.
#[derive(Debug)]
enum SendError {
    /// It may succeed if it is repeated, after this time if the collector names one.
    Retryable { reason: String, after: Option<Duration> },
    /// It fails in the same way if it is repeated.
    Permanent(String),
}

/// Sends a request once, within the time that is left.
fn send(
    settings: &Settings,
    request: &Request,
    left: Duration,
) -> Result<PartialSuccess, SendError> {
    match settings.protocol {
        Protocol::HttpProtobuf => {
            let body = request.encode_to_vec();
            let response = post(settings, "application/x-protobuf", body, left)?;
            PartialSuccess::from_protobuf(&response).ok_or_else(|| not_otlp(&response))
        }
        Protocol::HttpJson => {
            let body = serde_json::to_vec(request).map_err(permanent)?;
            let response = post(settings, "application/json", body, left)?;
            PartialSuccess::from_json(&response).ok_or_else(|| not_otlp(&response))
        }
        Protocol::Grpc => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(permanent)?;
            let call = async { tokio::time::timeout(left, call(settings, request, left)).await };
            let result = runtime.block_on(call).map_err(permanent).flatten();
            // The lookup of a name may still block a thread.
            runtime.shutdown_background();
            result
        }
    }
}

/// Returns the error of an answer with a good status that no collector gives, such as the page of a login.
fn not_otlp(answer: &[u8]) -> SendError {
    permanent(format!("the answer is not that of an OTLP collector: {}", beginning(answer)))
}

/// Returns the beginning of an answer, for errors.
fn beginning(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer).trim().chars().take(MAX_SHOWN).collect()
}

fn permanent(error: impl Display) -> SendError {
    SendError::Permanent(error.to_string())
}

/// Returns the last source of an error, since tonic's own text for all of them is "transport error".
fn root_cause(error: impl Error) -> SendError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    SendError::Permanent(text)
}

fn post(
    settings: &Settings,
    content_type: &'static str,
    body: Vec<u8>,
    left: Duration,
) -> Result<Vec<u8>, SendError> {
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        // Headers may be secret, so redirects are not followed.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(left))
        .tls_config(settings.http_tls.clone())
        .user_agent(USER_AGENT)
        .build()
        .into();
    let body = if settings.gzip { gzip(&body).map_err(permanent)? } else { body };
    let mut request = http::Request::post(&settings.uri).body(body).map_err(permanent)?;
    request.headers_mut().clone_from(&settings.headers);
    request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if settings.gzip {
        request.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let mut response = agent.run(request).map_err(permanent)?;
    let answer = response.body_mut().with_config().limit(MAX_RESPONSE).read_to_vec();
    let status = response.status();
    if status.is_success() {
        return answer.map_err(permanent);
    }
    let answer = answer.unwrap_or_default();
    let text = beginning(&answer);
    let separator = if text.is_empty() { "" } else { ": " };
    let reason = format!("HTTP status {status}{separator}{text}");
    // OTLP permits no other request to be repeated.
    if !matches!(status.as_u16(), 429 | 502..=504) {
        return Err(SendError::Permanent(reason));
    }
    let after = response.headers().get(header::RETRY_AFTER).and_then(|it| it.to_str().ok());
    let after = after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    Err(SendError::Retryable { reason, after })
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body)?;
    encoder.finish()
}

async fn call(
    settings: &Settings,
    message: &Request,
    left: Duration,
) -> Result<PartialSuccess, SendError> {
    let channel = endpoint(settings).map_err(root_cause)?.connect().await.map_err(root_cause)?;
    let mut client = Grpc::new(channel);
    if settings.gzip {
        client = client.send_compressed(CompressionEncoding::Gzip);
    }
    client.ready().await.map_err(root_cause)?;
    let mut request = tonic::Request::new(message.clone());
    *request.metadata_mut() = MetadataMap::from_headers(settings.headers.clone());
    // Its header has eight digits at most.
    request.set_timeout(left.min(MAX_GRPC_TIMEOUT));
    let codec = ProstCodec::<Request, Response>::default();
    let method = PathAndQuery::from_static(GRPC_METHOD);
    match client.unary(request, method, codec).await {
        Ok(response) => Ok(response.into_inner().partial_success.unwrap_or_default()),
        // The collector did not send this status: the connection failed.
        Err(status) if status.source().is_some() => Err(root_cause(status)),
        Err(status) => Err(refused(&status)),
    }
}

fn endpoint(settings: &Settings) -> Result<Endpoint, transport::Error> {
    let uri = &settings.uri;
    let endpoint = Endpoint::from(uri.clone()).user_agent(USER_AGENT)?;
    if uri.scheme_str() != Some("https") {
        return Ok(endpoint);
    }
    // Brackets around an IPv6 address are not part of the name in a certificate.
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    endpoint.tls_config(settings.grpc_tls.clone().domain_name(host))
}

fn refused(status: &Status) -> SendError {
    use Code::{Aborted, Cancelled, DataLoss, DeadlineExceeded, OutOfRange, Unavailable};
    let message = status.message();
    let separator = if message.is_empty() { "" } else { ": " };
    let reason = format!("gRPC status {}{separator}{message}", i32::from(status.code()));
    match status.code() {
        // OTLP permits no other request to be repeated.
        Cancelled | DeadlineExceeded | Aborted | OutOfRange | Unavailable | DataLoss => {
            SendError::Retryable { reason, after: None }
        }
        _ => SendError::Permanent(reason),
    }
}
