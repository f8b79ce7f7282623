//! Eval sets: golden conversations, and finding the one a recording belongs to.

mod load;
mod matching;
mod model;
mod shape;

pub use matching::{CaseIndex, Doubt, Matched, Unmatched};
pub use model::{
    EvalCase, EvalSet, EvalSetError, EvalSetErrorKind, ExpectedCall, ExpectedResponse,
    ExpectedTurn, FieldProblem,
};
