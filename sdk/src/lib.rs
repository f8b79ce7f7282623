//! Write evaluators: programs that score what an AI agent did.
//!
//! An evaluator is a function with `#[evaluator]` on it. The function stays a function, which tests call; beside it there
//! is a program that reads one JSON document from standard input and writes its answer to standard output.
//!
//! ```
//! use evaluator_sdk::{Config, EvalInput, EvalResult, Score, evaluator};
//!
//! #[derive(serde::Deserialize)]
//! struct Settings {
//!     #[serde(default = "ten")]
//!     min_length: usize,
//! }
//!
//! fn ten() -> usize {
//!     10
//! }
//!
//! /// Scores how many of the agent's answers are long enough.
//! #[evaluator]
//! fn response_quality(input: &EvalInput, Config(settings): Config<Settings>) -> EvalResult {
//!     let length = |answer: &Option<String>| answer.as_deref().map_or(0, |text| text.trim().len());
//!     let turns = input.invocations.iter();
//!     EvalResult::mean_of(turns.map(|turn| Score::from(length(&turn.final_response) >= settings.min_length)))
//! }
//!
//! fn main() -> std::process::ExitCode {
//! # if true {
//! #     let input = evaluator_sdk::testing::input("response_quality").turn("Hi", "Good morning!").turn("Bye", "Bye");
//! #     evaluator_sdk::testing::assert_score(&response_quality(&input, Config(Settings { min_length: 10 })), 0.5);
//! #     return std::process::ExitCode::SUCCESS;
//! # }
//!     response_quality::run()
//! }
//! ```
//!
//! # Where to read on
//!
//! | about | see |
//! |---|---|
//! | arguments: the document, settings, golden turns, types of your own | [`FromInput`] |
//! | settings with defaults and checked ranges | [`Config`] |
//! | results: scores, "not evaluated", errors of any type with `?` | [`IntoOutcome`], [`EvalResult`], [`Score`] |
//! | options, `async`, evaluators in the terms of one host | [`#[evaluator]`](macro@evaluator) |
//! | tests: inputs in a line, comparisons, inputs of an agent that did nothing | [`testing`] |
//! | the program: its forms, exit codes, messages | [`program`], [`exit`] |
//! | several evaluators in one program | [`run_any`] |
//!
//! # Features
//!
//! - `tokio`: `async` evaluators run on a tokio runtime. Without it they run on an executor that has no timers and no I/O.
//! - `schema`: puts the JSON Schema of [`Config<T>`](Config) into `--describe`, where `T` implements
//!   `schemars::JsonSchema`.
//! - `target`: the module `target`, a client for the models that hosts offer to evaluators, and judges that are prompts. Brings no
//!   dependency.
//!
//! A package names them in its `Cargo.toml`. A lone `.rs` file, which `evaluator run` builds without a package, names them in
//! its frontmatter; version and path of this crate may be left out there:
//!
//! ```text
//! ---
//! [dependencies]
//! evaluator-sdk = { features = ["tokio", "schema", "target"] }
//! tokio = { version = "1", features = ["time"] }
//! ---
//! ```
//!
//! # Versions
//!
//! The types of [`protocol`] and, with the feature `schema`, of `schemars` are part of this crate's interface: a
//! new major version of one of them is a new major version of this crate.

mod block_on;
mod context;
mod evaluator;
mod extract;
mod failure;
mod log;
mod os;
mod outcome;

pub mod contract;
pub mod exit;
pub mod program;
// Folders called `target` are what cargo makes, and ignored by many tools.
#[cfg(feature = "target")]
#[path = "target_client/mod.rs"]
pub mod target;
pub mod testing;

#[doc(hidden)]
#[path = "support.rs"]
pub mod __private_0_1;

pub use context::Context;
pub use evaluator::{Evaluator, IntoEvaluator};
pub use evaluator_protocol::{
    self as protocol, EvalInput, EvalResult, EvalStatus, IntermediateStepData, IntoScore,
    IntoTurnScore, InvocationData, JsonObject, Score, ScoreCount, ScoreError, ToolCallData,
    ToolResponseData, agenta, agentv,
};
#[doc = include_str!("../docs/evaluator.md")]
pub use evaluator_sdk_macros::evaluator;
pub use extract::{
    Config, ConfigType, Expected, FromInput, Invocations, MetricName, Threshold, Trajectory,
};
pub use failure::{Failure, Rejection};
pub use outcome::{IntoFailure, IntoOutcome};
pub use program::run_any;
#[cfg(feature = "schema")]
pub use schemars;
