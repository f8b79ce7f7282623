//! Code that the metrics with rubrics share.

use std::{collections::HashMap, ops::Range};

use evaluator_traces::conversation::TurnPart;
use indexmap::IndexSet;

use super::{
    Asked, Case, JudgedTurn, Order, Question, Refusal, Rubric, RubricScore, Scores, Tally,
    TurnJudgement, Variables, Vote, Votes,
    answer::{Readings, check_all},
    judgement::mean,
    reply::{RubricBlock, normalize_rubric, rubric_verdicts},
};

/// Reason of the mean score of a rubric.
const AGGREGATED: &str = "Mean of the scores of the turns.";

/// Returns the rubrics of a turn: those of the criterion, and those of the turn that have the kind of the metric.
///
/// # Errors
///
/// There are none, or two have the same id.
pub(super) fn effective(
    case: &Case<'_>,
    turn: &JudgedTurn,
    kind: &str,
) -> Result<Vec<Rubric>, Refusal> {
    let own = turn.rubrics.iter().filter(|rubric| rubric.kind.as_deref() == Some(kind));
    let mut rubrics: Vec<Rubric> = Vec::new();
    for rubric in case.criterion.rubrics.iter().chain(own) {
        if rubrics.iter().any(|other| other.id == rubric.id) {
            let id = &rubric.id;
            return Err(Refusal::Failed(format!("turn {} has two rubrics `{id}`", turn.id)));
        }
        rubrics.push(rubric.clone());
    }
    if rubrics.is_empty() {
        return Err(Refusal::Failed(format!(
            "turn {} has no rubrics: set `rubrics`, or give the turn rubrics of type {kind}",
            turn.id
        )));
    }
    Ok(rubrics)
}

/// Returns questions about a turn, with the rubrics in the order that each question needs.
pub(super) fn questions(
    case: &Case<'_>,
    turn: usize,
    prompt: &'static str,
    rubrics: &[Rubric],
    variables: impl Fn(&[&Rubric]) -> Variables,
) -> Result<Vec<Question>, Refusal> {
    let orders = Order::of(case.criterion.samples, case.criterion.swap).into_iter();
    let questions = orders.map(|(order, samples)| {
        let mut rubrics: Vec<&Rubric> = rubrics.iter().collect();
        if order == Order::Swapped {
            rubrics.reverse();
        }
        let question = case.criterion.prompts.question(turn, prompt, variables(&rubrics))?;
        Ok(Question { samples, order, ..question })
    });
    questions.collect()
}

/// Returns a line per rubric.
pub(super) fn list(rubrics: &[&Rubric]) -> String {
    let lines = rubrics.iter().map(|rubric| {
        format!("*  [id: {}] {}", rubric.id, rubric.text.as_deref().unwrap_or("None"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the id of the rubric that each block is about.
struct Lookup<'r> {
    ids: Vec<&'r str>,
    by_text: HashMap<String, &'r str>,
}

impl<'r> Lookup<'r> {
    fn new(rubrics: &'r [Rubric]) -> Self {
        let key = |rubric: &Rubric| normalize_rubric(rubric.text.as_deref().unwrap_or_default());
        Self {
            ids: rubrics.iter().map(|rubric| rubric.id.as_str()).collect(),
            by_text: rubrics.iter().map(|rubric| (key(rubric), rubric.id.as_str())).collect(),
        }
    }

    fn find(&self, block: &RubricBlock) -> Option<&'r str> {
        let by_id = self.ids.iter().copied().find(|id| block.id.as_deref() == Some(*id));
        by_id.or_else(|| self.by_text.get(&normalize_rubric(&block.property)).copied())
    }

    /// Reads a reply: a verdict about each rubric that was asked for, each at most once. Without the code of the question, what
    /// a reply says about some of the rubrics may be quoted, so it must be about all of them.
    fn read(&self, question: &Question, reply: &str) -> Result<Vec<Vote>, String> {
        let code = question.code.as_ref();
        let mut found: Vec<Vote> = Vec::new();
        for block in rubric_verdicts(reply, code)? {
            let Some(id) = self.find(&block) else {
                let name = block.id.unwrap_or(block.property);
                return Err(format!("a verdict about {name:?}, which is not a rubric"));
            };
            if found.iter().any(|other| other.about == id) {
                return Err(format!("two verdicts about the rubric `{id}`"));
            }
            let RubricBlock { score, rationale: reason, .. } = block;
            found.push(Vote { about: id.to_owned(), score, reason });
        }
        // What follows a draft has to repeat all of it.
        let has_code =
            code.is_some_and(|code| code.is_in(reply) && code.after_draft(reply) == reply);
        let missing = |id: &&&str| !found.iter().any(|other| other.about == **id);
        match self.ids.iter().find(missing) {
            Some(id) if !has_code => Err(format!("no verdict about the rubric `{id}`")),
            _ => Ok(found),
        }
    }
}

/// Returns the rubrics with which the replies about a turn are read.
fn of_turn(case: &Case<'_>, turn: usize, kind: &str) -> Result<Vec<Rubric>, Refusal> {
    let last = case.actual.len().saturating_sub(1);
    let turn = if case.criterion.rules.rubrics_of_last_turn { last } else { turn };
    case.actual.get(turn).map_or(Ok(Vec::new()), |turn| effective(case, turn, kind))
}

/// Counts the votes.
///
/// # Errors
///
/// Questions were not asked as planned.
pub(super) fn tally(
    case: &Case<'_>,
    planned: &[Question],
    asked: &[Asked],
    kind: &str,
) -> Result<Tally, Refusal> {
    check_all(planned, asked)?;
    let mut tally = Tally { warnings: untyped(case, kind), ..Tally::default() };
    for readings in Readings::by_turn(asked) {
        let rubrics = of_turn(case, readings.turn, kind)?;
        tally_turn(&mut tally, case, &readings, &rubrics);
    }
    Ok(tally)
}

/// Returns the votes about rubrics in a reply to the question.
///
/// # Errors
///
/// The reason why it cannot be read.
pub(super) fn read(
    case: &Case<'_>,
    question: &Question,
    reply: &str,
    kind: &str,
) -> Result<Vec<Vote>, String> {
    let rubrics = of_turn(case, question.turn, kind).map_err(|refusal| refusal.to_string())?;
    Lookup::new(&rubrics).read(question, reply)
}

/// Counts the votes about each rubric, in the order in which replies name them.
fn tally_turn(tally: &mut Tally, case: &Case<'_>, readings: &Readings<'_>, rubrics: &[Rubric]) {
    tally.note(readings, case.criterion);
    let named: IndexSet<&str> =
        readings.votes.iter().flat_map(|(_, votes)| *votes).map(|vote| &*vote.about).collect();
    let votes = named.into_iter().map(|id| {
        let mut votes = Votes::binary(readings.turn);
        votes.rubric = Some(id.to_owned());
        readings.count(votes, |votes| votes.iter().find(|vote| vote.about == id))
    });
    let votes: Vec<Votes> = votes.collect();
    if readings.failed.is_empty() {
        for Rubric { id, .. } in rubrics {
            let judged = votes.iter().find(|votes| votes.rubric.as_ref() == Some(id));
            let judged = judged.map_or(0, |votes| votes.scores.len());
            tally.note_rubric(id, judged, readings, case.criterion);
        }
    }
    tally.votes.extend(votes);
}

/// Returns the scores of the turns that were `judged`: the mean of all rubrics of all turns. A turn with a failed call has
/// no rubrics.
pub(super) fn score(
    case: &Case<'_>,
    tally: &Tally,
    values: &[Option<f64>],
    judged: Range<usize>,
) -> Scores {
    let turns = (0..case.actual.len()).map(|turn| {
        if !judged.contains(&turn) || tally.has_failed(turn) {
            return TurnJudgement::default();
        }
        let votes = tally.votes.iter().zip(values).filter(|(votes, _)| votes.turn == turn);
        let rubrics = votes.map(|(votes, score)| RubricScore {
            id: votes.rubric.clone().unwrap_or_default(),
            score: *score,
            rationale: votes.reason().cloned().unwrap_or_default(),
        });
        let rubrics: Vec<RubricScore> = rubrics.collect();
        let score = mean(rubrics.iter().filter_map(|rubric| rubric.score));
        TurnJudgement { score, rubrics: Some(rubrics) }
    });
    let turns: Vec<TurnJudgement> = turns.collect();
    let score = mean(values.iter().copied().flatten());
    Scores { score, rubrics: overall(&turns), turns, missed: Vec::new() }
}

/// Returns the mean score of each rubric in the order of their first appearance; `None` if there are no turns.
pub(super) fn overall(turns: &[TurnJudgement]) -> Option<Vec<RubricScore>> {
    let judged = || turns.iter().filter_map(|turn| turn.rubrics.as_ref()).flatten();
    if turns.is_empty() {
        return None;
    }
    let mut rubrics: Vec<RubricScore> = Vec::new();
    for RubricScore { id, .. } in judged() {
        if rubrics.iter().any(|rubric| rubric.id == *id) {
            continue;
        }
        let scores = judged().filter(|rubric| rubric.id == *id).filter_map(|rubric| rubric.score);
        let rationale = AGGREGATED.to_owned();
        rubrics.push(RubricScore { id: id.clone(), score: mean(scores), rationale });
    }
    Some(rubrics)
}

/// Returns a warning for each rubric of a turn that no metric uses because it has no kind.
fn untyped(case: &Case<'_>, kind: &str) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for rubric in case.actual.iter().flat_map(|turn| &turn.rubrics) {
        let warning =
            format!("the rubric `{}` has no type and is not used: set it to {kind}", rubric.id);
        if rubric.kind.is_none() && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// A metric that checks each turn against rubrics.
#[derive(Debug)]
pub(super) struct PerTurn {
    /// Name of the metric and of its prompt.
    pub(super) name: &'static str,
    /// Kind of the rubrics of turns that it uses.
    pub(super) kind: &'static str,
    /// Parts of a turn that it shows.
    pub(super) parts: &'static [TurnPart],
    /// Variables of the prompt about a turn, apart from the rubrics.
    pub(super) variables: fn(&Case<'_>, &JudgedTurn) -> Result<Variables, Refusal>,
}

impl super::Judge for PerTurn {
    fn name(&self) -> &str {
        self.name
    }

    fn parts(&self) -> &[TurnPart] {
        self.parts
    }

    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal> {
        case.golden_turns()?;
        case.check_samples()?;
        let rubrics = case.actual.iter().map(|turn| effective(case, turn, self.kind));
        let rubrics = rubrics.collect::<Result<Vec<_>, _>>()?;
        let mut planned = Vec::new();
        for (index, (turn, rubrics)) in case.actual.iter().zip(&rubrics).enumerate() {
            let variables = (self.variables)(case, turn)?;
            planned.extend(questions(case, index, self.name, rubrics, |rubrics| {
                let mut variables = variables.clone();
                variables.push(("rubrics", list(rubrics)));
                variables
            })?);
        }
        Ok(planned)
    }

    fn read(&self, case: &Case<'_>, question: &Question, reply: &str) -> Result<Vec<Vote>, String> {
        read(case, question, reply, self.kind)
    }

    fn tally(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Tally, Refusal> {
        tally(case, planned, asked, self.kind)
    }

    fn score(&self, case: &Case<'_>, tally: &Tally, values: &[Option<f64>]) -> Scores {
        score(case, tally, values, 0..case.actual.len())
    }
}
