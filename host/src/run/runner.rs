//! Settings of a run.

use std::{num::NonZeroUsize, path::Path, sync::Arc, thread};

use evaluator_engine::{attributes::Attributes, settings::ExecutionSettings};

use crate::{
    config::{Config, ConfigError},
    judging::Session,
    models::{Secret, Waits},
    process::Cancellation,
    registries::Registries,
    report::{REPORT_MEMORY, run_file::RunFile},
    source::Cache,
};

/// Settings of runs and checks. The fields can be set one by one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Runner {
    /// Everything that a configuration can name; extensions are registered here.
    pub registries: Registries,
    /// Session of the run with models, see [`judges`](Self::judges). The run opens one if it is `None`, which is the default.
    pub session: Option<Session>,
    /// Cache of fetched evaluators.
    pub cache: Cache,
    /// Whether remote evaluators that `evaluators.lock` does not name are errors, instead of being added to it. Default:
    /// `false`.
    pub locked: bool,
    /// Maximum number of concurrent evaluations. Default: number of processors.
    pub jobs: NonZeroUsize,
    /// Bytes of results in memory; further results are in a temporary file until the report is dropped. Default: 1 MiB.
    pub report_memory: usize,
    /// File in which the run is saved. Default: none.
    pub run_file: Option<Arc<RunFile>>,
    /// Whether evaluators get fingerprints although the run is not saved, e.g. because it becomes a baseline or has evaluators with
    /// certificates, which do not hold without. Default: `false`.
    pub identify: bool,
    /// Cancels the run: running evaluations are killed and no others start.
    pub cancellation: Cancellation,
    /// Receives messages about waits for other processes that write the same cassettes.
    pub waits: Waits,
}

impl Default for Runner {
    fn default() -> Self {
        Self {
            registries: Registries::default(),
            session: None,
            cache: Cache::default(),
            locked: false,
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            report_memory: REPORT_MEMORY,
            run_file: None,
            identify: false,
            cancellation: Cancellation::new(),
            waits: Waits::default(),
        }
    }
}

impl Runner {
    /// Reads a configuration file, which may name everything that is registered here.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with all problems and their positions.
    pub fn load_config(&self, file: &Path) -> Result<Config, ConfigError> {
        Config::load_for(file, &self.registries)
    }

    /// Returns true if evaluators get fingerprints.
    pub(super) fn identifies(&self) -> bool {
        self.identify || self.run_file.is_some()
    }

    /// Returns the secrets of this process, and those that a configuration names.
    fn secrets(&self, config: &Config) -> Vec<Secret> {
        self.environment().secrets.into_iter().chain(config.secrets()).collect()
    }

    /// Returns the settings of executions of a configuration.
    pub(super) fn execution_of(&self, config: &Config) -> ExecutionSettings {
        ExecutionSettings { secrets: self.secrets(config), ..self.execution() }
    }

    /// Returns the settings of executions.
    pub(super) fn execution(&self) -> ExecutionSettings {
        ExecutionSettings {
            jobs: self.jobs,
            cancellation: self.cancellation.clone(),
            secrets: self.environment().secrets,
            is_identified: self.identifies(),
        }
    }

    /// Returns the attributes of a configuration.
    pub(super) fn attributes(&self, config: &Config) -> Attributes {
        let Config { case_key, cluster, by, .. } = config;
        let (case_key, cluster, by) = (case_key.clone(), cluster.clone(), by.clone());
        Attributes::new(case_key, cluster, by, self.secrets(config))
    }

    /// Reads the text of a configuration; `file` is its name in messages. Does not resolve paths.
    ///
    /// # Errors
    ///
    /// As [`load_config`](Self::load_config).
    pub fn parse_config(&self, text: &str, file: &Path) -> Result<Config, ConfigError> {
        Config::parse_for(text, file, &self.registries)
    }
}
