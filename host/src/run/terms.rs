//! The contract of an entry.

use evaluator_protocol::Contract;

use super::{adk, agenta, agentv};
use crate::{
    conversation::Conversation,
    eval_set::EvalCase,
    json::{self, NonFinite, Object, Value},
    pool::Document,
    verdict::{
        Answer, BadAnswer, Evaluation, Status, Verdict, from_report, invalid, strict_document,
    },
};

/// The contract of an entry, with what its documents contain besides the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    host: Host,
    settings: Settings,
}

/// What the entry says.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) metric_name: String,
    pub(super) threshold: f64,
    pub(super) config: Object,
}

#[derive(Clone, Copy, Debug)]
enum Host {
    AgentV,
    Adk,
    Agenta,
}

impl Terms {
    /// The terms of an entry; `None` for the default contract.
    pub(crate) fn new(
        contract: Option<Contract>,
        metric_name: &str,
        threshold: f64,
        config: &Object,
    ) -> Option<Self> {
        let host = match contract? {
            Contract::AgentV => Host::AgentV,
            Contract::Adk => Host::Adk,
            Contract::Agenta => Host::Agenta,
            _ => return None,
        };
        let (metric_name, config) = (metric_name.to_owned(), config.clone());
        Some(Self { host, settings: Settings { metric_name, threshold, config } })
    }

    /// The document that the host of this contract would write for a conversation, on one line.
    pub(crate) fn document(
        &self,
        conversation: &Conversation,
        case: Option<&EvalCase>,
    ) -> Document {
        let document = match self.host {
            Host::AgentV => agentv::document(&self.settings, conversation, case),
            Host::Adk => adk::document(&self.settings, conversation, case),
            Host::Agenta => agenta::document(&self.settings, conversation, case),
        };
        Document::from(json::to_string(&document, NonFinite::Null).as_bytes())
    }

    /// The evaluation with its answer read in these terms. `turns` is the number of turns that were judged.
    pub(crate) fn read(&self, mut evaluation: Evaluation, turns: usize) -> Evaluation {
        if !matches!(evaluation.verdict, Verdict::Answer(_)) {
            return evaluation;
        }
        let printed = std::mem::take(&mut evaluation.answer);
        evaluation.verdict = self.verdict(&printed, turns);
        if !matches!(evaluation.verdict, Verdict::Answer(_)) {
            evaluation.keep_stdout(&printed);
        }
        evaluation
    }

    fn verdict(&self, printed: &[u8], turns: usize) -> Verdict {
        let document = match strict_document(printed) {
            Ok(document) => document,
            Err(bad) => return Verdict::BadAnswer(bad),
        };
        if let Some(reported) = from_report(&document) {
            return reported;
        }
        let status = word(&document).filter(|_| !matches!(self.host, Host::Adk));
        let answer = match self.host {
            Host::AgentV => agentv::answer(document),
            Host::Adk => adk::answer(document, turns),
            Host::Agenta => agenta::answer(document, turns),
        };
        let verdict = answer.map_or_else(Verdict::BadAnswer, Verdict::Answer);
        match (status, verdict.status(self.settings.threshold)) {
            (Some(said), Some(judged)) if said != judged => Verdict::BadAnswer(invalid(
                "status",
                format!(
                    "it says {}, and the answer is {} in the terms of its contract, which have no `status`; if it is a result \
                     of agentevals, leave `contract` out of its entry",
                    said.as_str(),
                    judged.as_str()
                ),
            )),
            _ => verdict,
        }
    }
}

/// The status of an answer that has one as a result of the default contract has.
fn word(document: &Value) -> Option<Status> {
    let said = document.get("status")?.as_str()?;
    Status::ALL.into_iter().find(|status| said == status.as_str())
}

/// Reads a score: a number in `0..=1`.
pub(super) fn score(path: &str, value: &Value) -> Result<f64, BadAnswer> {
    let number = match value {
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => crate::verdict::number(value),
        _ => None,
    };
    match number {
        // Adding zero turns a negative zero into a plain one.
        Some(score) if (0.0..=1.0).contains(&score) => Ok(score + 0.0),
        _ => Err(crate::verdict::unexpected(path, "a number from 0 to 1", value)),
    }
}

/// The object that an answer has to be.
pub(super) fn members(document: Value, expected: &str) -> Result<Object, BadAnswer> {
    match document {
        Value::Object(object) => Ok(object),
        other => Err(crate::verdict::unexpected("", expected, &other)),
    }
}

/// The details of an answer: the members that say something.
pub(super) fn details(members: impl IntoIterator<Item = (String, Value)>) -> Option<Object> {
    let said: Object = members.into_iter().filter(|(_, value)| !value.is_empty_like()).collect();
    (!said.is_empty()).then_some(said)
}

/// An answer with this score, which the threshold judges.
pub(super) fn scored(score: f64, details: Option<Object>) -> Answer {
    Answer { score: Some(score), details, ..Answer::default() }
}
