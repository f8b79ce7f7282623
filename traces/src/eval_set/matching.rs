//! Finding the golden case of a conversation.

use std::collections::HashMap;

use super::model::{EvalCase, EvalSet};
use crate::{
    conversation::Conversation,
    json::{normalize, string_repr},
};

/// Reason why a conversation has no golden case, as shown in reports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize)]
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
    /// No case starts with the user's first message.
    #[error("no matching eval case")]
    NoMatchingCase,
    /// Several cases start with the user's first message, and the number of turns does not decide.
    #[error("ambiguous eval case")]
    Ambiguous,
}

/// The golden case of a conversation.
#[derive(Clone, Debug)]
pub struct Matched<'s> {
    /// The case.
    pub case: &'s EvalCase,
    /// Position of the case in [`EvalSet::cases`].
    pub position: usize,
    /// Reason to doubt that the case is the right one; `None` where the recording names it or the prompts are equal.
    pub doubt: Option<Doubt>,
}

/// Reason why a golden case may not be the one of a conversation: it is the only case of the set, the conversation is the
/// only one of the run, and nothing else says that they belong together. As text, a clause of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Doubt {
    /// The prompts differ.
    #[error(
        "their prompts differ: {} is recorded, and {} is expected",
        shown(recorded),
        shown(golden)
    )]
    PromptsDiffer {
        /// First prompt of the recording.
        recorded: String,
        /// First prompt of the case.
        golden: String,
    },
    /// The recording has no prompt.
    #[error("the recording has no prompt to compare")]
    NoRecordedPrompt,
    /// The case has no prompt.
    #[error("the golden case has no prompt to compare")]
    NoGoldenPrompt,
}

/// Characters of a prompt that are shown.
const SHOWN_PROMPT: usize = 60;

/// Returns the beginning of a prompt, quoted.
fn shown(prompt: &str) -> String {
    match prompt.char_indices().nth(SHOWN_PROMPT) {
        Some((end, _)) => format!("{:?} ...", &prompt[..end]),
        None => format!("{prompt:?}"),
    }
}

/// The cases of an eval set, to be looked up for any number of conversations.
#[derive(Debug)]
pub struct CaseIndex<'s> {
    /// Whether there is an eval set.
    has_set: bool,
    /// Whether a case needs more than being the only one to be matched.
    strict: bool,
    /// The case, if there is only one.
    only: Option<Entry<'s>>,
    /// The first case of each id.
    by_id: HashMap<&'s str, Entry<'s>>,
    /// Cases by what the user says first, in the form in which texts are compared.
    by_start: HashMap<String, Vec<Entry<'s>>>,
    /// Cases with a scenario instead of turns.
    scenarios: Vec<&'s EvalCase>,
}

/// Position and case.
type Entry<'s> = (usize, &'s EvalCase);

impl<'s> CaseIndex<'s> {
    /// The cases of `set` that have turns; without a set no conversation has a golden case.
    pub fn new(set: Option<&'s EvalSet>) -> Self {
        let mut index = Self {
            has_set: set.is_some(),
            strict: false,
            only: None,
            by_id: HashMap::new(),
            by_start: HashMap::new(),
            scenarios: Vec::new(),
        };
        let mut count = 0_usize;
        for entry in set.into_iter().flat_map(|set| set.cases.iter().enumerate()) {
            let (_, case) = entry;
            if case.scenario.is_some() {
                index.scenarios.push(case);
            }
            let Some(first) = case.turns.first() else { continue };
            count += 1;
            index.only = (count == 1).then_some(entry);
            index.by_id.entry(&case.id).or_insert(entry);
            index.by_start.entry(normalize(&first.user_text())).or_default().push(entry);
        }
        index
    }

    /// Matches a case only where the recording names it or the prompts are equal: the only case and the only
    /// conversation are not paired for being alone.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Returns the case with the scenario of a conversation, one of `groups` conversations of the run: the case that the
    /// recording names, else the only one with the first message of the user. A single scenario and a single conversation
    /// are paired, unless matching is [strict](Self::strict).
    pub fn scenario(&self, conversation: &Conversation, groups: usize) -> Option<&'s EvalCase> {
        let mut scenarios = self.scenarios.iter().copied();
        if let Some(id) = &conversation.case_id {
            return scenarios.find(|case| case.id == *id);
        }
        let said = conversation.turns.first().and_then(|turn| turn.user_text.as_deref());
        let starts = |case: &&EvalCase| {
            let scenario = case.scenario.as_ref();
            let start = scenario.and_then(|it| {
                it.get("starting_prompt").or_else(|| it.get("startingPrompt"))?.as_str()
            });
            start.map(normalize) == said.map(normalize)
        };
        let mut same = scenarios.filter(starts);
        match (same.next(), same.next(), &self.scenarios[..]) {
            (Some(case), None, _) => Some(case),
            (None, None, [only]) if groups == 1 && !self.strict => Some(*only),
            _ => None,
        }
    }

    /// The golden case of a conversation, one of `groups` conversations of the run.
    ///
    /// A recording can name its case. Otherwise the user's first message decides, compared without case and with
    /// whitespace runs as one space; among several such cases, the number of turns. A single case and a single
    /// conversation are paired even if nothing matches, unless matching is [strict](Self::strict); [`Matched::doubt`]
    /// then says why they may not belong together. There is no other fallback: a wrong golden case would make a good
    /// agent look bad.
    ///
    /// # Errors
    ///
    /// No case is the right one, or the right one cannot be determined.
    pub fn find(
        &self,
        conversation: &Conversation,
        groups: usize,
    ) -> Result<Matched<'s>, Unmatched> {
        let sure = |&(position, case): &Entry<'s>| Matched { case, position, doubt: None };
        if !self.has_set {
            return Err(Unmatched::NoEvalSet);
        }
        if let Some(id) = &conversation.case_id {
            let named = self.by_id.get(id.as_str());
            return named.map(sure).ok_or_else(|| Unmatched::CaseNotFound(id.clone()));
        }
        let said = conversation.turns.first().and_then(|turn| turn.user_text.as_deref());
        let said = said.map(|said| (said, normalize(said))).filter(|(_, said)| !said.is_empty());
        let alone = self.only.filter(|_| groups == 1 && !self.strict);
        let alone = alone.map(|(position, case)| {
            let golden = case.turns.first().map(|turn| turn.user_text()).unwrap_or_default();
            let doubt = Some(match said {
                None => Doubt::NoRecordedPrompt,
                Some(_) if normalize(&golden).is_empty() => Doubt::NoGoldenPrompt,
                Some((said, _)) => Doubt::PromptsDiffer { recorded: said.to_owned(), golden },
            });
            Matched { case, position, doubt }
        });
        let Some((_, said)) = said else { return alone.ok_or(Unmatched::NoUserInput) };
        match self.by_start.get(&said).map(Vec::as_slice).unwrap_or_default() {
            [] => alone.ok_or(Unmatched::NoMatchingCase),
            [entry] => Ok(sure(entry)),
            several => {
                let mut same_length =
                    several.iter().filter(|(_, case)| case.turns.len() == conversation.turns.len());
                match (same_length.next(), same_length.next()) {
                    (Some(entry), None) => Ok(sure(entry)),
                    _ => Err(Unmatched::Ambiguous),
                }
            }
        }
    }
}
