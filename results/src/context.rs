//! The part of a conversation that evaluation events need.

use evaluator_traces::{
    conversation::{Conversation, JudgedSpan, Turn},
    eval_set::EvalCase,
};
use serde::{Deserialize, Serialize};

/// The part of a conversation that evaluation events need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventContext {
    /// Id of the golden case, if the conversation has one.
    pub case_id: Option<String>,
    /// The turns.
    pub turns: Vec<EventTurn>,
}

/// The part of a turn that evaluation events need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventTurn {
    /// The span that is judged.
    pub span: JudgedSpan,
    /// Id of the last model response in the turn that has an id.
    pub response_id: Option<String>,
}

impl EventContext {
    /// Returns the part of a conversation, which was compared with this golden case.
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
