//! `tool_trajectory_alignment`.

mod compare;
mod pairing;
mod report;

use std::sync::Arc;

use evaluator_document::Fields;

use self::{
    compare::{BadExpectation, Comparator, Comparators, Difference, Expectation},
    pairing::Similarities,
};
use super::{
    Metric, MetricInput, Outcome, Scored, Setting,
    turns::{Call, mean},
};
use evaluator_traces::{
    conversation::{Turn, TurnPart},
    eval_set::ExpectedTurn,
};

/// Scores how well the tool calls of each turn fit the expected ones, with partial credit.
///
/// Expected and actual calls of a turn are paired so that the sum of the similarities of the pairs is the greatest
/// possible: with `order: ordered` pairs may not cross (sequence alignment), with `unordered` they may (assignment).
///
/// ```text
/// similarity of a pair = (1 + arguments as expected) / (1 + arguments compared)    same tool
///                        0                                                         another tool
/// score of a turn      = sum of the similarities of its pairs / max(expected calls, actual calls)
///                        1 when there are neither
/// score                = sum of the scores of the turns / max(expected turns, actual turns)
/// ```
///
/// The name of the tool counts as much as one argument, and a missing call costs as much as an unexpected one. The
/// arguments of both calls are compared, each by its comparator; ignored ones do not count. A call without arguments and
/// one with empty arguments are equal. A missing or unexpected turn scores 0, unlike with `tool_trajectory_avg_score`. A
/// recording without turns or without a golden case is not evaluated. More than a million pairs of calls in a turn
/// (without order, about 460 calls on either side) are an error.
///
/// The details have for each turn the pairs with their differences, the missing and the unexpected calls, and under `diff`
/// the same as text:
///
/// ```text
/// turn 1: 0.5000
///     search({"to": "Bern"})
///   ~ book
///       seat: expected 12, got 13
///   - pay({})
///   + cancel({"id": 7})
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolTrajectoryAlignment {
    order: Order,
    /// Comparators for the arguments of all tools.
    args: Comparators,
    /// Comparators for the arguments of single tools. They precede `args`.
    tools: indexmap::IndexMap<String, Comparators>,
}

/// Whether the order of calls counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    /// Paired calls have the same order on both sides.
    #[default]
    Ordered,
    /// Any call may be paired with any other.
    Unordered,
}

impl Order {
    const NAMED: [(&str, Self); 2] = [("ordered", Self::Ordered), ("unordered", Self::Unordered)];
}

const SETTINGS: [Setting; 3] = [
    Setting::new(
        "order",
        r#"{"description": "tool_trajectory_alignment: whether the order of calls counts.",
            "enum": ["ordered", "unordered"]}"#,
        "order: ordered  # or unordered: calls may come in any order\n",
    ),
    Setting::new(
        "args",
        r#"{"description": "tool_trajectory_alignment: how arguments are compared, by name.", "type": "object"}"#,
        r"# Comparators of arguments by name; the default is `exact`.
args:
  request_id: ignore
  tags: set  # the same items in any order
  filter: subset  # the expected members are there, maybe more
  price: {compare: numeric, tolerance: 0.01}  # or relative_tolerance: 0.05
  date: {compare: regex, pattern: '\d{4}-\d{2}-\d{2}'}  # without a pattern: the expected text is one
",
    ),
    Setting::new(
        "tools",
        r#"{"description": "tool_trajectory_alignment: the same for single tools.", "type": "object"}"#,
        "# Comparators of arguments by tool; they precede `args`. `*` is every argument that is not named.\n\
         tools:\n  search: {query: ignore}\n",
    ),
];

impl Metric for ToolTrajectoryAlignment {
    fn name(&self) -> &str {
        "tool_trajectory_alignment"
    }

    fn description(&self) -> &str {
        "How well the tool calls of each turn fit the expected ones, with partial credit."
    }

    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }

    fn configure(&self, fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        Some(Arc::new(Self::read(fields)))
    }

    fn revision(&self) -> Option<&str> {
        Some(crate::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        let expected = match input.comparable_turns(&[TurnPart::ToolCalls, TurnPart::Arguments]) {
            Ok(expected) => expected,
            Err(not_evaluated) => return not_evaluated,
        };
        if input.turns.is_empty() || expected.is_empty() {
            return Outcome::not_evaluated("no turns to compare");
        }
        let calls: Vec<Calls<'_>> = (0..input.turns.len().max(expected.len()))
            .map(|index| Calls::new(input.turns.get(index), expected.get(index)))
            .collect();
        let mut turns = Vec::with_capacity(calls.len());
        for (index, calls) in calls.iter().enumerate() {
            match Alignment::new(calls, self) {
                Ok(alignment) => turns.push(alignment),
                Err(error) => {
                    let reason = format!("{}: turn {}: {error}", self.name(), index + 1);
                    return Outcome::Failed { reason };
                }
            }
        }
        let scores: Vec<f64> = turns.iter().map(|turn| turn.score).collect();
        Outcome::Scored(Scored {
            // Missing turns are not turns of the conversation.
            per_turn: scores.iter().take(input.turns.len()).copied().map(Some).collect(),
            details: Some(report::details(&turns, self.order)),
            ..Scored::new(mean(&scores))
        })
    }
}

impl ToolTrajectoryAlignment {
    fn read(fields: &mut Fields<'_>) -> Self {
        let order = fields.take("order").and_then(|field| field.choice(&Order::NAMED));
        let args = fields.take("args").map(|field| compare::read("args", field));
        let tools = fields.take("tools").map(|field| field.named()).unwrap_or_default();
        let tools = tools.into_iter().map(|(tool, node)| {
            let key = format!("tools.{tool}");
            (tool.to_owned(), compare::read(&key, node.field(&key, fields.problems())))
        });
        let tools = tools.collect();
        let (order, args) = (order.unwrap_or_default(), args.unwrap_or_default());
        Self { order, args, tools }
    }

    /// Returns the first comparator of: the tool's for that name, the tool's for `*`, the general one for that name, the
    /// general one for `*`, exact.
    fn comparator(&self, tool: &str, argument: &str) -> &Comparator {
        self.tools
            .get(tool)
            .into_iter()
            .chain([&self.args])
            .find_map(|comparators| comparators.get(argument).or_else(|| comparators.get("*")))
            .unwrap_or(&Comparator::Exact)
    }
}

/// Expected and actual calls of a turn.
#[derive(Debug)]
struct Calls<'a> {
    /// `None` if the recording has no such turn.
    invocation_id: Option<&'a str>,
    presence: Presence,
    expected: Vec<Call<'a>>,
    actual: Vec<Call<'a>>,
}

/// Presence of a turn among the golden and the recorded ones.
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

/// Calls of a turn and their pairs.
#[derive(Debug)]
struct Alignment<'a> {
    calls: &'a Calls<'a>,
    expectations: Vec<Expectation<'a>>,
    steps: Vec<Step>,
    score: f64,
}

/// A call or a pair of calls, by position.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// An expected and an actual call.
    Paired { expected: usize, actual: usize, similarity: f64 },
    /// An expected call without an actual one.
    Missing(usize),
    /// An actual call without an expected one.
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
    fn new(calls: &'a Calls<'a>, metric: &'a ToolTrajectoryAlignment) -> Result<Self, Unalignable> {
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

    fn differences(&self, expected: usize, actual: usize) -> Vec<Difference<'_>> {
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

#[cfg(test)]
mod tests;
