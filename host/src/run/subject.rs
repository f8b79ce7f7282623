//! What evaluators are run on.

use std::sync::{Arc, OnceLock};

use super::document::Turns;
use crate::{
    conversation::Conversation,
    eval_set::{CaseIndex, EvalCase, EvalSet, Unmatched},
    events::EventContext,
};

/// A conversation with its golden case and the text that all evaluators read of it.
pub(super) struct Subject {
    conversations: Arc<Vec<Conversation>>,
    index: usize,
    case: Result<EvalCase, Unmatched>,
    turns: OnceLock<Turns>,
}

impl Subject {
    /// The conversations that evaluators can be run on, in their order.
    pub(super) fn all(
        conversations: &Arc<Vec<Conversation>>,
        eval_set: Option<&EvalSet>,
    ) -> Vec<Arc<Self>> {
        let cases = CaseIndex::new(eval_set);
        (0..conversations.len())
            .filter(|index| !conversations[*index].turns.is_empty())
            .map(|index| Arc::new(Self::new(conversations, index, &cases)))
            .collect()
    }

    fn new(conversations: &Arc<Vec<Conversation>>, index: usize, cases: &CaseIndex<'_>) -> Self {
        let case = cases.find(&conversations[index], conversations.len()).cloned();
        Self { conversations: Arc::clone(conversations), index, case, turns: OnceLock::new() }
    }

    pub(super) fn conversation(&self) -> &Conversation {
        &self.conversations[self.index]
    }

    /// The golden case, or why there is none.
    pub(super) fn golden(&self) -> Result<&EvalCase, &Unmatched> {
        self.case.as_ref()
    }

    /// What evaluation events say of the conversation.
    pub(super) fn event_context(&self) -> EventContext {
        EventContext::new(self.conversation(), self.case.as_ref().ok())
    }

    /// The text is made when the first program asks for it.
    pub(super) fn turns(&self) -> &Turns {
        self.turns.get_or_init(|| Turns::new(self.conversation(), self.case.as_ref().ok()))
    }
}
