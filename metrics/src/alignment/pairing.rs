//! Pairs of expected and actual calls whose similarities have the greatest sum.

use super::settings::Order;

/// Similarities of all calls: a row per expected call, a column per actual one.
#[derive(Clone, Debug)]
pub(super) struct Similarities {
    columns: usize,
    values: Vec<f64>,
}

/// An expected and an actual call, by position.
pub(super) type Pair = (usize, usize);

impl Similarities {
    pub(super) fn new(rows: usize, columns: usize, similar: impl Fn(usize, usize) -> f64) -> Self {
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        Self { columns, values: cells.map(|(row, column)| similar(row, column)).collect() }
    }

    pub(super) fn get(&self, (row, column): Pair) -> f64 {
        self.values[row * self.columns + column]
    }

    fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or_default()
    }
}

/// Maximum number of similarities in memory.
const MOST_PAIRS: usize = 1_000_000;

/// Maximum steps of an assignment: less than a second for the hardest turn.
const MOST_STEPS: usize = 100_000_000;

/// Returns true if that number of calls can be paired within the limits.
pub(super) fn is_feasible(order: Order, expected: usize, actual: usize) -> bool {
    let pairs = expected.saturating_mul(actual);
    let steps = pairs.saturating_mul(expected.min(actual));
    pairs <= MOST_PAIRS && (order == Order::Ordered || steps <= MOST_STEPS)
}

/// Returns the best pairs, by the position of the expected call. Calls without a similarity are not paired.
pub(super) fn best(order: Order, similarities: &Similarities) -> Vec<Pair> {
    let mut pairs = match order {
        Order::Ordered => in_order(similarities),
        Order::Unordered => in_any_order(similarities),
    };
    pairs.retain(|pair| similarities.get(*pair) > 0.0);
    pairs.sort_unstable();
    pairs
}

/// Global alignment of two sequences by dynamic programming (Needleman and Wunsch 1970), with gaps of cost 0.
fn in_order(similarities: &Similarities) -> Vec<Pair> {
    let (rows, columns) = (similarities.rows(), similarities.columns);
    // `best[row][column]` is the greatest sum of the calls after `row` and `column`, inclusive.
    let width = columns + 1;
    let mut best = vec![0.0_f64; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let paired = similarities.get((row, column)) + best[(row + 1) * width + column + 1];
            let apart = best[(row + 1) * width + column].max(best[row * width + column + 1]);
            best[row * width + column] = paired.max(apart);
        }
    }
    let mut pairs = Vec::new();
    let (mut row, mut column) = (0, 0);
    while row < rows && column < columns {
        let here = best[row * width + column];
        let paired = similarities.get((row, column)) + best[(row + 1) * width + column + 1];
        // These are the sums of the first pass, so one of them is equal; of equal ones the first pair wins.
        if similarities.get((row, column)) > 0.0 && paired >= here {
            pairs.push((row, column));
            (row, column) = (row + 1, column + 1);
        } else if best[(row + 1) * width + column] >= here {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

/// The assignment of least cost, by the Hungarian method (Kuhn 1955, Munkres 1957) as shortest augmenting paths over potentials
/// (Jonker and Volgenant 1987): row after row is assigned along the cheapest path. Takes time in the order of
/// `fewer² * more`.
fn in_any_order(similarities: &Similarities) -> Vec<Pair> {
    let (rows, columns) = (similarities.rows(), similarities.columns);
    let turned = rows > columns;
    let (fewer, more) = if turned { (columns, rows) } else { (rows, columns) };
    let pair = |few: usize, many: usize| if turned { (many, few) } else { (few, many) };
    let cost = |few: usize, many: usize| 1.0 - similarities.get(pair(few, many));

    // A path begins at column `more`, which holds the row that is being assigned.
    let begin = more;
    let mut row_potential = vec![0.0_f64; fewer];
    let mut column_potential = vec![0.0_f64; more + 1];
    let mut assigned: Vec<Option<usize>> = vec![None; more + 1];
    for row in 0..fewer {
        assigned[begin] = Some(row);
        let mut column = begin;
        // For each column, the least reduced cost of a path to it and the preceding column on that path.
        let mut least = vec![f64::INFINITY; more];
        let mut before = vec![begin; more];
        let mut reached = vec![false; more + 1];
        while let Some(row) = assigned[column] {
            reached[column] = true;
            let mut step = f64::INFINITY;
            let mut next = column;
            for other in (0..more).filter(|&other| !reached[other]) {
                let reduced = cost(row, other) - row_potential[row] - column_potential[other];
                if reduced < least[other] {
                    least[other] = reduced;
                    before[other] = column;
                }
                // Of columns of equal cost, which are frequent here, a free one ends the path.
                if least[other] < step || least[other] == step && assigned[other].is_none() {
                    step = least[other];
                    next = other;
                }
            }
            for other in 0..=more {
                if reached[other] {
                    column_potential[other] -= step;
                    if let Some(row) = assigned[other] {
                        row_potential[row] += step;
                    }
                } else {
                    least[other] -= step;
                }
            }
            column = next;
        }
        // The path ends at a free column: every row on it moves to the next column.
        while column != begin {
            assigned[column] = assigned[before[column]];
            column = before[column];
        }
    }
    let pairs = assigned[..more].iter().enumerate();
    pairs.filter_map(|(many, few)| few.map(|few| pair(few, many))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The greatest sum over everything that may be paired, found by trying it all.
    fn exhaustive(
        order: Order,
        similarities: &Similarities,
        row: usize,
        used: &mut Vec<bool>,
    ) -> f64 {
        if row == similarities.rows() {
            return 0.0;
        }
        let mut best = exhaustive(order, similarities, row + 1, used);
        let first = match order {
            Order::Ordered => used.iter().rposition(|used| *used).map_or(0, |last| last + 1),
            Order::Unordered => 0,
        };
        for column in first..similarities.columns {
            if !used[column] {
                used[column] = true;
                let rest = exhaustive(order, similarities, row + 1, used);
                best = best.max(similarities.get((row, column)) + rest);
                used[column] = false;
            }
        }
        best
    }

    fn similarities() -> impl Strategy<Value = Similarities> {
        // Few different values make many ties; others come from no formula.
        let value = prop_oneof![
            2 => Just(0.0),
            1 => Just(1.0),
            2 => prop::sample::select(vec![0.25, 1.0 / 3.0, 0.5, 2.0 / 3.0, 0.75]),
            1 => 0.0..=1.0_f64,
        ];
        (0..6_usize, 0..6_usize).prop_flat_map(move |(rows, columns)| {
            prop::collection::vec(value.clone(), rows * columns).prop_map(move |values| {
                Similarities::new(rows, columns, |row, column| values[row * columns + column])
            })
        })
    }

    proptest! {
        #[test]
        fn nothing_is_better_than_what_is_found(similarities in similarities()) {
            for (_, order) in Order::NAMED {
                let pairs = best(order, &similarities);
                let found: f64 = pairs.iter().map(|pair| similarities.get(*pair)).sum();
                let mut used = vec![false; similarities.columns];
                let greatest = exhaustive(order, &similarities, 0, &mut used);
                prop_assert!((found - greatest).abs() < 1e-12, "{order:?}: {found} {greatest}");
            }
        }

        #[test]
        fn pairs_are_pairs(similarities in similarities()) {
            for (_, order) in Order::NAMED {
                let pairs = best(order, &similarities);
                prop_assert!(pairs.iter().all(|pair| similarities.get(*pair) > 0.0));
                prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0));
                let mut columns: Vec<usize> = pairs.iter().map(|(_, column)| *column).collect();
                if order == Order::Ordered {
                    prop_assert!(columns.is_sorted());
                }
                columns.sort_unstable();
                prop_assert!(columns.windows(2).all(|two| two[0] < two[1]), "used twice");
            }
        }
    }

    #[test]
    fn order_counts_only_where_it_should() {
        let crossed = Similarities::new(2, 2, |row, column| if row == column { 0.0 } else { 1.0 });
        assert_eq!(best(Order::Ordered, &crossed).len(), 1);
        assert_eq!(best(Order::Unordered, &crossed), [(0, 1), (1, 0)]);
    }
}
