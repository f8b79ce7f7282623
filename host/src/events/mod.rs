//! Results as OpenTelemetry log records, one `gen_ai.evaluation.result` per judged span.
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
