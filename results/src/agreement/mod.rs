//! Evaluators held against labels of people, and against each other.
//!
//! | file | contents |
//! |---|---|
//! | `model` | the agreement as data |
//! | `talks` | conversations of a run, with what evaluators say about them |
//! | `matching` | which label belongs to which conversation |
//! | `raters` | what several people say about a conversation together |
//! | `measure` | an evaluator against a reference |
//! | `decide` | whether kappa is high enough |
//! | `sheet` | conversations for people to label |
//! | `build` | all evaluators |

mod build;
mod decide;
mod matching;
mod measure;
mod model;
mod raters;
mod sheet;
mod talks;

#[cfg(test)]
mod tests;

pub use model::{
    Agreement, AgreementError, AgreementSettings, ComparedLabel, Disagreement, EvaluatorAgreement,
    KappaEstimate, MinKappa, RaterComment, Raters, without_minus_zero,
};
pub use sheet::{Sheet, SheetRow, SheetSettings};
