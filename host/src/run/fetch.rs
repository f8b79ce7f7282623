//! The evaluators of a run that come from sources.

use std::path::{Path, PathBuf};

use super::{RunEvent, Runner};
use crate::{
    config::Config,
    runtime::PrepareEvent,
    source::{self, Builtin, Context, Pins, Resolved, SourceError, Sources, Updated, Wanted},
};

impl Runner {
    /// Returns the sources of a run: those of this runner, with `file` and `local` at the paths of the configuration.
    pub fn sources_of(&self, config: &Config) -> Sources {
        self.sources_at(config.sources.file.as_deref(), config.sources.local.as_deref())
    }

    /// Returns the sources of this runner, with `file` and `local` at these paths; `builtin` lists the metrics of this
    /// runner.
    pub fn sources_at(&self, index: Option<&Path>, directory: Option<&Path>) -> Sources {
        let mut sources = self.registries.sources.located(index, directory);
        sources.register_source(Builtin::new(self.registries.metrics.clone()));
        sources
    }

    /// Fetches these evaluators again and updates their pins in the lock file of the configuration. Blocks.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the lock file cannot be read.
    pub fn update(
        &self,
        wanted: &[Wanted],
        config: &Config,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<Vec<Updated>, SourceError> {
        self.in_context(config, |context| source::update(wanted, context, on_event))
    }

    /// Returns the description of an evaluator of a source without fetching it, and its file if that is in the cache.
    pub(super) fn peek(
        &self,
        wanted: &Wanted,
        config: &Config,
    ) -> Result<(String, Option<PathBuf>), SourceError> {
        self.in_context(config, |context| source::peek(wanted, context))
    }

    /// Fetches evaluators. Returns one result for each of `wanted`, in their order.
    pub(super) fn fetch(
        &self,
        wanted: &[Wanted],
        config: &Config,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Vec<Result<Resolved, SourceError>> {
        self.in_context(config, |context| {
            let mut on_event = |event| on_event(RunEvent::Prepare(event));
            source::resolve(wanted, context, &mut on_event)
        })
    }

    fn in_context<T>(&self, config: &Config, work: impl FnOnce(Context<'_>) -> T) -> T {
        work(Context {
            sources: &self.sources_of(config),
            cache: &self.cache,
            lock_file: &Pins::file_of(config.file.as_deref()),
            locked: self.locked,
            cancellation: &self.cancellation,
        })
    }
}
