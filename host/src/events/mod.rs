//! Results as log records of OpenTelemetry, one `gen_ai.evaluation.result` per judged span.
//!
//! | file | what |
//! |---|---|
//! | `switch` | whether they were asked for |
//! | `record` | the records of a report |
//! | `otlp`, `resource` | the export request they are sent in |
//! | `export` | where it is sent to, and how |
//!
//! `error.type` has the report's stable names for what went wrong. agentevals has the class of a Python exception there, which
//! says less: its `RuntimeError` is `exited`, `signalled`, `bad_answer` or `prepare_failed` here, its `TimeoutError` is
//! `timed_out`, its `ValueError` is `metric_failed`.
//!
//! A record carries scores and names and, unless an explanation is asked for, no content of the conversation.

mod export;
mod otlp;
mod record;
mod resource;
mod switch;

pub use crate::report::EventContext;
use crate::report::EventTurn;
pub use export::{ExportError, Exporter, SettingsError};
pub use record::{AttributeValue, EventRecord, records};
pub use switch::{BadSwitch, EventSwitches};

/// Reads a variable of the environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;
