//! All checks of several evaluators.

use std::{
    num::NonZeroUsize, panic::resume_unwind, path::PathBuf, sync::Arc, thread, time::Duration,
};

use tokio::{
    sync::{Semaphore, mpsc},
    task::{self, JoinSet},
};

use super::{
    CheckKind, Validation,
    alone::{Alone, Copy},
    examine::{Examined, Next, counted},
    smoke,
};
use crate::{
    process::Cancellation,
    runtime::{
        Entrypoint, Environment, EnvironmentFilter, Inherit, Launch, PrepareError, PrepareEvent,
        Runtimes,
    },
};

/// Checks evaluators.
#[derive(Clone, Debug)]
pub struct Validator {
    /// Languages.
    pub runtimes: Runtimes,
    /// How long an evaluator may take for one document; 30 s by default.
    pub timeout: Duration,
    /// Evaluators that run at a time; as many as there are processors by default.
    pub jobs: NonZeroUsize,
    /// Ends the checks early when cancelled; those that were not done count as skipped.
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
    /// Checks the evaluators in these folders; one answer for each, in their order.
    ///
    /// Whatever is wrong with one of them does not keep the others from being checked. Must be called inside a tokio
    /// runtime with time and I/O enabled.
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

    /// Everything before the evaluators are run, on a thread of its own: compilers take their time.
    async fn examine(
        &self,
        folders: &[PathBuf],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Examined> {
        let (sender, mut events) = mpsc::unbounded_channel();
        let (validator, folders) = (self.clone(), folders.to_vec());
        let examining = task::spawn_blocking(move || {
            // Whoever waits for the events waits for the end of this, too.
            validator.examine_blocking(&folders, &mut |event| drop(sender.send(event)))
        });
        while let Some(event) = events.recv().await {
            on_event(event);
        }
        match examining.await {
            Ok(examined) => examined,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // Only a runtime that is shut down gives such work up, and this call with it.
                Err(_) => Vec::new(),
            },
        }
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

    /// Makes copies ready of those that are to be tried without the other files of their folders.
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

    /// Makes evaluators ready, which see what a run would show them: none of the secrets of this process.
    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let visible = EnvironmentFilter::new(&Environment::inherited(), Inherit::Open, &[]);
        let launches = self.runtimes.prepare_all(entrypoints, &self.cancellation, on_event);
        launches.into_iter().map(|launch| launch.map(|launch| launch.seeing(&visible))).collect()
    }

    async fn run(&self, examined: &mut [Examined]) {
        let permits = Arc::new(Semaphore::new(self.jobs.get().min(Semaphore::MAX_PERMITS)));
        let mut tasks = JoinSet::new();
        for (index, one) in examined.iter_mut().enumerate() {
            let Next::Run(ready) = std::mem::replace(&mut one.next, Next::Done) else { continue };
            let name = one.validation.name.clone();
            let (permits, cancellation) = (Arc::clone(&permits), self.cancellation.clone());
            let timeout = self.timeout;
            tasks.spawn(async move {
                // Never closed; a task without a permit is as good as one with it.
                let _permit = permits.acquire().await.ok();
                (index, smoke::run(&name, &ready, timeout, &cancellation).await)
            });
        }
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((index, (ran, answered))) => {
                    let validation = &mut examined[index].validation;
                    validation.add(CheckKind::SmokeRun, ran);
                    validation.add(CheckKind::ResultSchema, answered);
                }
                Err(error) => {
                    if let Ok(panic) = error.try_into_panic() {
                        resume_unwind(panic);
                    }
                }
            }
        }
    }
}
