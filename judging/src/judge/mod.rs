//! Metrics that a model judges, without the model: its questions, how replies are read, and the result.
//!
//! A [`Judge`] plans [`Question`]s about a conversation. The caller asks a model each of them as often as the question
//! says, in any order, asks follow-up questions, and hands all answers back. So the number of calls in flight, retries and
//! recordings are the business of the caller alone.
//!
//! ```
//! use evaluator_judging::judge::{Answer, Asked, Case, Criterion, Judge, JudgedTurn, judge};
//! use evaluator_json::{ParseOptions, parse};
//!
//! let turn = r#"{"userContent": {"parts": [{"text": "When?"}]}, "finalResponse": {"parts": [{"text": "At 22:40."}]}}"#;
//! let turn = JudgedTurn::from_adk(&parse(turn, &ParseOptions::default()).unwrap().value)?;
//! let criterion = Criterion { samples: 1, ..Criterion::default() };
//! let case = Case::new(std::slice::from_ref(&turn), &criterion).expecting(std::slice::from_ref(&turn));
//! let judge = judge("final_response_match_v2").unwrap();
//!
//! let planned = judge.plan(&case).unwrap();
//! let question = planned[0].clone();
//! let messages = question.messages().unwrap();
//! assert!(messages.last().unwrap().content.contains("At 22:40."));
//!
//! // A model is asked here.
//! let reply = Answer::text(r#"{"is_the_agent_response_valid": "valid"}"#);
//! let judgement = judge.aggregate(&case, &planned, &[Asked::new(question, vec![reply])]).unwrap();
//! assert_eq!(judgement.score, Some(1.0));
//! # Ok::<(), String>(())
//! ```

mod answer;
mod code;
mod conclusion;
mod criterion;
mod details;
mod final_response_match;
mod hallucinations;
mod judgement;
pub mod llm_judge;
mod material;
mod metric;
mod panel;
mod prompt;
pub mod reply;
mod rubric_final_response;
mod rubric_multi_turn;
mod rubric_tool_use;
mod rubrics;
pub mod scheme;
mod tally;
mod template;
mod user_simulator;
mod votes;

use std::{borrow::Cow, fmt, sync::Arc};

use evaluator_json::Value;
use evaluator_models::Message;
use evaluator_traces::conversation::TurnPart;

use self::template::CODE;

pub use answer::{Answer, Asked, Reply};
pub use code::Code;
pub use conclusion::Conclusion;
pub use criterion::{Criterion, OnDisagreement, OnFailure, Rules};
pub use judgement::{Judgement, RubricScore, Status, TurnJudgement};
pub use material::{
    Agent, Call, Content, Event, JudgedTurn, Part, Response, Rubric, Scenario, Steps,
};
pub use metric::JudgeMetric;
pub use panel::Member;
pub use prompt::{PROMPTS, Prompt, Prompts};
pub use tally::{Cause, Scores, Tally, TurnProblem};
pub use template::{Template, TemplateError};
pub use votes::{Order, Panel, Votes};

/// A metric that a model judges.
pub trait Judge: Send + Sync + fmt::Debug {
    /// Returns the name of the metric.
    fn name(&self) -> &str;

    /// Returns the parts of recorded turns that are judged; the message of the user and the answer by default. A recording
    /// without them cannot be judged.
    fn parts(&self) -> &[TurnPart] {
        &[TurnPart::User, TurnPart::Answer]
    }

    /// Returns true if the judge compares material that can be shown in two orders, so that [`Criterion::swap`] has an effect;
    /// true by default.
    fn can_swap(&self) -> bool {
        true
    }

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

    /// Returns true if the text of a reply to the question can be read.
    fn reads(&self, case: &Case<'_>, question: &Question, reply: &str) -> bool;

    /// Returns the votes in the answers of one model. `planned` is what [`plan`](Self::plan) returned, and `asked` has these
    /// questions in order, each followed by its follow-up question.
    ///
    /// # Errors
    ///
    /// A question was not asked as often as it says, or an answer is missing that the metric cannot do without.
    fn tally(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Tally, Refusal>;

    /// Returns the scores that follow from the votes. `values` has the score of each of the votes of `tally`, in order;
    /// [`Votes::score`] is one of the vote itself, others ask what would follow from another one.
    fn score(&self, case: &Case<'_>, tally: &Tally, values: &[Option<f64>]) -> Scores;

    /// Returns the tally of the answers of one model.
    ///
    /// # Errors
    ///
    /// As [`tally`](Self::tally).
    fn aggregate(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Judgement, Refusal> {
        let tally = self.tally(case, planned, asked)?;
        Ok(Judgement::new(case, tally, |tally, values| self.score(case, tally, values)))
    }

    /// Returns the judgement by the answers of several models. The verdict of each model is one vote, see [`Panel`].
    ///
    /// # Errors
    ///
    /// As [`tally`](Self::tally), if more models fail than [`Criterion::quorum`] allows.
    fn aggregate_panel(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        members: &[Member<'_>],
    ) -> Result<Judgement, Refusal> {
        let tallies = members.iter();
        let tallies = tallies.map(|member| (member.model, self.tally(case, planned, member.asked)));
        let tally = panel::combine(case.criterion, tallies.collect())?;
        Ok(Judgement::new(case, tally, |tally, values| self.score(case, tally, values)))
    }
}

/// Returns all judges that any model can serve.
fn judges() -> [Arc<dyn Judge>; 6] {
    [
        Arc::new(final_response_match::FinalResponseMatch),
        Arc::new(rubric_final_response::FINAL_RESPONSE),
        Arc::new(rubric_tool_use::TOOL_USE),
        Arc::new(rubric_multi_turn::MultiTurn),
        Arc::new(hallucinations::Hallucinations),
        Arc::new(user_simulator::UserSimulator),
    ]
}

/// Returns the judge of that name; `None` if no model can serve a metric of that name.
#[must_use]
pub fn judge(name: &str) -> Option<Arc<dyn Judge>> {
    judges().into_iter().find(|judge| judge.name() == name)
}

/// A conversation that is judged.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Case<'a> {
    /// Turns of the conversation.
    pub actual: &'a [JudgedTurn],
    /// Golden turns, if any.
    pub expected: Option<&'a [JudgedTurn]>,
    /// Scenario of the simulated user, if the user was simulated.
    pub scenario: Option<&'a Scenario>,
    /// Criterion of the judgement.
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
                "the conversation has {actual} turns, the golden case {expected}; the metric needs the same number, \
                 whatever `missing_turns` says"
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
    pub prompt: Cow<'static, str>,
    /// Text of the prompt.
    pub wording: Wording,
    /// Variables of the prompt; none if the messages are complete.
    pub variables: Variables,
    /// Ending of the keys of the verdict; `None` if the prompt does not ask for one.
    pub code: Option<Code>,
    /// JSON Schema of a reply, for servers that can be held to one; `None` if the reply is not JSON.
    pub schema: Option<Value>,
    /// Number of times that it is asked.
    pub samples: usize,
    /// Order of the things that the judge compares.
    pub order: Order,
}

/// Names and values of the variables of a prompt.
pub type Variables = Vec<(&'static str, String)>;

/// Text of a question.
#[derive(Clone, Debug)]
pub enum Wording {
    /// A prompt that is filled in with the variables of the question.
    Template(Arc<Template>),
    /// Messages that are sent as they are.
    Messages(Vec<Message>),
}

impl Question {
    /// Creates a question about a turn that is asked once: a prompt with values for its variables.
    #[must_use]
    pub fn new(turn: usize, prompt: impl Into<Cow<'static, str>>, wording: Wording) -> Self {
        Self {
            turn,
            part: 0,
            prompt: prompt.into(),
            wording,
            variables: Vec::new(),
            code: None,
            schema: None,
            samples: 1,
            order: Order::Plain,
        }
    }

    /// Returns the messages that ask the question.
    ///
    /// # Errors
    ///
    /// The prompt has a variable without a value.
    pub fn messages(&self) -> Result<Vec<Message>, TemplateError> {
        match &self.wording {
            Wording::Template(template) => {
                let code = self.code.iter().map(|code| (CODE, code.as_str().to_owned()));
                let variables: Variables = self.variables.iter().cloned().chain(code).collect();
                template.render(&variables)
            }
            Wording::Messages(messages) => Ok(messages.clone()),
        }
    }

    /// Returns the question without a code, for servers that are held to the schema of the reply. A schema with the code would
    /// be another one for each question, and servers take seconds to prepare a schema.
    #[must_use]
    pub fn without_code(mut self) -> Self {
        if let (Some(code), Wording::Messages(messages)) = (self.code.take(), &mut self.wording) {
            for message in messages {
                message.content = message.content.replace(code.as_str(), "");
            }
        }
        self
    }
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
