//! Panels: several models judge the same things, and the verdict of each is one vote.

use super::{Asked, Criterion, Refusal, Tally, TurnProblem, Votes, votes::MemberVotes};

/// Answers of one model.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Name of the model, unique in a panel.
    pub model: &'a str,
    /// Its questions with their answers.
    pub asked: &'a [Asked],
}

impl<'a> Member<'a> {
    /// Returns the answers of the only model.
    pub fn only(asked: &'a [Asked]) -> [Self; 1] {
        [Self { model: "", asked }]
    }
}

/// Combines what the models of a panel say.
///
/// A model that failed in a turn has no vote about it. That is a warning if at least the quorum of models has a vote, else the
/// failures are those of the panel.
///
/// # Errors
///
/// The error of the first model that has no tally, if too few have one.
pub(super) fn combine(
    criterion: &Criterion,
    members: Vec<(&str, Result<Tally, Refusal>)>,
) -> Result<Tally, Refusal> {
    let quorum = criterion.quorum.unwrap_or(members.len()).clamp(1, members.len().max(1));
    let mut combined = Tally::default();
    let (mut counted, mut refused) = (Vec::new(), None);
    for (model, tally) in members {
        match tally {
            Ok(tally) => counted.push((model, tally)),
            Err(Refusal::Failed(reason)) => {
                combined.warnings.push(format!("{model}: {reason}"));
                refused.get_or_insert(Refusal::Failed(format!("{model}: {reason}")));
            }
            Err(refusal) => return Err(refusal),
        }
    }
    if let (true, Some(refusal)) = (counted.len() < quorum, refused) {
        return Err(refusal);
    }
    let has_vote = |tally: &Tally, turn: usize| {
        let mut problems = tally.problems.iter().filter(|problem| problem.turn == turn);
        !problems.any(|problem| problem.cause.loses_vote(criterion))
    };
    let is_lost =
        |turn: usize| counted.iter().filter(|(_, tally)| has_vote(tally, turn)).count() < quorum;
    for (model, tally) in &counted {
        let warnings = tally.warnings.iter().map(|warning| format!("{model}: {warning}"));
        combined.warnings.extend(warnings);
        for problem in &tally.problems {
            let problem = TurnProblem { model: Some((*model).to_owned()), ..problem.clone() };
            if problem.cause.loses_vote(criterion) && !is_lost(problem.turn) {
                combined.warnings.push(problem.to_string());
            } else {
                combined.problems.push(problem);
            }
        }
    }
    combined.problems.sort_by_key(|problem| problem.turn);
    for (turn, part, rubric) in keys(&counted) {
        let votes = counted.iter().filter_map(|(model, tally)| {
            let found = tally.votes.iter().find(|votes| key(votes) == (turn, part, rubric));
            Some(MemberVotes {
                model: (*model).to_owned(),
                votes: found?.clone(),
                counts: has_vote(tally, turn),
            })
        });
        let votes: Vec<MemberVotes> = votes.collect();
        let failed = votes.iter().filter(|member| !member.counts).count();
        let failed = if is_lost(turn) { failed.max(1) } else { 0 };
        combined.votes.extend(Votes::of_panel(criterion.panel, votes, failed));
    }
    Ok(combined)
}

type Key<'a> = (usize, usize, Option<&'a str>);

fn key(votes: &Votes) -> Key<'_> {
    (votes.turn, votes.part, votes.rubric.as_deref())
}

/// Returns what is voted about, in the order of the turns.
fn keys<'a>(members: &'a [(&str, Tally)]) -> Vec<Key<'a>> {
    let mut keys = indexmap::IndexSet::new();
    for (_, tally) in members {
        keys.extend(tally.votes.iter().map(key));
    }
    let mut keys: Vec<Key<'a>> = keys.into_iter().collect();
    keys.sort_by_key(|(turn, part, _)| (*turn, *part));
    keys
}
