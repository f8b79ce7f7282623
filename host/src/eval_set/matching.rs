//! Finding the golden case of a conversation.

use std::collections::HashMap;

use super::model::{EvalCase, EvalSet};
use crate::{
    conversation::Conversation,
    python_text::{normalize, string_repr},
};

/// Why a conversation has no golden case. The text is the reason a report shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmatched {
    /// There is no eval set.
    #[error("no eval set provided")]
    NoEvalSet,
    /// The recording names a case that the set does not have.
    #[error("eval case {} not found", string_repr(.0))]
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

/// The cases of an eval set, to be looked up for any number of conversations.
#[derive(Debug)]
pub struct CaseIndex<'s> {
    /// Whether there is a set at all.
    has_set: bool,
    /// The case, if there is only one.
    only: Option<&'s EvalCase>,
    /// The first case of each id.
    by_id: HashMap<&'s str, &'s EvalCase>,
    /// Cases by what the user says first, in the form in which texts are compared.
    by_start: HashMap<String, Vec<&'s EvalCase>>,
}

impl<'s> CaseIndex<'s> {
    /// The cases of `set` that have turns; without a set no conversation has a golden case.
    #[must_use]
    pub fn new(set: Option<&'s EvalSet>) -> Self {
        let mut index = Self {
            has_set: set.is_some(),
            only: None,
            by_id: HashMap::new(),
            by_start: HashMap::new(),
        };
        let mut count = 0_usize;
        for case in set.into_iter().flat_map(|set| &set.cases) {
            let Some(first) = case.turns.first() else { continue };
            count += 1;
            index.only = (count == 1).then_some(case);
            index.by_id.entry(&case.id).or_insert(case);
            index.by_start.entry(normalize(&first.user_text())).or_default().push(case);
        }
        index
    }

    /// The golden case of a conversation, one of `groups` conversations of the run.
    ///
    /// A recording can name its case. Otherwise the first thing the user said decides, compared without case and with
    /// whitespace runs as one space; among several such cases, the number of turns. A single case and a single
    /// conversation belong together even if nothing matches. There is no other fallback: a wrong golden case would make
    /// a good agent look bad.
    ///
    /// # Errors
    ///
    /// No case can be told to be the right one.
    pub fn find(
        &self,
        conversation: &Conversation,
        groups: usize,
    ) -> Result<&'s EvalCase, Unmatched> {
        if !self.has_set {
            return Err(Unmatched::NoEvalSet);
        }
        if let Some(id) = &conversation.case_id {
            let named = self.by_id.get(id.as_str()).copied();
            return named.ok_or_else(|| Unmatched::CaseNotFound(id.clone()));
        }
        let only_pairing = self.only.filter(|_| groups == 1);
        let said = conversation.turns.first().and_then(|turn| turn.user_text.as_deref());
        let Some(said) = said.map(normalize).filter(|said| !said.is_empty()) else {
            return only_pairing.ok_or(Unmatched::NoUserInput);
        };
        match self.by_start.get(&said).map(Vec::as_slice).unwrap_or_default() {
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
}
