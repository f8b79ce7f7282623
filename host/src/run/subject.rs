//! What evaluators are run on.

use std::sync::OnceLock;

use super::{document::Turns, terms::Terms};
use crate::{
    conversation::Conversation,
    eval_set::{EvalCase, Unmatched},
    pool::Document,
    report::{
        EventContext,
        run_file::{Digest, Digester},
    },
};

/// A conversation with its golden case and the text that all evaluators read of it.
pub(super) struct Subject {
    conversation: Conversation,
    case: Result<EvalCase, Unmatched>,
    turns: OnceLock<Turns>,
    seen_by_metrics: OnceLock<Digest>,
}

impl Subject {
    pub(super) fn new(conversation: Conversation, case: Result<EvalCase, Unmatched>) -> Self {
        Self { conversation, case, turns: OnceLock::new(), seen_by_metrics: OnceLock::new() }
    }

    pub(super) fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The golden case, or why there is none.
    pub(super) fn golden(&self) -> Result<&EvalCase, &Unmatched> {
        self.case.as_ref()
    }

    /// Golden turns that are not recorded, and all golden turns; `None` where none is missing.
    pub(super) fn missing_turns(&self) -> Option<(usize, usize)> {
        let (recorded, golden) =
            (self.conversation.turns.len(), self.case.as_ref().ok()?.turns.len());
        (recorded < golden).then(|| (golden - recorded, golden))
    }

    /// What evaluation events say of the conversation.
    pub(super) fn event_context(&self) -> EventContext {
        EventContext::new(self.conversation(), self.case.as_ref().ok())
    }

    /// The text is made when the first program asks for it.
    pub(super) fn turns(&self) -> &Turns {
        self.turns.get_or_init(|| Turns::new(self.conversation(), self.case.as_ref().ok()))
    }

    /// The document that an evaluator of another contract reads of it.
    pub(super) fn document_in(&self, terms: &Terms) -> Document {
        terms.document(self.conversation(), self.case.as_ref().ok())
    }

    /// Digest of everything that metrics are given.
    pub(super) fn seen_by_metrics(&self) -> &Digest {
        self.seen_by_metrics.get_or_init(|| {
            Digester::new("metric input")
                .json("turns", &self.conversation.turns)
                .json("golden", &self.case)
                .finish()
        })
    }
}
