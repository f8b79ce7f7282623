//! Evaluations of one program whose processes keep for each other what they have compiled, as long as that works.

use std::{
    path::Path,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    process::{self, Cancellation, CommandSpec, Ending, Limits, Outcome},
    runtime::{CachedCommand, CompileCacheOf},
};

/// What the evaluations of a program are started by.
#[derive(Debug)]
pub(super) struct Cached {
    command: CommandSpec,
    make: CompileCacheOf,
    /// Made by the first evaluation.
    made: OnceLock<Option<CachedCommand>>,
    gone: AtomicBool,
    /// Why evaluations are started as ever after all, until somebody has asked.
    reason: Mutex<Option<String>>,
}

impl Cached {
    /// Nothing is written before the first evaluation.
    pub(super) fn new(command: CommandSpec, make: CompileCacheOf) -> Self {
        let (gone, reason) = (AtomicBool::new(false), Mutex::default());
        Self { command, make, made: OnceLock::new(), gone, reason }
    }

    /// Has one document evaluated by a process that is started so; `None` when it has to be started as ever.
    pub(super) async fn run(
        &self,
        input: &[u8],
        limits: &Limits,
        cancellation: &Cancellation,
    ) -> Option<Outcome> {
        let cached = self.made.get_or_init(|| self.make()).as_ref()?;
        if self.is_gone(&cached.needs) {
            return None;
        }
        let outcome = process::run(&cached.command, input, limits, cancellation).await;
        // It may have gone before it was read; then the evaluator has not begun, and is not to blame.
        let failed = matches!(outcome.ending, Ending::Exited(code) if code != 0);
        if failed && self.is_gone(&cached.needs) {
            return None;
        }
        Some(outcome)
    }

    /// Why evaluations are started as ever, if that was decided since the last call.
    pub(super) fn take_reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn make(&self) -> Option<CachedCommand> {
        (self.make)(&self.command).map_err(|reason| self.give_up(reason)).ok()
    }

    /// Whether somebody has deleted what the command needs, e.g. whoever cleans the folder of temporary files.
    fn is_gone(&self, file: &Path) -> bool {
        if !self.gone.load(Ordering::Relaxed) && file.is_file() {
            return false;
        }
        if !self.gone.swap(true, Ordering::Relaxed) {
            self.give_up(format!("{} was deleted", file.display()));
        }
        true
    }

    fn give_up(&self, reason: String) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }
}
