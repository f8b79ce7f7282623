//! Metrics that a model judges, without the model: what is asked, how replies are read, and what they amount to.
//!
//! A [`Judge`] plans [`Question`]s about a conversation. The caller asks a model each of them as often as the question
//! says, in any order, asks follow-up questions, and hands all answers back. So the number of calls in flight, retries and
//! recordings are the business of the caller alone.
//!
//! ```
//! use evaluator_metrics::judge::{Answer, Asked, Case, Criterion, Judge, JudgedTurn, judge};
//! use evaluator_json::{ParseOptions, parse};
//!
//! let turn = r#"{"userContent": {"parts": [{"text": "When?"}]}, "finalResponse": {"parts": [{"text": "At 22:40."}]}}"#;
//! let turn = JudgedTurn::from_adk(&parse(turn, &ParseOptions::default()).unwrap().value)?;
//! let criterion = Criterion { samples: 1, ..Criterion::default() };
//! let case = Case::new(std::slice::from_ref(&turn), &criterion).expecting(std::slice::from_ref(&turn));
//! let judge = judge("final_response_match_v2").unwrap();
//!
//! let question = judge.plan(&case).unwrap().remove(0);
//! let prompt = question.messages().unwrap();
//! assert!(prompt.user.contains("At 22:40."));
//!
//! // A model is asked here.
//! let reply = Answer::text(r#"{"is_the_agent_response_valid": "valid"}"#);
//! let judgement = judge.aggregate(&case, &[Asked::new(question, vec![reply])]).unwrap();
//! assert_eq!(judgement.score, Some(1.0));
//! # Ok::<(), String>(())
//! ```

mod answer;
mod conclusion;
mod criterion;
mod details;
mod final_response_match;
mod hallucinations;
mod judgement;
mod material;
mod metric;
mod prompt;
pub mod reply;
mod rubric_final_response;
mod rubric_multi_turn;
mod rubric_tool_use;
mod rubrics;
mod template;
mod user_simulator;
mod votes;

use std::fmt;

pub use answer::{Answer, Asked, Reply};
pub use conclusion::Conclusion;
pub use criterion::{Criterion, OnDisagreement, OnFailure, Rules};
pub use judgement::{Cause, Judgement, RubricScore, Status, Trouble, TurnJudgement};
pub use material::{
    Agent, Call, Content, Event, JudgedTurn, Part, Response, Rubric, Scenario, Steps,
};
pub(crate) use metric::all_metrics;
pub use prompt::{PROMPTS, Prompt};
pub use template::{Messages, Template, TemplateError};
pub use votes::{Order, Panel, Votes, panel};

/// A metric that a model judges.
pub trait Judge: Send + Sync + fmt::Debug {
    /// Returns the name of the metric.
    fn name(&self) -> &'static str;

    /// Returns the questions about a conversation, in order.
    ///
    /// # Errors
    ///
    /// The conversation cannot be judged.
    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal>;

    /// Returns the question that follows from the answers to another one; `None` by default.
    fn follow_up(&self, _case: &Case<'_>, _asked: &Asked) -> Option<Question> {
        None
    }

    /// Returns what the answers amount to. `asked` has the planned questions in order, each followed by its follow-up
    /// question.
    ///
    /// # Errors
    ///
    /// A question was not asked as often as it says, or an answer is missing that the metric cannot do without.
    fn aggregate(&self, case: &Case<'_>, asked: &[Asked]) -> Result<Judgement, Refusal>;
}

/// All judges that any model can serve.
const JUDGES: [&dyn Judge; 6] = [
    &final_response_match::FinalResponseMatch,
    &rubric_final_response::FINAL_RESPONSE,
    &rubric_tool_use::TOOL_USE,
    &rubric_multi_turn::MultiTurn,
    &hallucinations::Hallucinations,
    &user_simulator::UserSimulator,
];

/// Returns the judge of that name; `None` if no model can serve a metric of that name.
#[must_use]
pub fn judge(name: &str) -> Option<&'static dyn Judge> {
    JUDGES.into_iter().find(|judge| judge.name() == name)
}

/// A conversation that is judged.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Case<'a> {
    /// Turns of the conversation.
    pub actual: &'a [JudgedTurn],
    /// Golden turns, if any.
    pub expected: Option<&'a [JudgedTurn]>,
    /// What the simulated user should do, if the user was simulated.
    pub scenario: Option<&'a Scenario>,
    /// How it is judged.
    pub criterion: &'a Criterion,
}

impl<'a> Case<'a> {
    /// Creates a case without golden turns.
    #[must_use]
    pub fn new(actual: &'a [JudgedTurn], criterion: &'a Criterion) -> Self {
        Self { actual, expected: None, scenario: None, criterion }
    }

    /// Adds golden turns.
    #[must_use]
    pub fn expecting(self, expected: &'a [JudgedTurn]) -> Self {
        Self { expected: Some(expected), ..self }
    }

    /// Adds a scenario.
    #[must_use]
    pub fn with_scenario(self, scenario: &'a Scenario) -> Self {
        Self { scenario: Some(scenario), ..self }
    }

    /// Checks that half of the samples can be asked in another order, if they should.
    fn check_samples(&self) -> Result<(), Refusal> {
        let Criterion { samples, swap, .. } = *self.criterion;
        if samples == 0 || (swap && samples % 2 == 1) {
            let even = if swap { "an even number" } else { "at least one" };
            return Err(Refusal::Failed(format!("{samples} samples: {even} is needed")));
        }
        Ok(())
    }

    /// Returns the golden turns, of which there must be as many as turns.
    fn golden_turns(&self) -> Result<Option<&'a [JudgedTurn]>, Refusal> {
        let Some(expected) = self.expected else { return Ok(None) };
        if expected.len() != self.actual.len() {
            let (actual, expected) = (self.actual.len(), expected.len());
            return Err(Refusal::Failed(format!(
                "the conversation has {actual} turns, the golden case {expected}"
            )));
        }
        Ok(Some(expected))
    }
}

/// A question for a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Question {
    /// Index of the turn.
    pub turn: usize,
    /// Index among the questions about the turn.
    pub part: usize,
    /// Name of the prompt.
    pub prompt: &'static str,
    /// Variables of the prompt.
    pub variables: Vec<(&'static str, String)>,
    /// Number of times that it is asked.
    pub samples: usize,
    /// Order of the things that the judge compares.
    pub order: Order,
}

/// Reason why a conversation gets no judgement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is nothing to judge.
    #[error("{0}")]
    NotEvaluated(String),
    /// It cannot be judged. That is an error.
    #[error("{0}")]
    Failed(String),
}

#[cfg(test)]
mod tests;
