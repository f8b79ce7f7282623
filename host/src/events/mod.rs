//! Results as OpenTelemetry log records: a `gen_ai.evaluation.result` per judged span, an `evaluator.gate.result` per gate.
//!
//! | file | contents |
//! |---|---|
//! | `settings` | the environment variables that enable and configure the export |
//! | `record` | the records of a report |
//! | `otlp` | the export request that contains them |
//! | `export` | batches and retries; one request over HTTP or gRPC |
//!
//! `error.type` has the report's stable names of errors. agentevals has the class of a Python exception there, which is less
//! precise: its `RuntimeError` is `exited`, `signalled`, `bad_answer` or `prepare_failed` here, its `TimeoutError` is
//! `timed_out`, its `ValueError` is `metric_failed`.
//!
//! A record contains scores and names, and no content of the conversation unless explanations are enabled.
//!
//! Events are exported after the report, in the foreground and for a bounded time; failures are warnings. Service and
//! scope are called `agentevals`, where users of agentevals look for results. `OTEL_EXPORTER_OTLP_TIMEOUT` is in
//! milliseconds, as OpenTelemetry specifies; the Python exporters read seconds. If a variable has an unusable value,
//! nothing is sent.

mod export;
mod otlp;
mod record;
mod settings;

pub use export::{ExportError, Exporter};
pub use record::{AttributeValue, EventRecord, records};
pub use settings::{EventSettingsError, EventSwitches};

use crate::report::EventTurn;

/// Reads a variable of the environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;
