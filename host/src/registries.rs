//! Registries: everything that a configuration can name and a run can use. Extensions are registered there.

use crate::{
    conversation::Conventions,
    executor::Executors,
    linked::LinkedEvaluators,
    metric::{self, Metrics},
    models::Providers,
    runtime::Runtimes,
    source::Sources,
    trace::TraceFormats,
};

/// Everything that a configuration can name. [`Default`] has what is built in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Registries {
    /// Runtimes of programs, by file extension.
    pub runtimes: Runtimes,
    /// Environments in which programs run.
    pub executors: Executors,
    /// Built-in metrics.
    pub metrics: Metrics,
    /// Providers of models that judge.
    pub models: Providers,
    /// Trace formats.
    pub trace_formats: TraceFormats,
    /// Conventions by which spans are read.
    pub conventions: Conventions,
    /// Evaluators that run in this process.
    pub linked: LinkedEvaluators,
    /// Sources of `type: remote` evaluators.
    pub sources: Sources,
}

impl Default for Registries {
    fn default() -> Self {
        Self {
            runtimes: Runtimes::default(),
            executors: Executors::default(),
            metrics: metric::built_in(),
            models: Providers::default(),
            trace_formats: TraceFormats::default(),
            conventions: Conventions::default(),
            linked: LinkedEvaluators::default(),
            sources: Sources::default(),
        }
    }
}
