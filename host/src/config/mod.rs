//! Run configuration: the evaluators of a run and their settings.
//!
//! A configuration is read completely before anything runs. All problems are reported at once, each with its position. A key
//! that nothing reads is a problem, too: a misspelt `treshold` would otherwise silently change a verdict.

mod adk;
mod containment;
mod evaluator;
mod gates;
mod library;
mod llm_judge;
mod model;
mod mutate;
mod openai_eval;
mod output;
mod overrides;
mod paths;
mod process;
mod read;
mod reader;
mod schema;
mod shared;

pub use evaluator_document::{ConfigError, Place, Problem};
pub use evaluator_engine::{transcripts::Transcripts, work::MissingTurns};
pub use evaluator_judging::JudgeSettings;

pub use containment::{ContainmentConfig, changeable_paths};
pub use gates::GateOverrides;
pub use llm_judge::LlmJudgeConfig;
pub use model::{
    BuiltinConfig, CodeConfig, Config, EvaluatorConfig, EvaluatorKind, Isolation, LinkedConfig,
    RemoteConfig, SourcePaths,
};
pub use openai_eval::{OpenAiEvalConfig, ServerConfig};
pub use output::OutputFormat;
pub use overrides::Overrides;
pub use paths::NamedPath;
pub use process::{EnvConfig, LimitsConfig, ProcessConfig};
pub use schema::{schema, schema_line};

#[cfg(test)]
mod tests;
