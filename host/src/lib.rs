//! Loads recorded agent traces, runs evaluators over them and reports verdicts.
//!
//! Data flows one way, and each stage is a module with a plain data type between it and the next:
//!
//! | stage | module | gives |
//! |---|---|---|
//! | load | [`trace`] | [`trace::Trace`]: spans, logs and warnings of one trace id |
//! | extract | [`conversation`] | [`conversation::Conversation`]: turns, LLM calls, tool calls |
//! | match | [`eval_set`] | the golden case of a conversation |
//! | plan | [`run`] | evaluator x conversation, everything checked and prepared |
//! | execute | [`process`], [`pool`], [`linked`], [`metric`] | what happened to one evaluation |
//! | validate | [`verdict`] | [`verdict::Verdict`]: an answer, or how the evaluator broke |
//! | report | [`report`] | the report of a whole run, and the run file that it is read from |
//! | tell | [`events`] | results as log records of OpenTelemetry, on request |
//! | serve | `serve` (a feature) | evaluators over HTTP, for hosts that send documents themselves |
//!
//! Besides, [`hosts`] knows the other systems that call evaluators, and [`validate`] checks what is to be published.
//!
//! A failing evaluator is a [`verdict::Verdict`], never an error of this crate; errors are one enum per module.
//! Nothing here prints or ends the process.

pub mod config;
pub mod events;
pub mod index;
pub mod own_tests;
pub use evaluator_hosts as hosts;
pub use evaluator_json as json;
use evaluator_launch::{clock, panic};
pub use evaluator_launch::{executor, files, process, runtime};
pub use evaluator_traces::{conversation, eval_set, trace};
pub mod linked;
pub mod manifest;
pub mod metric;
pub mod pool;
pub mod report;
pub mod run;
#[cfg(feature = "serve")]
pub mod serve;
pub mod source;
pub mod validate;
pub mod verdict;
