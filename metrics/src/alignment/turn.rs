//! Calls of a turn and their pairs.

use evaluator_traces::{conversation::Turn, eval_set::ExpectedTurn};

use super::{
    expectation::{BadExpectation, Difference, Expectation},
    pairing::{self, Similarities},
    settings::{Order, ToolTrajectoryAlignment},
};
use crate::turns::Call;

/// Expected and actual calls of a turn.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    /// `None` if the recording has no such turn.
    pub(super) invocation_id: Option<&'a str>,
    pub(super) presence: Presence,
    pub(super) expected: Vec<Call<'a>>,
    pub(super) actual: Vec<Call<'a>>,
}

/// Presence of a turn among the golden and the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Both,
    /// Expected only.
    Missing,
    /// Recorded only.
    Unexpected,
}

impl<'a> Calls<'a> {
    pub(super) fn new(turn: Option<&'a Turn>, golden: Option<&'a ExpectedTurn>) -> Self {
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

/// Calls of a turn and their pairs.
#[derive(Debug)]
pub(super) struct Alignment<'a> {
    pub(super) calls: &'a Calls<'a>,
    pub(super) expectations: Vec<Expectation<'a>>,
    pub(super) steps: Vec<Step>,
    pub(super) score: f64,
}

/// A call or a pair of calls, by position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// An expected and an actual call.
    Paired { expected: usize, actual: usize, similarity: f64 },
    /// An expected call without an actual one.
    Missing(usize),
    /// An actual call without an expected one.
    Unexpected(usize),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Unalignable {
    #[error(transparent)]
    Expectation(#[from] BadExpectation),
    #[error("{expected} expected and {actual} actual calls are too many to compare each with each")]
    TooMany { expected: usize, actual: usize },
}

impl<'a> Alignment<'a> {
    pub(super) fn new(
        calls: &'a Calls<'a>,
        metric: &'a ToolTrajectoryAlignment,
    ) -> Result<Self, Unalignable> {
        let (expected, actual) = (calls.expected.len(), calls.actual.len());
        if !pairing::is_feasible(metric.order, expected, actual) {
            return Err(Unalignable::TooMany { expected, actual });
        }
        let expectations = calls
            .expected
            .iter()
            .map(|call| Expectation::new(call, metric))
            .collect::<Result<Vec<_>, _>>()?;
        let similarities = Similarities::new(expected, actual, |row, column| {
            expectations[row].similarity(&calls.actual[column])
        });
        let pairs = pairing::best(metric.order, &similarities);
        // `sum` of no numbers would be -0.
        let sum = pairs.iter().fold(0.0, |sum, pair| sum + similarities.get(*pair));
        #[expect(clippy::cast_precision_loss, reason = "at most a million")]
        let score = match (calls.presence, expected.max(actual)) {
            (Presence::Both, 0) => 1.0,
            (Presence::Both, most) => sum / most as f64,
            (Presence::Missing | Presence::Unexpected, _) => 0.0,
        };
        let steps = steps(metric.order, &pairs, &similarities, (expected, actual));
        Ok(Self { calls, expectations, steps, score })
    }

    pub(super) fn differences(&self, expected: usize, actual: usize) -> Vec<Difference<'_>> {
        self.expectations[expected].differences(&self.calls.actual[actual])
    }
}

/// Lists pairs and single calls for reading: in the order of both sides, or, if the order does not count, in the order of
/// the expected calls with the unexpected ones at the end.
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
