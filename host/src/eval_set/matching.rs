//! Finding the golden case of a conversation.

use super::model::{EvalCase, EvalSet};
use crate::{conversation::Conversation, python_text::normalize};

/// Why a conversation has no golden case. The text is the reason a report shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmatched {
    /// There is no eval set.
    #[error("no eval set provided")]
    NoEvalSet,
    /// The recording names a case that the set does not have.
    #[error("eval case '{0}' not found")]
    CaseNotFound(String),
    /// The first turn has no user text to match.
    #[error("no user input to match")]
    NoUserInput,
    /// No case starts with what the user said.
    #[error("no matching eval case")]
    NoMatchingCase,
    /// Several cases start with what the user said, and the number of turns does not decide.
    #[error("ambiguous eval case")]
    Ambiguous,
}

/// The golden case of a conversation, one of `groups` conversations of the run.
///
/// A recording can name its case. Otherwise the first thing the user said decides, compared without case and with
/// whitespace runs as one space; among several such cases, the number of turns. A single case and a single
/// conversation belong together even if nothing matches. There is no other fallback: a wrong golden case would make a
/// good agent look bad.
///
/// # Errors
///
/// No case can be told to be the right one.
pub fn match_case<'s>(
    set: Option<&'s EvalSet>,
    conversation: &Conversation,
    groups: usize,
) -> Result<&'s EvalCase, Unmatched> {
    let set = set.ok_or(Unmatched::NoEvalSet)?;
    let candidates: Vec<&EvalCase> =
        set.cases.iter().filter(|case| !case.turns.is_empty()).collect();
    if let Some(id) = &conversation.case_id {
        let named = candidates.iter().find(|case| case.id == *id);
        return named.copied().ok_or_else(|| Unmatched::CaseNotFound(id.clone()));
    }
    let only_pairing = match candidates.as_slice() {
        [case] if groups == 1 => Some(*case),
        _ => None,
    };
    let said = conversation.turns.first().and_then(|turn| turn.user_text.as_deref()).map(normalize);
    let Some(said) = said.filter(|said| !said.is_empty()) else {
        return only_pairing.ok_or(Unmatched::NoUserInput);
    };
    let same_start = |case: &&EvalCase| {
        case.turns.first().is_some_and(|turn| normalize(&turn.user_parts.concat()) == said)
    };
    let matching: Vec<&EvalCase> = candidates.into_iter().filter(same_start).collect();
    match matching.as_slice() {
        [] => only_pairing.ok_or(Unmatched::NoMatchingCase),
        [case] => Ok(case),
        several => {
            let mut same_length =
                several.iter().filter(|case| case.turns.len() == conversation.turns.len());
            match (same_length.next(), same_length.next()) {
                (Some(case), None) => Ok(case),
                _ => Err(Unmatched::Ambiguous),
            }
        }
    }
}
