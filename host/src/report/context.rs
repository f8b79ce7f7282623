//! What evaluation events say of a conversation.

use serde::{Deserialize, Serialize};

use crate::{
    conversation::{Conversation, JudgedSpan, Turn},
    eval_set::EvalCase,
};

/// What evaluation events say of a conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventContext {
    /// Id of the golden case, if the conversation has one.
    pub(crate) case_id: Option<String>,
    pub(crate) turns: Vec<EventTurn>,
}

/// A turn, as far as they speak of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct EventTurn {
    pub(crate) span: JudgedSpan,
    /// Id of the last response of a model that has one.
    pub(crate) response_id: Option<String>,
}

impl EventContext {
    /// The context of a conversation that was compared with this case.
    #[must_use]
    pub fn new(conversation: &Conversation, case: Option<&EvalCase>) -> Self {
        let turn = |turn: &Turn| EventTurn {
            span: turn.judged.clone(),
            response_id: turn.llm_calls.iter().rev().find_map(|call| call.response_id.clone()),
        };
        Self {
            case_id: case.map(|case| case.id.clone()),
            turns: conversation.turns.iter().map(turn).collect(),
        }
    }
}
