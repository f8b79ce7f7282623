//! `tool_trajectory_alignment`.

mod compare;
mod pairing;
mod report;
mod settings;

#[cfg(test)]
mod tests;

use self::{
    compare::{BadExpectation, Difference, Expectation},
    pairing::Similarities,
};
use super::{
    Metric, MetricInput,
    align::{not_evaluated, reference},
    call::Call,
};
use crate::{
    conversation::Turn,
    eval_set::ExpectedTurn,
    verdict::{Answer, Verdict},
};

pub use settings::{
    AlignmentSettings, BadPattern, Comparator, Comparators, Order, Pattern, Tolerance,
};

/// Scores how well the tool calls of each turn fit the expected ones, with partial credit.
///
/// Expected and actual calls of a turn are paired so that the similarities of the pairs have the greatest sum there is:
/// with [`Order::Ordered`] pairs may not cross (sequence alignment), with [`Order::Unordered`] they may (assignment).
///
/// ```text
/// similarity of a pair = (1 + arguments as expected) / (1 + arguments compared)    same tool
///                        0                                                         another tool
/// score of a turn      = sum of the similarities of its pairs / max(expected calls, actual calls)
///                        1 when there are neither
/// score                = sum of the scores of the turns / max(expected turns, actual turns)
/// ```
///
/// So the name of the tool counts as much as one argument, and a missing call costs as much as one too many. Arguments are those of
/// either call; each is compared by its [`Comparator`], and one that is ignored does not count. A call without
/// arguments and one whose arguments are empty are the same. A turn that is missing, or that was not expected, scores 0, unlike
/// with `tool_trajectory_avg_score`. A recording without any turn is not evaluated, and neither is one without a
/// golden case. More than a million pairs of calls in a turn (without order, some 460 calls on either side) are an error.
///
/// The details hold for each turn the pairs with their differences, the missing and the unexpected calls, and under `diff` the same
/// for people:
///
/// ```text
/// turn 1: 0.5000
///     search({"to": "Bern"})
///   ~ book
///       seat: expected 12, got 13
///   - pay({})
///   + cancel({"id": 7})
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolTrajectoryAlignment;

impl Metric for ToolTrajectoryAlignment {
    fn name(&self) -> &str {
        "tool_trajectory_alignment"
    }

    fn description(&self) -> &str {
        "How well the tool calls of each turn fit the expected ones, with partial credit."
    }

    fn revision(&self) -> Option<&str> {
        Some(crate::metric::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Verdict {
        let expected = match reference(input) {
            Ok(expected) => expected,
            Err(not_evaluated) => return Verdict::Answer(not_evaluated),
        };
        if input.turns.is_empty() || expected.is_empty() {
            return Verdict::Answer(not_evaluated("no turns to compare"));
        }
        let settings = &input.settings.alignment;
        let calls: Vec<Calls<'_>> = (0..input.turns.len().max(expected.len()))
            .map(|index| Calls::new(input.turns.get(index), expected.get(index)))
            .collect();
        let mut turns = Vec::with_capacity(calls.len());
        for (index, calls) in calls.iter().enumerate() {
            match Alignment::new(calls, settings) {
                Ok(alignment) => turns.push(alignment),
                Err(problem) => {
                    let reason = format!("{}: turn {}: {problem}", self.name(), index + 1);
                    return Verdict::MetricFailed { reason };
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 turns")]
        let mean = turns.iter().map(|turn| turn.score).sum::<f64>() / turns.len() as f64;
        // Turns that are missing have no place among those of the conversation.
        let scores = turns[..input.turns.len()].iter().map(|turn| Some(turn.score)).collect();
        Verdict::Answer(Answer {
            score: Some(mean),
            status: None,
            per_invocation_scores: scores,
            details: Some(report::details(&turns, settings)),
        })
    }
}

/// The calls of a turn on both sides.
#[derive(Debug)]
struct Calls<'a> {
    /// `None` when the recording has no such turn.
    invocation_id: Option<&'a str>,
    presence: Presence,
    expected: Vec<Call<'a>>,
    actual: Vec<Call<'a>>,
}

/// On which sides there is a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Both,
    /// Expected only.
    Missing,
    /// Recorded only.
    Unexpected,
}

impl<'a> Calls<'a> {
    fn new(turn: Option<&'a Turn>, golden: Option<&'a ExpectedTurn>) -> Self {
        Self {
            invocation_id: turn.map(|turn| turn.span_id.as_str()),
            presence: match (turn, golden) {
                (_, None) => Presence::Unexpected,
                (None, _) => Presence::Missing,
                _ => Presence::Both,
            },
            expected: golden
                .map(|turn| turn.trajectory().map(Call::expected).collect())
                .unwrap_or_default(),
            actual: turn
                .map(|turn| turn.tool_calls.iter().map(Call::actual).collect())
                .unwrap_or_default(),
        }
    }
}

/// A turn whose calls are paired.
#[derive(Debug)]
struct Alignment<'a> {
    calls: &'a Calls<'a>,
    expectations: Vec<Expectation<'a>>,
    /// What became of each call.
    steps: Vec<Step>,
    score: f64,
}

/// What became of a call, by position.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// An expected and an actual call belong together.
    Paired { expected: usize, actual: usize, similarity: f64 },
    /// An expected call has no partner.
    Missing(usize),
    /// An actual call has no partner.
    Unexpected(usize),
}

#[derive(Debug, thiserror::Error)]
enum Unalignable {
    #[error(transparent)]
    Expectation(#[from] BadExpectation),
    #[error("{expected} expected and {actual} actual calls are too many to compare each with each")]
    TooMany { expected: usize, actual: usize },
}

impl<'a> Alignment<'a> {
    fn new(calls: &'a Calls<'a>, settings: &'a AlignmentSettings) -> Result<Self, Unalignable> {
        let (expected, actual) = (calls.expected.len(), calls.actual.len());
        if !pairing::is_feasible(settings.order, expected, actual) {
            return Err(Unalignable::TooMany { expected, actual });
        }
        let expectations = calls
            .expected
            .iter()
            .map(|call| Expectation::new(call, settings))
            .collect::<Result<Vec<_>, _>>()?;
        let similarities = Similarities::new(expected, actual, |row, column| {
            expectations[row].similarity(&calls.actual[column])
        });
        let pairs = pairing::best(settings.order, &similarities);
        // The sum of no floats at all would be -0.
        let sum = pairs.iter().fold(0.0, |sum, pair| sum + similarities.get(*pair));
        #[expect(clippy::cast_precision_loss, reason = "at most a million")]
        let score = match (calls.presence, expected.max(actual)) {
            (Presence::Both, 0) => 1.0,
            (Presence::Both, most) => sum / most as f64,
            (Presence::Missing | Presence::Unexpected, _) => 0.0,
        };
        let steps = steps(settings.order, &pairs, &similarities, (expected, actual));
        Ok(Self { calls, expectations, steps, score })
    }

    fn differences(&self, expected: usize, actual: usize) -> Vec<Difference<'_>> {
        self.expectations[expected].differences(&self.calls.actual[actual])
    }
}

/// What became of the calls, in an order that can be read: that of both sides, or where it does not count, that of the expected
/// ones with the unexpected ones at the end.
fn steps(
    order: Order,
    pairs: &[pairing::Pair],
    similarities: &Similarities,
    (expected, actual): (usize, usize),
) -> Vec<Step> {
    let mut steps = Vec::with_capacity(expected.max(actual));
    let mut is_paired = vec![false; actual];
    for &(_, column) in pairs {
        is_paired[column] = true;
    }
    let mut unexpected = (0..actual).filter(|column| !is_paired[*column]).peekable();
    let mut next = 0;
    for &(row, column) in pairs {
        steps.extend((next..row).map(Step::Missing));
        next = row + 1;
        if order == Order::Ordered {
            while let Some(before) = unexpected.next_if(|before| *before < column) {
                steps.push(Step::Unexpected(before));
            }
        }
        let similarity = similarities.get((row, column));
        steps.push(Step::Paired { expected: row, actual: column, similarity });
    }
    steps.extend((next..expected).map(Step::Missing));
    steps.extend(unexpected.map(Step::Unexpected));
    steps
}
