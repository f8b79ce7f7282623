//! Sending events to a collector.

mod grpc;
mod http;
mod settings;
mod tls;

use std::{
    io, thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use prost::Message;

pub use settings::SettingsError;
pub(super) use settings::pairs;

use self::settings::{Protocol, Settings};
use super::{EventRecord, Variables, otlp, resource};

/// The first pause before a request is sent again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Characters of the reason in an error.
const MAX_REASON: usize = 400;
/// The shortest pause, even if the collector asks for a shorter one.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// Sends events as the standard variables of OpenTelemetry say.
///
/// | variable | what | default |
/// |---|---|---|
/// | `OTEL_EXPORTER_OTLP_LOGS_ENDPOINT` | the URL | the next one |
/// | `OTEL_EXPORTER_OTLP_ENDPOINT` | the URL, `/v1/logs` is added (not for gRPC) | `http://localhost:4318`, for gRPC 4317 |
/// | `.._PROTOCOL` | `http/protobuf`, `http/json` or `grpc` | `http/protobuf` |
/// | `.._HEADERS` | `KEY=VALUE,..`, percent-encoded | none |
/// | `.._TIMEOUT` | milliseconds for one request, repetitions included | 10000 |
/// | `.._COMPRESSION` | `gzip` or `none` | `none` |
/// | `.._CERTIFICATE`, `.._CLIENT_CERTIFICATE`, `.._CLIENT_KEY` | PEM files | the public authorities, none |
/// | `OTEL_EXPORTER_OTLP_INSECURE` | `true` for gRPC without TLS, where the endpoint has no scheme | `false` |
/// | `OTEL_BLRP_MAX_EXPORT_BATCH_SIZE` | records in one request | 512 |
/// | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | who sends | `agentevals` |
///
/// `OTEL_LOGS_EXPORTER` chooses nothing beyond `none`, which [`EventSwitches`](super::EventSwitches) know: there is this one exporter.
/// Each `OTEL_EXPORTER_OTLP_LOGS_..` comes before its `OTEL_EXPORTER_OTLP_..`. The other `OTEL_BLRP_..` govern a queue, and
/// there is none: everything is sent at once when the run is over.
#[derive(Debug)]
pub struct Exporter {
    settings: Settings,
    resource: Vec<(String, String)>,
}

/// Why events did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} not sent to {endpoint}: {reason}", counted(*.missing))]
pub struct ExportError {
    /// The URL.
    pub endpoint: String,
    /// How many did not arrive.
    pub missing: usize,
    /// What went wrong.
    pub reason: String,
}

fn counted(count: usize) -> String {
    if count == 1 {
        "1 evaluation event was".to_owned()
    } else {
        format!("{count} evaluation events were")
    }
}

/// What is wrong with one request.
#[derive(Debug)]
enum SendError {
    /// It may succeed when it is sent again, after this time if the collector says so.
    Busy { reason: String, after: Option<Duration> },
    /// It will not.
    Failed(String),
}

impl Exporter {
    /// Reads the settings. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A variable has a value that cannot be used.
    pub fn new(variables: Variables<'_>) -> Result<Self, SettingsError> {
        let resource = resource::attributes(variables).map_err(|part| {
            SettingsError::new("OTEL_RESOURCE_ATTRIBUTES", &part, "is not KEY=VALUE")
        })?;
        Ok(Self { settings: Settings::read(variables)?, resource })
    }

    /// The URL that events are sent to.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.settings.endpoint
    }

    /// Sends the events, some hundreds in a request, of which one is in memory at a time. Blocks, for each request as long
    /// as its timeout at most; not to be called inside of an async runtime.
    ///
    /// # Errors
    ///
    /// Some did not arrive, or the collector did not take them, or they could not be had. What comes after a request that
    /// failed is not sent.
    pub fn export(
        &self,
        records: impl IntoIterator<Item = io::Result<EventRecord>>,
    ) -> Result<(), ExportError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_nanos()).unwrap_or_default();
        let (mut refused, mut why) = (0, String::new());
        let mut records = records.into_iter();
        loop {
            let (batch, unreadable) = batch(&mut records, self.settings.batch_size.get());
            if batch.is_empty() && unreadable.is_none() {
                break;
            }
            let unsent = batch.len() + usize::from(unreadable.is_some());
            let answer = match unreadable {
                Some(error) => Err(error.to_string()),
                None => self.send(&otlp::Request::new(&batch, &self.resource, now)),
            };
            let answer = answer.map_err(|reason| {
                self.error(unsent + records.by_ref().count() + refused, reason)
            })?;
            if let Some(partial) = answer.partial_success {
                refused +=
                    usize::try_from(partial.rejected_log_records).unwrap_or(0).min(batch.len());
                if why.is_empty() {
                    why = partial.error_message;
                }
            }
        }
        match (refused, why.trim()) {
            (0, _) => Ok(()),
            (_, "") => {
                Err(self.error(refused, "the collector refused them without a reason".to_owned()))
            }
            (_, why) => Err(self.error(refused, format!("the collector refused them: {why}"))),
        }
    }

    fn error(&self, missing: usize, reason: String) -> ExportError {
        // Much of it was written by the collector.
        let mut reason: String =
            reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if let Some((end, _)) = reason.char_indices().nth(MAX_REASON) {
            reason.truncate(end);
            reason.push_str("..");
        }
        ExportError { endpoint: self.settings.endpoint.clone(), missing, reason }
    }

    /// Sends one request, again as long as there is time and hope.
    fn send(&self, request: &otlp::Request) -> Result<otlp::Response, String> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let left = self.settings.timeout.saturating_sub(start.elapsed());
            let result = match self.settings.protocol {
                Protocol::HttpProtobuf => {
                    http::send(&self.settings, &request.encode_to_vec(), left).map(|answer| {
                        // An answer that is none says nothing of what was refused.
                        otlp::Response::decode(&*answer).unwrap_or_default()
                    })
                }
                Protocol::HttpJson => http::send(&self.settings, &request.to_json(), left)
                    .map(|answer| otlp::Response::from_json(&answer)),
                Protocol::Grpc => grpc::send(&self.settings, &request.encode_to_vec(), left)
                    .map(|answer| otlp::Response::decode(&*answer).unwrap_or_default()),
            };
            match result {
                Ok(answer) => return Ok(answer),
                Err(SendError::Failed(reason)) => return Err(reason),
                Err(SendError::Busy { reason, after }) => {
                    // A collector may ask for any time, the longest and none at all included.
                    let wait = after.unwrap_or(pause).max(SHORTEST_PAUSE);
                    if wait >= self.settings.timeout.saturating_sub(start.elapsed()) {
                        return Err(reason);
                    }
                    thread::sleep(wait);
                    pause = pause.saturating_mul(2);
                }
            }
        }
    }
}

/// The next so many records, or those before one that cannot be had, and why it cannot.
fn batch(
    records: &mut impl Iterator<Item = io::Result<EventRecord>>,
    size: usize,
) -> (Vec<EventRecord>, Option<io::Error>) {
    let mut batch = Vec::new();
    for record in records.take(size) {
        match record {
            Ok(record) => batch.push(record),
            Err(error) => return (batch, Some(error)),
        }
    }
    (batch, None)
}

/// Says that time ran out, and who set the limit.
fn too_late(settings: &Settings) -> String {
    format!(
        "no answer within {} ms, the limit for a request (OTEL_EXPORTER_OTLP_TIMEOUT)",
        settings.timeout.as_millis()
    )
}
