//! Recordings of golden cases, counted before anything is evaluated.

use std::collections::HashMap;

use super::conversations::Conversations;
use crate::{
    config::Config,
    eval_set::{CaseIndex, EvalSet},
};

/// Returns the reason why a gate of the configuration is decided by no number of evaluations, because every case has too few
/// recordings. Reads conversations until a case has enough. One of the gates needs several.
pub(super) fn too_few(
    conversations: &Conversations,
    eval_set: Option<&EvalSet>,
    config: &Config,
    is_stopped: impl Fn() -> bool,
) -> Option<String> {
    let gate = config.gates.iter().max_by_key(|gate| gate.recordings())?;
    let wanted = gate.recordings();
    let most = conversations.len();
    // Without golden cases, each conversation is a case.
    if eval_set.is_none() || most < wanted as usize {
        return Some(gate.needs_recordings());
    }
    let cases = CaseIndex::new(eval_set).strict(config.strict_matching);
    let mut recordings: HashMap<usize, u32> = HashMap::new();
    for number in 0..most {
        // The run reports why a conversation cannot be read.
        let conversation = conversations.load(number).ok().filter(|_| !is_stopped())?;
        if let Ok(matched) = cases.find(&conversation, most) {
            let count = recordings.entry(matched.position).or_default();
            *count += 1;
            if *count >= wanted {
                return None;
            }
        }
    }
    Some(gate.needs_recordings())
}
