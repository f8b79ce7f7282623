//! Run configuration: which evaluators run, with which settings.
//!
//! A configuration is read whole before anything runs: every problem in it is reported at once, each with its place, and
//! a key that nothing reads is a problem too, because a misspelt `treshold` would otherwise silently change a verdict.

mod adk;
mod alignment;
pub(crate) mod document;
mod environment;
mod evaluator;
pub(crate) mod fields;
mod json;
mod linked;
mod model;
mod openai_eval;
mod overrides;
mod paths;
mod problem;
mod process;
mod remote;
mod rubrics;
mod run;
mod runnable;
mod schema;
pub(crate) mod size;
pub(crate) mod yaml;

#[cfg(test)]
mod tests;

pub use environment::EnvConfig;
pub use model::{
    BuiltinConfig, CodeConfig, Config, EvaluatorConfig, EvaluatorKind, Interval, Isolation,
    LinkedConfig, MetricInfo, MissingTurns, OutputFormat, RemoteConfig, Rubric, SourcePaths,
};
pub use openai_eval::{Grader, LabelModel, Message, OpenAiEvalConfig, Role, TextSimilarity};
pub use overrides::Overrides;
pub use problem::{ConfigError, Place, Problem};
pub use process::{LimitsConfig, ProcessConfig};
pub use run::Known;
pub use schema::schema;
