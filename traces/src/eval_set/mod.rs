//! Eval sets: golden conversations, and finding the one a recording belongs to.

mod error;
mod load;
mod matching;
mod model;
mod shape;

pub use error::{EvalSetError, EvalSetErrorKind, FieldProblem};
pub use matching::{CaseIndex, Doubt, Matched, Unmatched};
pub use model::{EvalCase, EvalSet, ExpectedCall, ExpectedResponse, ExpectedTurn};
