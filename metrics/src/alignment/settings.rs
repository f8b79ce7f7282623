//! The metric and its settings.

use evaluator_document::Fields;

use super::compare::{self, Comparator, Comparators};

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
    pub(super) order: Order,
    /// Comparators for the arguments of all tools.
    pub(super) args: Comparators,
    /// Comparators for the arguments of single tools. They precede `args`.
    pub(super) tools: indexmap::IndexMap<String, Comparators>,
}

/// Whether the order of calls counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// Paired calls have the same order on both sides.
    #[default]
    Ordered,
    /// Any call may be paired with any other.
    Unordered,
}

impl Order {
    pub(super) const NAMED: [(&str, Self); 2] =
        [("ordered", Self::Ordered), ("unordered", Self::Unordered)];
}

impl ToolTrajectoryAlignment {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
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
    pub(super) fn comparator(&self, tool: &str, argument: &str) -> &Comparator {
        self.tools
            .get(tool)
            .into_iter()
            .chain([&self.args])
            .find_map(|comparators| comparators.get(argument).or_else(|| comparators.get("*")))
            .unwrap_or(&Comparator::Exact)
    }
}
