//! Documents of any contract: detection, decoding, conversion and answers.
//!
//! [`Document::read`] detects the contract and decodes the document, [`Document::to_eval_input`] converts it for evaluators
//! of the default contract, and [`Reply::answer`] converts the result to the form that the host expects.
//!
//! | contract | keys it is detected by, whatever their values | conversion, field by field | answers |
//! |---|---|---|---|
//! | agentevals | `metric_name` | none: evaluators of the default contract read it directly | [`EvalResult`](crate::EvalResult) |
//! | AgentV | `candidate_answer`, or `criteria` with an answer | [`agentv`] | [`CodeJudgeResult`](agentv::CodeJudgeResult) |
//! | ADK | `eval_metric` with `actual_invocations` | [`adk`] | [`EvaluationResult`](adk::EvaluationResult) |
//! | Agenta | `inputs` with `output`, `outputs` or `parameters`; `app_params` with `correct_answer` | [`agenta`] | [`EvaluateResult`](agenta::EvaluateResult) |
//!
//! Only top-level keys count. A document that matches several contracts is an error that names them. One that matches none
//! is read as an incomplete document of AgentV if it has keys that only AgentV uses; otherwise it is an error that names
//! the missing keys.

mod detect;

use std::fmt;

use crate::{
    Contract, DecodeError, EvalInput, EvalResult, EvalStatus, REASON_KEYS, adk, agenta, agentv,
    object::untagged,
};
use detect::Keys;
pub use detect::Undetected;

/// A document of any contract.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Document {
    /// Of agentevals.
    Agentevals(EvalInput),
    /// Of AgentV.
    AgentV(Box<agentv::CodeJudgeInput>),
    /// Of ADK.
    Adk(Box<adk::MetricInput>),
    /// Of Agenta.
    Agenta(Box<agenta::EvaluateInput>),
}

/// A document converted to the agentevals contract.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Converted {
    /// The document that an evaluator of the default contract reads.
    pub input: EvalInput,
    /// Paths of the values that `input` has no field for, in the document's own names.
    pub dropped: Vec<String>,
}

impl Document {
    /// Detects the contract of a document, and decodes it.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: the document cannot be decoded, or matches no contract or several.
    pub fn read(document: &[u8]) -> Result<Self, ReadError> {
        match detect::read_agentevals(document) {
            Some(input) => Ok(Self::Agentevals(input)),
            None => Self::read_as(detect(document)?, document).map_err(ReadError::Decode),
        }
    }

    /// Decodes a document of that contract.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: it is not a document of that contract.
    pub fn read_as(contract: Contract, document: &[u8]) -> Result<Self, DecodeError> {
        Ok(match contract {
            Contract::Agentevals => Self::Agentevals(EvalInput::from_json(document)?),
            Contract::AgentV => {
                Self::AgentV(Box::new(agentv::CodeJudgeInput::from_json(document)?))
            }
            Contract::Adk => Self::Adk(Box::new(adk::MetricInput::from_json(document)?)),
            Contract::Agenta => Self::Agenta(Box::new(agenta::EvaluateInput::from_json(document)?)),
        })
    }

    /// Returns the contract.
    pub fn contract(&self) -> Contract {
        match self {
            Self::Agentevals(_) => Contract::Agentevals,
            Self::AgentV(_) => Contract::AgentV,
            Self::Adk(_) => Contract::Adk,
            Self::Agenta(_) => Contract::Agenta,
        }
    }

    /// Returns the name of the requested evaluator; `None` for AgentV and Agenta, whose documents name none.
    pub fn metric_name(&self) -> Option<&str> {
        match self {
            Self::Agentevals(input) => Some(&input.metric_name),
            Self::Adk(input) => Some(&input.eval_metric.metric_name),
            Self::AgentV(_) | Self::Agenta(_) => None,
        }
    }

    /// Returns the form of the answer that the host expects.
    pub fn reply(&self) -> Reply {
        match self {
            Self::Agentevals(_) => Reply::Agentevals,
            Self::AgentV(_) => Reply::AgentV,
            Self::Adk(input) => input.reply(),
            Self::Agenta(input) => input.reply(),
        }
    }

    /// Returns the "not evaluated" answer for documents without any output of the agent; `None` if there is something to
    /// judge, and for documents of agentevals.
    ///
    /// An evaluator of the default contract would see a conversation without turns, for which every condition on turns
    /// holds.
    pub fn unjudged(&self) -> Option<EvalResult> {
        let reason = match self {
            Self::AgentV(input) if input.is_about_nothing() => {
                "the document has neither an answer nor messages of the agent"
            }
            Self::Adk(input) if input.actual_invocations.is_empty() => {
                "`actual_invocations` is empty"
            }
            Self::Agenta(input) if !input.has_output() => "the document has no `outputs`",
            _ => return None,
        };
        Some(EvalResult::not_evaluated(reason))
    }

    /// Converts the document to the agentevals contract. `name` is the evaluator's, for documents that name none.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: a required value cannot be converted.
    pub fn to_eval_input(self, name: &str) -> Result<Converted, DecodeError> {
        match self {
            Self::Agentevals(input) => Ok(Converted { input, dropped: Vec::new() }),
            Self::AgentV(input) => input.to_eval_input(name),
            Self::Adk(input) => Ok(input.to_eval_input()),
            Self::Agenta(input) => Ok(input.to_eval_input(name)),
        }
    }
}

/// Detects the contract of a document.
///
/// # Errors
///
/// [`ReadError`]: it is not a JSON object, or matches no contract or several.
pub fn detect(document: &[u8]) -> Result<Contract, ReadError> {
    Keys::of(document).map_err(ReadError::Decode)?.contract().map_err(ReadError::Undetected)
}

/// Error: a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be decoded.
    Decode(DecodeError),
    /// Its contract cannot be detected.
    Undetected(Undetected),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Undetected(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// An answer of any contract, as it is written.
#[derive(Clone, Debug, PartialEq)]
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
    /// Returns the answer as one line of JSON, with its line feed.
    ///
    /// # Errors
    ///
    /// A detail cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

untagged!(Answer { Agentevals, AgentV, Adk, Agenta });

/// The form of the answer that the sender of a document expects.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// An [`EvalResult`].
    Agentevals,
    /// A [`CodeJudgeResult`](agentv::CodeJudgeResult).
    AgentV,
    /// An [`EvaluationResult`](adk::EvaluationResult).
    Adk {
        /// Number of turns: ADK expects a row for each.
        turns: usize,
        /// The criterion's threshold, if any. ADK uses the status of the answer and does not compare the score itself.
        threshold: Option<f64>,
    },
    /// An [`EvaluateResult`](agenta::EvaluateResult), or other outputs that the form supports.
    Agenta {
        /// The kind of call.
        form: agenta::Form,
        /// Lowest score for which `success` is true.
        threshold: f64,
    },
}

impl adk::MetricInput {
    /// Returns the form of the answer that ADK expects.
    pub fn reply(&self) -> Reply {
        Reply::Adk { turns: self.actual_invocations.len(), threshold: self.eval_metric.threshold() }
    }
}

impl agenta::EvaluateInput {
    /// Returns the form of the answer that Agenta expects.
    pub fn reply(&self) -> Reply {
        Reply::Agenta { form: self.form(), threshold: self.threshold() }
    }
}

impl Reply {
    /// Converts a result to the form that the host expects.
    ///
    /// # Errors
    ///
    /// [`NotEvaluated`]: the evaluator does not judge this conversation, and the host has no such outcome. The program has to
    /// fail, because any score would be made up.
    pub fn answer(&self, result: EvalResult) -> Result<Answer, NotEvaluated> {
        let not_evaluated = result.status == Some(EvalStatus::NotEvaluated);
        if not_evaluated && matches!(self, Self::AgentV | Self::Agenta { .. }) {
            let details = result.details.as_ref();
            let reason = REASON_KEYS.iter().find_map(|key| details?.get(*key)?.as_str());
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

    /// Checks that the host can use an answer of an evaluator that is written against its contract.
    ///
    /// # Errors
    ///
    /// [`RowCount`](adk::RowCount): ADK expects a row for each turn.
    pub fn check(&self, answer: &Answer) -> Result<(), adk::RowCount> {
        match (self, answer) {
            (Self::Adk { turns, .. }, Answer::Adk(result)) => result.check_rows(*turns),
            _ => Ok(()),
        }
    }

    /// Completes an answer in the host's form with the settings for answers in the document.
    ///
    /// # Errors
    ///
    /// [`OutputsError`](agenta::OutputsError): the host does not accept such an answer to such a document.
    pub fn settle(&self, answer: Answer) -> Result<Answer, agenta::OutputsError> {
        match (self, answer) {
            (Self::Agenta { form, threshold }, Answer::Agenta(outputs)) => {
                outputs.settle(*form, *threshold).map(Answer::Agenta)
            }
            (_, answer) => Ok(answer),
        }
    }
}

/// Error: the evaluator does not judge this conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEvaluated {
    /// The reason; empty if none was given.
    pub reason: String,
}

impl fmt::Display for NotEvaluated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not evaluated")?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, ": {}", self.reason) }
    }
}

impl std::error::Error for NotEvaluated {}
