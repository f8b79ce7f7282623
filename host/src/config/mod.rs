//! Run configuration: which evaluators run, with which settings.
//!
//! A configuration is read whole before anything runs: every problem in it is reported at once, each with its place, and
//! a key that nothing reads is a problem too, because a misspelt `treshold` would otherwise silently change a verdict.

mod alignment;
mod evaluator;
mod fields;
mod model;
mod overrides;
mod problem;
mod remote;
mod rubrics;
mod run;
mod schema;
pub(crate) mod yaml;

#[cfg(test)]
mod tests;

pub use model::{
    BuiltinConfig, CodeConfig, Config, EvaluatorConfig, EvaluatorKind, OutputFormat, RemoteConfig,
    Rubric, SourcePaths,
};
pub use overrides::Overrides;
pub use problem::{ConfigError, Place, Problem};
pub use schema::schema;
