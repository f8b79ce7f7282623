//! Runs evaluators over recorded agent traces and returns a report.
//!
//! # Example
//!
//! A run takes trace files and a configuration. This one has a metric of its own, which the configuration names like a
//! built-in one.
//!
//! ```
//! use std::error::Error;
//!
//! use evaluator_host::{
//!     metric::{Metric, MetricInput, Outcome, Scored},
//!     run::{Request, Runner},
//!     verdict::Standing,
//! };
//!
//! /// Scores 1 for a conversation of at most three turns.
//! #[derive(Debug)]
//! struct Short;
//!
//! impl Metric for Short {
//!     fn name(&self) -> &str {
//!         "short"
//!     }
//!
//!     fn description(&self) -> &str {
//!         "Scores 1 for at most three turns."
//!     }
//!
//!     fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
//!         Outcome::Scored(Scored::new(if input.turns.len() <= 3 { 1.0 } else { 0.0 }))
//!     }
//! }
//!
//! /// An OTLP trace with one model call.
//! const TRACE: &str = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{
//!     "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331", "name": "chat",
//!     "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000",
//!     "attributes": [
//!         {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
//!         {"key": "gen_ai.input.messages", "value": {"stringValue":
//!             "[{\"role\": \"user\", \"parts\": [{\"type\": \"text\", \"content\": \"Hello\"}]}]"}},
//!         {"key": "gen_ai.output.messages", "value": {"stringValue":
//!             "[{\"role\": \"assistant\", \"parts\": [{\"type\": \"text\", \"content\": \"Hi\"}]}]"}}
//!     ]
//! }]}]}]}"#;
//!
//! const CONFIG: &str = "evaluators: [{name: short, type: builtin, threshold: 0.5}]";
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn Error>> {
//!     let mut runner = Runner::default();
//!     runner.registries.metrics.register(Short);
//!
//!     let directory = tempfile::tempdir()?;
//!     let trace = directory.path().join("trace.json");
//!     std::fs::write(&trace, TRACE)?;
//!     let config = runner.parse_config(CONFIG, "evaluators.yaml".as_ref())?;
//!
//!     let report = runner.run(&Request::new([trace], config), &mut |_event| {}).await;
//!     assert_eq!(report.errors, Vec::<String>::new());
//!     assert_eq!(report.standing(), Standing::Passed);
//!     for conversation in &report.conversations {
//!         for evaluation in conversation?.evaluations {
//!             assert_eq!((evaluation.name.as_str(), evaluation.score), ("short", Some(1.0)));
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Entry points
//!
//! | type | purpose |
//! |---|---|
//! | [`run::Runner`] | registries and settings; [`run`](run::Runner::run), [`check`](run::Runner::check), [`examine`](run::Runner::examine) |
//! | [`config::Config`] | a configuration, read by [`Runner::load_config`](run::Runner::load_config) |
//! | [`run::Request`] | trace files and the configuration of one run |
//! | [`report::Report`] | all results; [`standing`](report::Report::standing) decides whether the run passed |
//! | [`run::RunEvent`] | progress, passed to the callback of a run |
//! | [`run::Residents`] | evaluators that stay prepared for documents from outside |
//!
//! Extensions implement one of these traits and are registered in the [`Registries`] of a [`Runner`](run::Runner):
//! [`metric::Metric`], [`linked::LinkedEvaluator`], [`runtime::Runtime`], [`executor::Executor`], [`trace::TraceFormat`],
//! [`source::EvaluatorSource`].
//!
//! # Stages of a run
//!
//! | stage | module | result |
//! |---|---|---|
//! | load | [`trace`] | [`trace::Trace`]: spans, logs and warnings of one trace id |
//! | extract | [`conversation`] | [`conversation::Conversation`]: turns, model calls, tool calls |
//! | match | [`eval_set`] | the golden case of a conversation |
//! | plan | [`run`] | evaluators, fetched, built and checked |
//! | execute | [`process`], [`linked`], [`metric`] | the outcome of one evaluation |
//! | judge | [`verdict`] | [`verdict::Verdict`]: an answer, or the error of the evaluator |
//! | report | [`report`] | [`report::Report`], and the run file that it is read from |
//! | export | [`events`] | results as OpenTelemetry log records, on request |
//!
//! [`hosts`] contains the contracts of other hosts.
//!
//! # Errors
//!
//! The failure of an evaluator is a [`verdict::Verdict`], not an error of this crate. Each module has one error enum. This
//! crate does not print and does not exit the process.

pub mod config;
pub mod events;
pub mod metric;
mod registries;
pub mod run;
pub mod source;

pub use evaluator_document as document;
#[doc(hidden)]
pub use evaluator_engine::pool;
pub use evaluator_engine::{linked, verdict};
pub use evaluator_hosts as hosts;
pub use evaluator_json as json;
pub use evaluator_judging as judging;
use evaluator_launch::panic;
pub use evaluator_launch::{executor, files, process, runtime};
pub use evaluator_models as models;
pub use evaluator_mutation as mutation;
pub use evaluator_results as report;
pub use evaluator_traces::{conversation, eval_set, trace};
pub use registries::Registries;
