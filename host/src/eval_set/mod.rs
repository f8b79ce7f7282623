//! Eval sets: golden conversations, and finding the one a recording belongs to.

mod model;

pub use model::{EvalCase, EvalSet, ExpectedCall, ExpectedResponse, ExpectedTurn};
