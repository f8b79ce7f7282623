//! The judges that are built in.

use std::sync::Arc;

use super::{
    Judge, final_response_match::FinalResponseMatch, hallucinations::Hallucinations,
    rubric_final_response::FINAL_RESPONSE, rubric_multi_turn::MultiTurn, rubric_tool_use::TOOL_USE,
    user_simulator::UserSimulator,
};

/// Returns all judges that any model can serve.
pub(super) fn judges() -> [Arc<dyn Judge>; 6] {
    [
        Arc::new(FinalResponseMatch),
        Arc::new(FINAL_RESPONSE),
        Arc::new(TOOL_USE),
        Arc::new(MultiTurn),
        Arc::new(Hallucinations),
        Arc::new(UserSimulator),
    ]
}

/// Returns the judge of that name; `None` if no model can serve a metric of that name.
pub fn judge(name: &str) -> Option<Arc<dyn Judge>> {
    judges().into_iter().find(|judge| judge.name() == name)
}
