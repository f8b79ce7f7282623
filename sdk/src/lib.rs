//! Write evaluators: programs that score what an AI agent did.
//!
//! An evaluator is a function with `#[evaluator]` on it. Tests call the function; the attribute adds a program that reads one
//! JSON document from standard input and writes its answer to standard output. The program recognizes the documents of
//! agentevals, AgentV, Google's ADK and Agenta, and answers each host in its own format.
//!
//! ```
//! use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator};
//!
//! /// Scores the share of turns that the agent answered.
//! #[evaluator]
//! fn answered(input: &EvalInput) -> EvalResult {
//!     EvalResult::mean_of(input.invocations.iter().map(|turn| {
//!         let answer = turn.final_response.as_deref().unwrap_or_default();
//!         Score::from(!answer.trim().is_empty())
//!     }))
//! }
//!
//! fn main() -> std::process::ExitCode {
//! #   if true { return std::process::ExitCode::SUCCESS; }
//!     answered::run()
//! }
//! ```
//!
//! # Table of contents
//!
//! - [Arguments](#arguments)
//! - [Results](#results)
//! - [Errors](#errors)
//! - [Testing](#testing)
//! - [Async evaluators](#async-evaluators)
//! - [The program](#the-program)
//! - [Contracts](#contracts)
//! - [Models](#models)
//! - [Features](#features)
//!
//! # Arguments
//!
//! An evaluator takes the parts of the document that it needs, in any order. Each type that implements [`FromInput`] can be an
//! argument: the document ([`EvalInput`]), the settings of the host's configuration ([`Config`]), the turns
//! ([`Invocations`]), the turns with their tool calls ([`Trajectory`]), the golden turns ([`Expected`]), an `Option` of one of
//! these, or a type of your own.
//!
//! ```
//! use evaluator_sdk::{Config, Expected, Invocations, Score, evaluator, testing};
//!
//! #[derive(Default, serde::Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Settings {
//!     ignore_case: bool,
//! }
//!
//! /// Scores how many answers are the golden ones.
//! #[evaluator]
//! fn exact(turns: Invocations<'_>, golden: Expected<'_>, settings: Config<Settings>) -> Result<Score, &'static str> {
//!     let same = turns.iter().zip(golden).filter(|(turn, golden)| {
//!         let answers = [turn, golden].map(|turn| turn.final_response.clone().unwrap_or_default());
//!         let [answer, golden] = if settings.ignore_case { answers.map(|text| text.to_lowercase()) } else { answers };
//!         answer == golden
//!     });
//!     Score::checked_ratio(same.count(), golden.len().max(turns.len())).ok_or("the conversation has no turns")
//! }
//!
//! let input = testing::input("exact").config("ignore_case", true).turn("Hi", "HELLO").expected("Hi", "Hello");
//! testing::assert_score(&testing::run(&exact::EVALUATOR, &input)?, 1.0);
//! # Ok::<(), evaluator_sdk::Failure>(())
//! ```
//!
//! # Results
//!
//! Every type that implements [`IntoOutcome`] can be returned: an [`EvalResult`] with scores of turns and details, a [`Score`],
//! an `f64`, a `bool`, or a `Result` of one of these. A score is finite and in `0.0..=1.0`. "Not evaluated" is neither a pass
//! nor a failure:
//!
//! ```
//! use evaluator_sdk::{EvalInput, EvalResult, EvalStatus, Score, evaluator, testing};
//!
//! /// Scores the share of tool calls that succeeded.
//! #[evaluator]
//! fn tools_succeed(input: &EvalInput) -> EvalResult {
//!     let responses = || input.invocations.iter().flat_map(|turn| &turn.intermediate_steps.tool_responses);
//!     let failed: Vec<&str> = responses().filter(|it| it.is_error()).map(|it| it.name.as_str()).collect();
//!     match Score::checked_ratio(responses().count() - failed.len(), responses().count()) {
//!         Some(score) => EvalResult::new(score).detail("failed", failed),
//!         None => EvalResult::not_evaluated("no tool was called"),
//!     }
//! }
//!
//! let silent = testing::input("tools_succeed").turn("Hi", "Hello!");
//! assert_eq!(tools_succeed(&silent).status, Some(EvalStatus::NotEvaluated));
//! ```
//!
//! # Errors
//!
//! An error means that the evaluator could not judge the conversation. Hosts report it as an error, and never as a score. Any
//! error type can be returned with `?`; a panic is an error as well. [`Failure`] chooses the kind of the error, and
//! [`Rejection`] reports an argument that cannot be extracted.
//!
//! ```
//! use evaluator_sdk::{EvalInput, Score, evaluator, testing};
//!
//! /// Scores the number that the agent answered, in percent.
//! #[evaluator]
//! fn percentage(input: &EvalInput) -> Result<Score, Box<dyn std::error::Error>> {
//!     let turn = input.invocations.last().ok_or("the conversation has no turns")?;
//!     let number: f64 = turn.final_response.as_deref().unwrap_or_default().trim().parse()?;
//!     Ok(Score::new(number / 100.0)?)
//! }
//!
//! let failure = testing::run(&percentage::EVALUATOR, &testing::input("percentage").turn("How sure?", "Very.")).unwrap_err();
//! assert_eq!((failure.kind(), failure.message()), ("evaluator", "invalid float literal"));
//! ```
//!
//! # Testing
//!
//! The function is called directly, or as its program would call it. The module [`testing`] builds inputs, compares
//! results, and provides inputs of an agent that did nothing, which few evaluators should pass.
//!
//! ```
//! use evaluator_sdk::{EvalInput, Score, evaluator, testing};
//!
//! /// Passes if every answer is short.
//! #[evaluator]
//! fn brief(input: &EvalInput) -> bool {
//!     let short = |answer: &Option<String>| answer.as_ref().is_some_and(|text| !text.trim().is_empty() && text.len() < 80);
//!     !input.invocations.is_empty() && input.invocations.iter().all(|turn| short(&turn.final_response))
//! }
//!
//! assert!(brief(&testing::input("brief").turn("Hi", "Hello!")));
//! for (case, input) in testing::edge_cases("brief") {
//!     testing::assert_score(&testing::run(&brief::EVALUATOR, &input)?, 0.0);
//! #   let _ = case;
//! }
//! # Ok::<(), evaluator_sdk::Failure>(())
//! ```
//!
//! # Async evaluators
//!
//! The function may be `async`. With the feature `tokio` it runs on a tokio runtime with timers and I/O; without it, on an
//! executor that has neither.
//!
//! ```
//! # async fn ask(_question: &str) -> Result<f64, std::io::Error> { Ok(1.0) }
//! use evaluator_sdk::{EvalInput, evaluator};
//!
//! #[evaluator]
//! async fn judged(input: &EvalInput) -> Result<f64, std::io::Error> {
//!     ask(&format!("Is this polite? {:?}", input.invocations)).await
//! }
//! # assert!(evaluator_sdk::testing::run(&judged::EVALUATOR, &evaluator_sdk::testing::input("judged")).is_ok());
//! ```
//!
//! # The program
//!
//! Without arguments the program evaluates one document. With `--stream` it evaluates one document per line, in one process,
//! which takes microseconds per document; hosts choose the form. `--describe` prints the evaluators of the program as JSON.
//! [`run_any`] serves several evaluators in one program. See [`program`] for all forms and rules, and [`exit`] for the exit
//! codes.
//!
//! # Contracts
//!
//! An evaluator of the default contract serves every host. With `#[evaluator(contract = ..)]` it is written against the contract
//! of one host, and sees everything that this host sends: see [`#[evaluator]`](macro@evaluator#contracts).
//!
//! ```
//! use evaluator_sdk::{Score, agentv::{CodeJudgeInput, CodeJudgeResult}, evaluator, testing};
//!
//! #[evaluator(contract = agentv)]
//! fn cites(input: &CodeJudgeInput) -> CodeJudgeResult {
//!     match input.candidate_answer() {
//!         Some(answer) if answer.contains("[1]") => CodeJudgeResult::new(Score::ONE).hit("cites a source"),
//!         _ => CodeJudgeResult::new(Score::ZERO).miss("cites no source"),
//!     }
//! }
//!
//! let input = CodeJudgeInput::new("Capital of France?", "Paris [1]");
//! testing::agentv::assert_score(&testing::agentv::run(&cites::EVALUATOR, &input)?, 1.0);
//! # Ok::<(), evaluator_sdk::Failure>(())
//! ```
//!
//! # Models
//!
//! Hosts may offer evaluators a model. With the feature `target`, an evaluator can take a `TargetClient`, which sends
//! questions to this model. A `Judge` is a prompt whose answer is checked: see the module `target`.
//!
//! # Features
//!
//! - `tokio`: runs `async` evaluators on a tokio runtime.
//! - `schema`: adds the JSON Schema of [`Config<T>`](Config) to `--describe`, if `T` implements `schemars::JsonSchema`.
//! - `target`: the module `target`, a client for the models that hosts offer to evaluators.
//!
//! A package enables them in its `Cargo.toml`. A lone `.rs` file, which `evaluator run` builds without a package, enables them in
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
#[cfg(feature = "target")]
mod offered;
mod os;
mod outcome;

pub mod contract;
pub mod exit;
pub mod program;
// Many tools ignore directories called `target`, as cargo creates them.
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
