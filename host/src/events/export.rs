//! Exports events to a collector in batches, with retries.

use std::{
    io, thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    EventRecord, EventSettingsError, Variables,
    otlp::{PartialSuccess, Request},
    settings::Settings,
    transport::{self, SendError},
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
/// there is none, since everything is exported when the run is over.
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
        // Most of the text may come from the collector.
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
            let error = match transport::send(&self.settings, request, left()) {
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
