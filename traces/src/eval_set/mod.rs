//! Eval sets: golden conversations, and finding the one a recording belongs to.

mod load;
mod matching;
mod shape;

pub use load::{
    EvalCase, EvalSet, EvalSetError, EvalSetErrorKind, ExpectedCall, ExpectedResponse,
    ExpectedTurn, FieldProblem,
};
pub use matching::{CaseIndex, Doubt, Matched, Unmatched};
