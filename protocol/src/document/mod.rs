//! Documents of any contract: telling which it is of, reading it, and answering it in its own terms.
//!
//! [`Document::read`] does the first two, [`Document::to_eval_input`] makes of it what an evaluator of the default contract
//! reads, and [`Reply::answer`] puts what such an evaluator found in the terms of the host that asked.
//!
//! | contract | told by these keys, whatever their values | conversion, field by field | answers |
//! |---|---|---|---|
//! | agentevals | `metric_name` | none: it is what such an evaluator is written against | [`EvalResult`](crate::EvalResult) |
//! | AgentV | `candidate_answer`, or `criteria` with an answer | [`agentv`] | [`CodeJudgeResult`](agentv::CodeJudgeResult) |
//! | ADK | `eval_metric` with `actual_invocations` | [`adk`] | [`EvaluationResult`](adk::EvaluationResult) |
//! | Agenta | `inputs` with `output`, `outputs` or `parameters`; `app_params` with `correct_answer` | [`agenta`] | [`EvaluateResult`](agenta::EvaluateResult) |
//!
//! Only keys at the top count. A document that fits several contracts is an error that names them; one that fits none is
//! taken for a part of one of AgentV if it has keys that AgentV alone has, and is an error that says what it lacks otherwise.

mod detect;
mod fast;
mod reply;

use std::fmt;

pub use detect::Undetected;
pub use reply::{Answer, NotEvaluated, Reply};

use crate::{Contract, DecodeError, EvalInput, EvalResult, adk, agenta, agentv, decode};
use detect::Keys;

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

/// A document of another contract as one of agentevals.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Converted {
    /// What an evaluator of the default contract sees.
    pub input: EvalInput,
    /// Paths of what the document has and `input` has no room for, in the document's own terms.
    pub dropped: Vec<String>,
}

impl Converted {
    pub(crate) fn new(input: EvalInput, dropped: Vec<String>) -> Self {
        Self { input, dropped }
    }
}

impl Document {
    /// Tells which contract a document is of, and reads it.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: the document cannot be read, or is of no contract, or may be of several.
    pub fn read(document: &[u8]) -> Result<Self, ReadError> {
        match fast::read(document) {
            Some(input) => Ok(Self::Agentevals(input)),
            None => Self::read_as(detect(document)?, document).map_err(ReadError::Decode),
        }
    }

    /// Reads a document of that contract.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: it is not one.
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

    /// The contract.
    #[must_use]
    pub fn contract(&self) -> Contract {
        match self {
            Self::Agentevals(_) => Contract::Agentevals,
            Self::AgentV(_) => Contract::AgentV,
            Self::Adk(_) => Contract::Adk,
            Self::Agenta(_) => Contract::Agenta,
        }
    }

    /// The evaluator it asks for by name; AgentV and Agenta do not name any.
    #[must_use]
    pub fn metric_name(&self) -> Option<&str> {
        match self {
            Self::Agentevals(input) => Some(&input.metric_name),
            Self::Adk(input) => input.metric_name(),
            Self::AgentV(_) | Self::Agenta(_) => None,
        }
    }

    /// What the host expects of an answer.
    #[must_use]
    pub fn reply(&self) -> Reply {
        match self {
            Self::Agentevals(_) => Reply::Agentevals,
            Self::AgentV(_) => Reply::AgentV,
            Self::Adk(input) => input.reply(),
            Self::Agenta(input) => input.reply(),
        }
    }

    /// What is to be answered for an evaluator of the default contract where the host has sent nothing of what the agent did:
    /// that nothing was evaluated, and why. `None` where there is something to judge, and for documents of agentevals.
    ///
    /// Such an evaluator would see a conversation without turns, where everything that it asks of each turn holds.
    #[must_use]
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

    /// The document as one of agentevals. `name` is that of the evaluator, where the document has none.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: what is needed has a form in which it cannot be read.
    pub fn to_eval_input(self, name: &str) -> Result<Converted, DecodeError> {
        match self {
            Self::Agentevals(input) => Ok(Converted::new(input, Vec::new())),
            Self::AgentV(input) => input.to_eval_input(name),
            Self::Adk(input) => input.to_eval_input(name),
            Self::Agenta(input) => Ok(input.to_eval_input(name)),
        }
    }
}

/// The contract of a document.
///
/// # Errors
///
/// [`ReadError`]: it is not a JSON object, or of no contract, or may be of several.
pub fn detect(document: &[u8]) -> Result<Contract, ReadError> {
    let keys: Keys = decode(document).map_err(ReadError::Decode)?;
    keys.contract().map_err(ReadError::Undetected)
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not what it has to be.
    Decode(DecodeError),
    /// It is not known what it has to be.
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
