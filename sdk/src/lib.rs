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
//! - [High-level features](#high-level-features)
//! - [Evaluators](#evaluators)
//! - [Arguments](#arguments)
//! - [Settings](#settings)
//! - [Results](#results)
//! - [Errors](#errors)
//! - [Testing](#testing)
//! - [Async evaluators](#async-evaluators)
//! - [Several evaluators in one program](#several-evaluators-in-one-program)
//! - [The program](#the-program)
//! - [Streaming](#streaming)
//! - [Contracts](#contracts)
//! - [Models](#models)
//! - [Features](#features)
//! - [Versions](#versions)
//!
//! # High-level features
//!
//! - An evaluator is a plain function: call it in tests, without a process and without JSON.
//! - Arguments are matched by type. Wrong ones are compile errors that name the types to use.
//! - A score is finite and in `0.0..=1.0`, by type.
//! - An error, a panic or a crash is reported as an error of the evaluator, never as a score of the agent.
//! - One program serves every host, and a host may keep it running, which takes microseconds per document.
//! - A first build takes seconds: the default features have few dependencies, and no async runtime.
//!
//! # Evaluators
//!
//! The attribute [`#[evaluator]`](macro@evaluator) leaves the function as it is and adds a type of the same name:
//! `name::run()` is the program around the function, and `name::EVALUATOR` is the evaluator as a value. The doc comment is
//! the description that hosts show.
//!
//! ```
//! use evaluator_sdk::{EvalInput, evaluator};
//!
//! /// Passes if the agent used a tool.
//! #[evaluator(name = "tools-used")]
//! fn tools_used(input: &EvalInput) -> bool {
//!     input.invocations.iter().any(|turn| turn.tool_names().next().is_some())
//! }
//!
//! assert_eq!(tools_used::EVALUATOR.name(), "tools-used");
//! assert_eq!(tools_used::EVALUATOR.description(), "Passes if the agent used a tool.");
//! ```
//!
//! # Arguments
//!
//! An evaluator takes the parts of the document that it needs, in any order. Each type that implements [`FromInput`] can be an
//! argument:
//!
//! | argument | value |
//! |---|---|
//! | [`&EvalInput`](EvalInput) | the whole document |
//! | [`Config<T>`](Config) | the [settings](#settings) in the host's configuration |
//! | [`Invocations`] | the turns of the conversation |
//! | [`Trajectory`] | the turns with their tool calls; not evaluated if the host does not report tool calls |
//! | [`Expected`] | the golden turns; not evaluated without any |
//! | [`Threshold`], [`MetricName`] | the threshold and the name in the host's configuration |
//! | `Option` of one of these | `None` if the document has no such value |
//!
//! ```
//! use evaluator_sdk::{Expected, Invocations, Score, evaluator, testing};
//!
//! /// Scores how many answers are the golden ones.
//! #[evaluator]
//! fn exact(turns: Invocations<'_>, golden: Expected<'_>) -> Result<Score, &'static str> {
//!     let same = turns.iter().zip(golden).filter(|(turn, golden)| turn.final_response == golden.final_response);
//!     Score::checked_ratio(same.count(), golden.len().max(turns.len())).ok_or("the conversation has no turns")
//! }
//!
//! let input = testing::input("exact").turn("Hi", "Hello").expected("Hi", "Hello");
//! testing::assert_score(&testing::run(&exact::EVALUATOR, &input)?, 1.0);
//! # Ok::<(), evaluator_sdk::Failure>(())
//! ```
//!
//! A type of your own shares code between evaluators. Its [`Rejection`] names the part of the document that is missing:
//!
//! ```
//! use evaluator_sdk::{Context, FromInput, Rejection, evaluator, testing};
//!
//! /// The agent's last answer.
//! struct Answer<'a>(&'a str);
//!
//! impl<'a> FromInput<'a> for Answer<'a> {
//!     fn from_input(context: &'a Context) -> Result<Self, Rejection> {
//!         let last = context.input().invocations.last().and_then(|turn| turn.final_response.as_deref());
//!         last.map(Self).ok_or_else(|| Rejection::new("invocations", "the last turn has no answer"))
//!     }
//! }
//!
//! #[evaluator]
//! fn polite(answer: Answer<'_>) -> bool {
//!     answer.0.contains("please")
//! }
//!
//! let failure = testing::run(&polite::EVALUATOR, &testing::input("polite").unanswered("Hi")).unwrap_err();
//! assert!(failure.message().contains("the last turn has no answer"));
//! ```
//!
//! # Settings
//!
//! [`Config<T>`](Config) reads the `config:` of the host's configuration with serde. A value of the wrong type, and with
//! `deny_unknown_fields` a key that `T` does not have, is an error of the kind `config`, with the path of the key.
//!
//! ```
//! use evaluator_sdk::{Config, EvalInput, evaluator, testing};
//!
//! #[derive(Default, serde::Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Settings {
//!     max_calls: usize,
//! }
//!
//! /// Passes if no turn has more tool calls than the setting `max_calls`.
//! #[evaluator]
//! fn thrifty(input: &EvalInput, settings: Config<Settings>) -> bool {
//!     input.invocations.iter().all(|turn| turn.tool_names().count() <= settings.max_calls)
//! }
//!
//! let turn = testing::input("thrifty").turn("Hi", "Hello").tool_call("greet", testing::json!({}));
//! assert!(!thrifty(&turn, Config(Settings { max_calls: 0 })));
//! testing::assert_score(&testing::run(&thrifty::EVALUATOR, &turn.clone().config("max_calls", 1))?, 1.0);
//! let failure = testing::run(&thrifty::EVALUATOR, &turn.config("max_cals", 1)).unwrap_err();
//! assert_eq!(failure.kind(), "config");
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
//! # Several evaluators in one program
//!
//! [`run_any`] serves several evaluators. The name in the host's configuration chooses one of them, or the argument
//! `--evaluator NAME`.
//!
//! ```
//! use evaluator_sdk::{Invocations, evaluator, run_any};
//!
//! /// Passes if every turn has an answer.
//! #[evaluator]
//! fn answered(turns: Invocations<'_>) -> bool {
//!     !turns.is_empty() && turns.iter().all(|turn| turn.final_response.is_some())
//! }
//!
//! /// Passes if the conversation has at most five turns.
//! #[evaluator]
//! fn short(turns: Invocations<'_>) -> bool {
//!     (1..=5).contains(&turns.len())
//! }
//!
//! fn main() -> std::process::ExitCode {
//! #   if true { return std::process::ExitCode::SUCCESS; }
//!     run_any(&[answered::EVALUATOR, short::EVALUATOR])
//! }
//! ```
//!
//! # The program
//!
//! Without arguments the program reads one document and writes one answer. `--describe` prints the evaluators of the program
//! as JSON, with the schemas of their settings. Standard output carries answers only: whatever else is printed goes to
//! standard error. See [`program`] for all forms and rules, and [`exit`] for the exit codes.
//!
//! ```
//! use evaluator_sdk::{EvalInput, evaluator, testing};
//!
//! #[evaluator]
//! fn brief(input: &EvalInput) -> bool {
//!     input.invocations.iter().all(|turn| turn.final_response.as_ref().is_some_and(|text| text.len() < 80))
//! }
//!
//! // What the program reads from standard input, and the result that it writes to standard output.
//! let document = r#"{"metric_name": "brief", "invocations": [{"final_response": "Hello!"}]}"#;
//! testing::assert_score(&testing::run_json(&brief::EVALUATOR, document)?, 1.0);
//! # Ok::<(), evaluator_sdk::Failure>(())
//! ```
//!
//! # Streaming
//!
//! With `--stream` the program evaluates one document per line in one process. Hosts choose the form; the function is the
//! same. Data that is expensive to create is created once per process:
//!
//! ```
//! use std::{collections::HashSet, sync::LazyLock};
//! use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator};
//!
//! static RUDE: LazyLock<HashSet<&str>> = LazyLock::new(|| "idiot stupid".split(' ').collect());
//!
//! /// Scores the share of answers without a rude word.
//! #[evaluator]
//! fn polite(input: &EvalInput) -> EvalResult {
//!     // A turn without an answer has no score.
//!     EvalResult::mean_of(input.invocations.iter().map(|turn| {
//!         let answer = turn.final_response.as_ref()?;
//!         Some(Score::from(!answer.split_whitespace().any(|word| RUDE.contains(word))))
//!     }))
//! }
//! # assert_eq!(polite(&evaluator_sdk::testing::input("polite").turn("Hi", "Hello")).score, Score::ONE);
//! ```
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
#![cfg_attr(feature = "target", doc = "```")]
#![cfg_attr(not(feature = "target"), doc = "```ignore")]
//! use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator, testing};
//! use evaluator_sdk::target::{TargetClient, TargetError};
//!
//! /// Passes if the model finds the last question polite. Not evaluated without a model.
//! #[evaluator]
//! fn polite(input: &EvalInput, model: Option<TargetClient>) -> Result<EvalResult, TargetError> {
//!     let Some(model) = model else { return Ok(EvalResult::not_evaluated("there is no model to ask")) };
//!     let question = input.invocations.last().map_or("", |turn| &turn.user_content);
//!     let reply = model.invoke(format!("Is this polite? Reply yes or no: {question}"))?;
//!     Ok(EvalResult::new(Score::from(reply.text()? == "yes")))
//! }
//!
//! let model = testing::target().answer("yes");
//! let result = polite(&testing::input("polite").turn("Please?", "Sure."), Some(model.client()))?;
//! testing::assert_score(&result, 1.0);
//! # Ok::<(), TargetError>(())
//! ```
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
pub use contract::outcome::{IntoFailure, IntoOutcome};
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
pub use program::run_any;
#[cfg(feature = "schema")]
pub use schemars;
