//! Answers in the terms of the host that asked.

use std::fmt;

use serde::Serialize;

use crate::{EvalResult, EvalStatus, adk, agenta, agentv};

/// An answer of any contract, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Answer {
    /// To agentevals.
    Agentevals(EvalResult),
    /// To AgentV.
    AgentV(Box<agentv::CodeJudgeResult>),
    /// To ADK.
    Adk(Box<adk::EvaluationResult>),
    /// To Agenta.
    Agenta(agenta::Outputs),
}

impl Answer {
    /// The answer as one line of JSON, with its line feed.
    ///
    /// # Errors
    ///
    /// When a detail cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// What of a document decides how it is to be answered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// By an [`EvalResult`] as it is.
    Agentevals,
    /// By a [`CodeJudgeResult`](agentv::CodeJudgeResult).
    AgentV,
    /// By an [`EvaluationResult`](adk::EvaluationResult).
    Adk {
        /// How many turns there are: ADK wants a row for each.
        turns: usize,
        /// The criterion's threshold, if it has one: the evaluator's word on the status is what counts in ADK.
        threshold: Option<f64>,
    },
    /// By an [`EvaluateResult`](agenta::EvaluateResult), or what else the form takes.
    Agenta {
        /// The way in which Agenta asked.
        form: agenta::Form,
        /// Score from which on `success` is true.
        threshold: f64,
    },
}

impl Reply {
    /// What the host is told of a result.
    ///
    /// # Errors
    ///
    /// [`NotEvaluated`]: the evaluator does not judge this conversation, and the host has no word for that. A score would
    /// be one that nobody gave, so the program has to fail.
    pub fn answer(&self, result: EvalResult) -> Result<Answer, NotEvaluated> {
        let not_evaluated = result.status == Some(EvalStatus::NotEvaluated);
        if not_evaluated && matches!(self, Self::AgentV | Self::Agenta { .. }) {
            let reason =
                result.details.as_ref().and_then(|details| details.get("reason")?.as_str());
            return Err(NotEvaluated { reason: reason.unwrap_or_default().to_owned() });
        }
        Ok(match self {
            Self::Agentevals => Answer::Agentevals(result),
            Self::AgentV => {
                Answer::AgentV(Box::new(agentv::CodeJudgeResult::from_eval_result(result)))
            }
            Self::Adk { turns, threshold } => Answer::Adk(Box::new(
                adk::EvaluationResult::from_eval_result(result, *turns, *threshold),
            )),
            Self::Agenta { threshold, .. } => {
                Answer::Agenta(agenta::EvaluateResult::from_eval_result(&result, *threshold).into())
            }
        })
    }

    /// Whether the host can use an answer of an evaluator that is written against its contract.
    ///
    /// # Errors
    ///
    /// [`RowCount`](adk::RowCount): ADK wants a row for each turn.
    pub fn check(&self, answer: &Answer) -> Result<(), adk::RowCount> {
        match (self, answer) {
            (Self::Adk { turns, .. }, Answer::Adk(result)) => result.check_rows(*turns),
            _ => Ok(()),
        }
    }

    /// An answer in the host's terms, completed by what the document says of answers.
    ///
    /// # Errors
    ///
    /// [`Unfit`](agenta::Unfit): the host does not take such an answer to such a document.
    pub fn settle(&self, answer: Answer) -> Result<Answer, agenta::Unfit> {
        match (self, answer) {
            (Self::Agenta { form, threshold }, Answer::Agenta(outputs)) => {
                outputs.settle(*form, *threshold).map(Answer::Agenta)
            }
            (_, answer) => Ok(answer),
        }
    }
}

/// The evaluator does not judge this conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEvaluated {
    /// Why; empty when it did not say.
    pub reason: String,
}

impl fmt::Display for NotEvaluated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not evaluated")?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, ": {}", self.reason) }
    }
}

impl std::error::Error for NotEvaluated {}
