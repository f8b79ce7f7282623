//! Mutation testing of evaluators: damage of conversations, and whether it is noticed.
//!
//! This crate makes no promise of stability; `evaluator mutate` uses it.
//!
//! An evaluator that never says no is green forever. [`OPERATORS`] damage conversations that an evaluator passes, each at every
//! place where it can; [`RELATIONS`] change what must not matter. What an evaluator has to notice depends on what it measures,
//! its [`Kind`]. Nothing is evaluated here: a [`Draft`] chooses the edits, [`Mutation::apply`] makes them, and [`Sums`] counts
//! their outcomes.
//!
//! | file | contents |
//! |---|---|
//! | `kind` | [`Kind`], [`Effect`], [`Expectations`]; those of built-in metrics |
//! | `subject` | [`Subject`]: a conversation that is damaged; [`Site`]: a place in it |
//! | `operator` | the tables of operators and relations; [`Mutation`]: an edit with its name |
//! | `calls`, `answers`, `injection`, `relations` | the edits |
//! | `values` | edits of values that they share |
//! | `plan` | [`Draft`]: a sample of all possible edits |
//! | `outcome` | [`Outcome`] of a damaged conversation |
//! | `report` | [`EvaluatorReport`]: sums, survivors, violations |
//! | `diff` | [`diff()`]: the difference between two documents; [`changed()`]: its size |

mod answers;
mod calls;
mod diff;
mod injection;
mod kind;
mod operator;
mod outcome;
mod plan;
mod relations;
mod report;
mod subject;
mod values;

pub use diff::{changed, diff};
pub use kind::{Effect, Expectations, Kind, of_metric};
pub use operator::{GOLDEN, Mutation, OPERATORS, OTHER_ORDER, Operator, RELATIONS};
pub use outcome::{NOTICED, Observed, Outcome};
pub use plan::{Choice, Draft, Role, Trial};
pub use report::{
    Counts, EvaluatorReport, MutationReport, OperatorCounts, Rate, RelationCounts, Shown, Sums,
    Tried, Undamaged, Violation,
};
pub use subject::{Site, Subject};
