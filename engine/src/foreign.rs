//! The foreign contract of an entry: writes documents for conversations, and reads the answers.

use evaluator_protocol::Contract;

use super::document::UNKNOWN_KEY;
use crate::{
    conversation::Conversation,
    eval_set::EvalCase,
    hosts::{ForeignContract, Settings, foreign_contract, invalid, parse_strict_document},
    json::{self, NonFinite, Object},
    pool::Document,
    verdict::{Evaluation, Status, Verdict, from_report},
};

/// The foreign contract of an entry and the settings that its documents contain.
#[derive(Clone, Debug)]
pub(crate) struct ForeignAdapter {
    contract: &'static ForeignContract,
    settings: Settings,
}

impl ForeignAdapter {
    /// Returns the adapter of an entry; `None` for the default contract.
    pub(crate) fn new(
        contract: Option<Contract>,
        metric_name: &str,
        threshold: f64,
        config: &Object,
    ) -> Option<Self> {
        let contract = foreign_contract(contract?)?;
        Some(Self { contract, settings: Settings::new(metric_name, threshold, config.clone()) })
    }

    /// Returns the document that the host of this contract would write for a conversation, on one line.
    pub(crate) fn document(
        &self,
        conversation: &Conversation,
        case: Option<&EvalCase>,
    ) -> Document {
        let mut document = (self.contract.document)(&self.settings, conversation, case);
        if let json::Value::Object(members) = &mut document
            && conversation.turns.iter().any(|turn| turn.has_unknown_keys)
        {
            members.insert(UNKNOWN_KEY.to_owned(), Object::default().into());
        }
        Document::from(json::to_string(&document, NonFinite::Null).as_bytes())
    }

    /// Reads the answer of an evaluation. `turns` is the number of turns that were judged.
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
        let document = match parse_strict_document(printed) {
            Ok(document) => document,
            Err(bad) => return Verdict::BadAnswer(bad),
        };
        if let Some(reported) = from_report(&document) {
            return reported;
        }
        // A result of the default contract has a status.
        let stated = document.get("status").and_then(json::Value::as_str);
        let stated = Status::ALL
            .into_iter()
            .find(|status| stated == Some(status.as_str()) && !self.contract.states_status);
        let answer = (self.contract.answer)(document, turns);
        let verdict = answer.map_or_else(Verdict::BadAnswer, Verdict::Answer);
        match (stated, verdict.status(self.settings.threshold)) {
            (Some(stated), Some(judged)) if stated != judged => Verdict::BadAnswer(invalid(
                "status",
                format!(
                    "it says {stated}, and the answer is {judged} in the terms of its contract, which have no `status`; if it \
                     is a result of agentevals, leave `contract` out of its entry"
                ),
            )),
            _ => verdict,
        }
    }
}

#[cfg(test)]
mod tests;
