//! Checks several evaluators.

use std::{num::NonZeroUsize, path::PathBuf, thread, time::Duration};

use super::{
    CheckKind, Validation,
    examine::{Alone, Copy, Examined, Next, counted},
    smoke,
};
use crate::{
    hosts::conform::{prepare_on_thread, run_concurrently},
    process::Cancellation,
    runtime::{
        Entrypoint, Environment, Inherit, Launch, PrepareError, PrepareEvent, Runtimes, Visible,
    },
};

/// Checks evaluators.
#[derive(Clone, Debug)]
pub struct Validator {
    /// Runtimes.
    pub runtimes: Runtimes,
    /// Time limit for one document; 30 s by default.
    pub timeout: Duration,
    /// Number of evaluators that run at a time; the number of processors by default.
    pub jobs: NonZeroUsize,
    /// Cancels the checks; those that were not done are skipped.
    pub cancellation: Cancellation,
}

impl Default for Validator {
    fn default() -> Self {
        Self {
            runtimes: Runtimes::default(),
            timeout: Duration::from_secs(30),
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            cancellation: Cancellation::new(),
        }
    }
}

impl Validator {
    /// Checks the evaluators in these directories; returns one report for each, in their order.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled.
    pub async fn validate(
        &self,
        folders: &[PathBuf],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Validation> {
        let mut examined = self.examine(folders, on_event).await;
        let ready = examined.iter().filter(|one| matches!(one.next, Next::Run(_))).count();
        if ready > 0 {
            let what = format!("running {}", counted(ready, "evaluator"));
            on_event(PrepareEvent::Started { what: what.clone() });
            self.run(&mut examined).await;
            on_event(PrepareEvent::Finished { what });
        }
        examined.into_iter().map(|one| one.validation).collect()
    }

    /// Does everything before the evaluators are run.
    async fn examine(
        &self,
        folders: &[PathBuf],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Examined> {
        let (validator, folders) = (self.clone(), folders.to_vec());
        let work = move |on_event: &mut dyn FnMut(PrepareEvent)| {
            validator.examine_blocking(&folders, on_event)
        };
        prepare_on_thread(work, on_event).await.unwrap_or_default()
    }

    fn examine_blocking(
        &self,
        folders: &[PathBuf],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Examined> {
        let mut all: Vec<Examined> = folders
            .iter()
            .map(|folder| Examined::new(folder, &self.runtimes, &self.cancellation))
            .collect();
        let (waiting, entrypoints): (Vec<_>, Vec<_>) = all
            .iter()
            .enumerate()
            .filter_map(|(index, one)| match &one.next {
                Next::Prepare { entrypoint, syntax_is_open } => {
                    Some(((index, *syntax_is_open), entrypoint.clone().into()))
                }
                Next::Run(_) | Next::Done => None,
            })
            .unzip();
        let launches = self.prepare(&entrypoints, on_event);
        for ((index, syntax_is_open), launch) in waiting.into_iter().zip(launches) {
            all[index].prepared(syntax_is_open, launch, &self.cancellation);
        }
        self.isolate(&mut all, on_event);
        all
    }

    /// Prepares copies of evaluators that are also tested without the other files of their directories.
    fn isolate(&self, all: &mut [Examined], on_event: &mut dyn FnMut(PrepareEvent)) {
        let mut copies = Vec::new();
        for (index, one) in all.iter_mut().enumerate() {
            if let (Next::Run(_), Some(entrypoint)) = (&one.next, &one.try_alone) {
                match Copy::new(entrypoint) {
                    Ok(copy) => copies.push((index, copy)),
                    Err(error) => one.never_alone(&error.to_string()),
                }
            }
        }
        let entrypoints: Vec<_> =
            copies.iter().map(|(_, copy)| copy.entrypoint.clone().into()).collect();
        let launches = self.prepare(&entrypoints, on_event);
        for ((index, copy), launch) in copies.into_iter().zip(launches) {
            match (launch, &mut all[index].next) {
                (Ok(launch), Next::Run(ready)) => ready.alone = Some(Alone::new(launch, copy)),
                (Ok(_), _) => {}
                (Err(error), _) => all[index].never_alone(&error.to_string()),
            }
        }
    }

    /// Prepares evaluators with the environment of a run, which has no secrets.
    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let visible = Visible::new(&Environment::inherited(), Inherit::Open, &[]);
        let launches = self.runtimes.prepare_all(entrypoints, &self.cancellation, on_event);
        launches.into_iter().map(|launch| launch.map(|launch| launch.seeing(&visible))).collect()
    }

    async fn run(&self, examined: &mut [Examined]) {
        let mut indexes = Vec::new();
        let mut tasks = Vec::new();
        for (index, one) in examined.iter_mut().enumerate() {
            let Next::Run(ready) = std::mem::replace(&mut one.next, Next::Done) else { continue };
            let (name, timeout) = (one.validation.name.clone(), self.timeout);
            let cancellation = self.cancellation.clone();
            indexes.push(index);
            tasks.push(async move { smoke::run(&name, &ready, timeout, &cancellation).await });
        }
        let results = run_concurrently(self.jobs, tasks).await;
        for (index, (ran, answered)) in indexes.into_iter().zip(results) {
            let validation = &mut examined[index].validation;
            validation.add(CheckKind::SmokeRun, ran);
            validation.add(CheckKind::ResultSchema, answered);
        }
    }
}
