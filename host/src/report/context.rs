//! The part of a conversation that evaluation events need.

use serde::{Deserialize, Serialize};

use crate::{
    conversation::{Conversation, JudgedSpan, Turn},
    eval_set::EvalCase,
};

/// The part of a conversation that evaluation events need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventContext {
    /// Id of the golden case, if the conversation has one.
    pub(crate) case_id: Option<String>,
    pub(crate) turns: Vec<EventTurn>,
}

/// The part of a turn that evaluation events need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct EventTurn {
    pub(crate) span: JudgedSpan,
    /// Id of the last model response in the turn that has an id.
    pub(crate) response_id: Option<String>,
}

impl EventContext {
    /// Returns the part of a conversation, which was compared with this golden case.
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
