//! Run configuration: which evaluators run, with which settings.
//!
//! A configuration is read whole before anything runs: every problem in it is reported at once, each with its place, and
//! a key that nothing reads is a problem too, because a misspelt `treshold` would otherwise silently change a verdict.

mod alignment;
pub(crate) mod document;
mod evaluator;
pub(crate) mod fields;
mod model;
mod overrides;
mod problem;
mod rubrics;
mod run;
mod schema;
pub(crate) mod yaml;

#[cfg(test)]
mod tests;

pub use model::{
    BuiltinConfig, CodeConfig, Config, EvaluatorConfig, EvaluatorKind, OutputFormat, Rubric,
};
pub use overrides::Overrides;
pub use problem::{ConfigError, Place, Problem};
pub use schema::schema;
