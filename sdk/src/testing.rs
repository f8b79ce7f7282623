//! Helpers for the tests of evaluators.
//!
//! A test builds an input, calls the function and checks the result. [`input`] builds one in a
//! line or two. [`run`] and [`run_json`] treat a document as the program does, in this process: they write it,
//! read it, extract the arguments, call the function, and write and read its answer. [`assert_score`] prints the whole result
//! if the score differs.
//!
//! ```
//! use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator, testing};
//!
//! #[evaluator]
//! fn answered(input: &EvalInput) -> EvalResult {
//!     EvalResult::mean_of(input.invocations.iter().map(|turn| {
//!         let answer = turn.final_response.as_deref().unwrap_or_default();
//!         Score::from(!answer.trim().is_empty())
//!     }))
//! }
//!
//! let input = testing::input("answered").turn("Hi", "Hello!").unanswered("Are you there?");
//! testing::assert_score(&answered(&input), 0.5);
//! testing::assert_score(&testing::run(&answered::EVALUATOR, &input)?, 0.5);
//!
//! for (case, input) in testing::edge_cases("answered") {
//!     assert!(answered(&input).score < Score::ONE, "{case}");
//! }
//! # Ok::<(), evaluator_sdk::Failure>(())
//! ```

pub mod agentv;

use std::{fmt::Write as _, ops::Deref};

use evaluator_protocol::{
    EvalInput, EvalResult, Frame, InvocationData, ToolCallData, ToolResponseData,
};
use serde_json::Value;
// Not `Value` as well: its variants would lengthen the names of types in the compiler's messages.
pub use serde_json::json;

use crate::{
    evaluator::Evaluator,
    failure::{Failure, Kind},
    program::{Choice, answer_document},
};

/// Starts an input for the evaluator of that name in the host's configuration.
///
/// ```
/// use evaluator_sdk::testing::{self, json};
///
/// let input = testing::input("trip")
///     .config("max_calls", 3)
///     .turn("Weather in Paris?", "Sunny.")
///     .tool_call("get_weather", json!({"city": "Paris"}))
///     .tool_response("get_weather", json!({"sky": "clear"}))
///     .expected("Weather in Paris?", "It is sunny.")
///     .tool_call("get_weather", json!({"city": "Paris"}));
/// assert_eq!(input.invocations[0].tool_names().collect::<Vec<_>>(), ["get_weather"]);
/// ```
pub fn input(metric_name: impl Into<String>) -> Input {
    Input { document: EvalInput::new(metric_name), last_is_expected: false }
}

/// Returns inputs of an agent that did nothing, with their names: no turns, a turn without an answer, and one with a blank
/// answer. None of them has tool calls. Few evaluators should pass one of these.
///
/// ```
/// use evaluator_sdk::{EvalInput, evaluator, testing};
///
/// /// Passes every agent that says nothing: `all` of no answers is `true`.
/// #[evaluator]
/// fn brief(input: &EvalInput) -> bool {
///     input.invocations.iter().flat_map(|turn| &turn.final_response).all(|text| text.len() < 500)
/// }
///
/// let passed = testing::edge_cases("brief").into_iter().filter(|(_, input)| brief(input));
/// let passed: Vec<&str> = passed.map(|(case, _)| case).collect();
/// assert_eq!(passed, ["no turns", "no answer", "a blank answer"]);
/// ```
pub fn edge_cases(metric_name: &str) -> [(&'static str, Input); 3] {
    [
        ("no turns", input(metric_name)),
        ("no answer", input(metric_name).unanswered("Hello?")),
        ("a blank answer", input(metric_name).turn("Hello?", " \n")),
    ]
}

/// Builder of an input. `&input` can be passed for an `&EvalInput`; [`build`](Input::build) returns the input.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Input {
    document: EvalInput,
    /// Whether the turn added last is a golden turn.
    last_is_expected: bool,
}

impl Input {
    /// Adds a turn: the user's message and the agent's answer.
    pub fn turn(self, user_content: impl Into<String>, final_response: impl Into<String>) -> Self {
        self.invocation(InvocationData::new(user_content, final_response))
    }

    /// Adds a turn that the agent did not answer.
    pub fn unanswered(self, user_content: impl Into<String>) -> Self {
        self.invocation(InvocationData::new(user_content, "").unanswered())
    }

    /// Adds a turn built elsewhere.
    pub fn invocation(mut self, invocation: InvocationData) -> Self {
        self.document = self.document.invocation(invocation);
        self.last_is_expected = false;
        self
    }

    /// Adds a golden turn. The tool calls and responses that follow belong to it.
    pub fn expected(
        mut self,
        user_content: impl Into<String>,
        final_response: impl Into<String>,
    ) -> Self {
        self.document = self.document.expected(InvocationData::new(user_content, final_response));
        self.last_is_expected = true;
        self
    }

    /// Adds a tool call to the turn added last. `args` is a JSON object; anything else counts as no arguments.
    pub fn tool_call(self, name: impl Into<String>, args: Value) -> Self {
        let mut call = ToolCallData::new(name);
        if let Value::Object(args) = args {
            call.args = args;
        }
        self.edit(|turn| turn.tool_call(call))
    }

    /// Adds a tool response to the turn added last.
    pub fn tool_response(self, name: impl Into<String>, response: impl Into<Value>) -> Self {
        let response = ToolResponseData::new(name, response);
        self.edit(|turn| turn.tool_response(response))
    }

    /// Sets the threshold.
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.document = self.document.threshold(threshold);
        self
    }

    /// Sets one key of the config.
    pub fn config(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.document = self.document.config(key, value);
        self
    }

    /// Returns the finished input.
    pub fn build(self) -> EvalInput {
        self.document
    }

    /// Changes the turn added last; without any, one is added first.
    fn edit(mut self, change: impl FnOnce(InvocationData) -> InvocationData) -> Self {
        let turns = if self.last_is_expected {
            self.document.expected_invocations.get_or_insert_default()
        } else {
            &mut self.document.invocations
        };
        let turn = turns.pop().unwrap_or_default();
        turns.push(change(turn));
        self
    }
}

impl Deref for Input {
    type Target = EvalInput;

    fn deref(&self) -> &EvalInput {
        &self.document
    }
}

impl From<Input> for EvalInput {
    fn from(input: Input) -> Self {
        input.build()
    }
}

/// Returns a target with scripted answers, for evaluators that take a
/// [`TargetClient`](crate::target::TargetClient).
///
/// ```
/// use evaluator_sdk::testing;
///
/// let model = testing::target().answer("yes").answer("no").max_calls(3);
/// let client = model.client();
/// assert_eq!(client.invoke("Is it raining?")?.text()?, "yes");
/// assert_eq!(client.info()?.remaining_calls(), 2);
/// assert_eq!(model.requests()[0].question, "Is it raining?");
/// # Ok::<(), evaluator_sdk::target::TargetError>(())
/// ```
#[cfg(feature = "target")]
pub fn target() -> crate::target::FakeTarget {
    crate::target::FakeTarget::new()
}

/// Has an evaluator judge an input as its program would, in this process.
///
/// # Errors
///
/// The errors of the program: [`Failure`] when an argument cannot be extracted from the input, the evaluator returns an
/// error or panics, or its result cannot be written.
pub fn run(evaluator: &Evaluator, input: &EvalInput) -> Result<EvalResult, Failure> {
    let document = serde_json::to_vec(input).map_err(|error| {
        Failure::of(Kind::Input, format!("the input cannot be written as JSON: {error}"))
    })?;
    run_json(evaluator, document)
}

/// Has an evaluator judge a document as its program would, in this process.
///
/// # Errors
///
/// Those of [`run`], and [`Failure`] when the document cannot be read, or is not answered by an [`EvalResult`], as those of
/// other contracts are: see [`answer_json`].
pub fn run_json(evaluator: &Evaluator, document: impl AsRef<[u8]>) -> Result<EvalResult, Failure> {
    let line = line(evaluator, document.as_ref())?;
    match Frame::from_line(&line).map_err(|error| unwritable(&error))? {
        Frame::Result(result) => Ok(result),
        Frame::Error(body) => Err(unwritable(&body.message)),
    }
}

/// Like [`run_json`], for documents of any contract. Returns the answer as the program writes it.
///
/// # Errors
///
/// Those of [`run`], and [`Failure`] when the document cannot be read.
pub fn answer_json(evaluator: &Evaluator, document: impl AsRef<[u8]>) -> Result<Value, Failure> {
    let line = line(evaluator, document.as_ref())?;
    serde_json::from_slice(&line).map_err(|error| unwritable(&error))
}

fn line(evaluator: &Evaluator, document: &[u8]) -> Result<Vec<u8>, Failure> {
    line_of(Choice::one(evaluator), document)
}

fn line_of(choice: Choice<'_>, document: &[u8]) -> Result<Vec<u8>, Failure> {
    let answer = answer_document(choice, document).map_err(|failed| failed.failure)?;
    answer.to_line().map_err(|error| unwritable(&error))
}

fn unwritable(error: &dyn std::fmt::Display) -> Failure {
    Failure::of(Kind::Answer, format!("the result does not survive being written: {error}"))
}

/// Asserts that a result has this score, but for rounding (1e-9).
///
/// # Panics
///
/// If the result has another score. The message has the scores of the turns and the details.
#[track_caller]
pub fn assert_score(result: &EvalResult, expected: f64) {
    let score = result.score.get();
    assert!((score - expected).abs() <= 1e-9, "{}", difference(result, expected));
}

fn difference(result: &EvalResult, expected: f64) -> String {
    let mut text = format!("the score is {}, expected {expected}", result.score);
    // Writing to a string does not fail.
    let mut line = |label: &str, value: &dyn std::fmt::Display| {
        let _ = write!(text, "\n  {label}: {value}");
    };
    if let Some(status) = result.status {
        line("status", &format_args!("{status:?}"));
    }
    for (index, score) in result.per_invocation_scores.iter().enumerate() {
        match score {
            Some(score) => line(&format!("turn {index}"), score),
            None => line(&format!("turn {index}"), &"not scored"),
        }
    }
    for (key, value) in result.details.iter().flatten() {
        line(key, value);
    }
    text
}

#[cfg(test)]
mod tests {
    use evaluator_protocol::{EvalStatus, Score};
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_calls_belong_to_the_turn_added_last() {
        let input = input("m")
            .turn("a", "b")
            .expected("a", "c")
            .tool_call("golden", json!({"x": 1}))
            .turn("d", "e")
            .tool_call("made", json!(null))
            .build();
        let names =
            |turn: &InvocationData| turn.tool_names().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            input.invocations.iter().map(names).collect::<Vec<_>>(),
            [vec![], vec!["made".to_owned()]]
        );
        assert_eq!(names(&input.expected_invocations.unwrap()[0]), ["golden"]);
    }

    #[test]
    fn a_wrong_score_shows_the_whole_result() {
        let result = EvalResult::mean_of([Score::ONE, Score::ZERO])
            .status(EvalStatus::Failed)
            .detail("issues", json!(["too short"]));
        assert_eq!(
            difference(&result, 1.0),
            "the score is 0.5, expected 1\n  status: Failed\n  turn 0: 1\n  turn 1: 0\n  issues: [\"too short\"]"
        );
    }
}
