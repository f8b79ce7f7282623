//! Checks several evaluators: without running them, then with copies as hosts fetch them.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use super::{
    CheckKind, Finding, Validation,
    copy::Copy,
    smoke::{self, Alone, Ready, counted},
    structure::{self, REQUIREMENTS},
};
use crate::{
    executor::{Executor, wrap_with_defaults},
    hosts::conform::{prepare_on_thread, run_concurrently},
    manifest::{self, DirectoryFile, Language, LoadedManifest},
    process::Cancellation,
    runtime::{
        Entrypoint, Environment, EnvironmentFilter, Inherit, Launch, PrepareError, PrepareEvent,
        Runtimes, Syntax,
    },
};

/// Checks evaluators.
#[derive(Clone, Debug)]
pub struct Validator {
    /// Runtimes.
    pub runtimes: Runtimes,
    /// Executor that contains the evaluators; `None` if they are not contained.
    pub executor: Option<Arc<dyn Executor>>,
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
            executor: None,
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
        directories: &[PathBuf],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Validation> {
        let mut examined = self.examine(directories, on_event).await;
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
        directories: &[PathBuf],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Examined> {
        let (validator, directories) = (self.clone(), directories.to_vec());
        let work = move |on_event: &mut dyn FnMut(PrepareEvent)| {
            validator.examine_blocking(&directories, on_event)
        };
        prepare_on_thread(work, on_event).await.unwrap_or_default()
    }

    fn examine_blocking(
        &self,
        directories: &[PathBuf],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Examined> {
        let mut all: Vec<Examined> = directories
            .iter()
            .map(|directory| Examined::new(directory, &self.runtimes, &self.cancellation))
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
                (Ok(launch), Next::Run(ready)) => ready.alone = Some(Alone { launch, _copy: copy }),
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
        let visible = EnvironmentFilter::new(&Environment::inherited(), Inherit::Open, &[]);
        let contained = self.executor.as_ref().map(|_| Arc::default());
        let entrypoints: Vec<_> = entrypoints
            .iter()
            .map(|it| Entrypoint { contained: contained.clone(), ..it.clone() })
            .collect();
        let launches = self.runtimes.prepare_all(&entrypoints, &self.cancellation, on_event);
        let launches = launches.into_iter().map(|launch| {
            let mut launch = launch?.seeing(&visible);
            if let Some(executor) = &self.executor {
                let command = launch.one_shot.clone();
                let wrapped = wrap_with_defaults(executor.as_ref(), command, &launch.visible);
                launch.one_shot = wrapped.map_err(PrepareError::unusable)?;
            }
            Ok(launch)
        });
        launches.collect()
    }

    async fn run(&self, examined: &mut [Examined]) {
        let tasks: Vec<_> = examined
            .iter_mut()
            .filter_map(|one| match std::mem::replace(&mut one.next, Next::Done) {
                Next::Run(ready) => Some((&mut one.validation, ready)),
                Next::Prepare { .. } | Next::Done => None,
            })
            .map(async |(validation, ready)| {
                let Self { timeout, cancellation, .. } = self;
                let found = smoke::run(&validation.name, &ready, *timeout, cancellation).await;
                (validation, found)
            })
            .collect();
        for (validation, smoke) in run_concurrently(self.jobs, tasks).await {
            validation.add(CheckKind::SmokeRun, smoke.ran);
            validation.add(CheckKind::ResultSchema, smoke.answered);
            validation.notes.extend(smoke.note);
        }
    }
}

/// The checks after the syntax, for which the evaluator is run.
const LATER: &[CheckKind] = &[CheckKind::SmokeRun, CheckKind::ResultSchema];

/// An evaluator before it is run.
pub(super) struct Examined {
    pub(super) validation: Validation,
    pub(super) next: Next,
    /// Its entrypoint, if it is also tested without the other files of its directory.
    pub(super) try_alone: Option<PathBuf>,
}

/// Next step for an evaluator.
pub(super) enum Next {
    /// Prepare it; for a compiled language, this is the syntax check.
    Prepare { entrypoint: PathBuf, syntax_is_open: bool },
    /// Run it.
    Run(Box<Ready>),
    /// None.
    Done,
}

impl Examined {
    /// Checks the manifest and the files. Starts interpreters, but not the evaluator.
    pub(super) fn new(directory: &Path, runtimes: &Runtimes, cancellation: &Cancellation) -> Self {
        match LoadedManifest::load(directory) {
            Ok(loaded) => Self::look(&loaded, runtimes, cancellation),
            Err(error) => {
                let mut validation = Validation::new(name_of(directory), directory);
                validation.manifest_error = Some(error.clone());
                let mut examined = Self { validation, next: Next::Done, try_alone: None };
                let problems = error.to_string().lines().map(str::to_owned).collect();
                examined.validation.add(CheckKind::Manifest, Finding::Failed { problems });
                examined.give_up(
                    &[
                        CheckKind::Files,
                        CheckKind::Syntax,
                        CheckKind::SmokeRun,
                        CheckKind::ResultSchema,
                    ],
                    "the manifest has to be right first",
                );
                examined
            }
        }
    }

    fn look(loaded: &LoadedManifest, runtimes: &Runtimes, cancellation: &Cancellation) -> Self {
        let manifest = &loaded.manifest;
        let entrypoint = loaded.entrypoint();
        let mut validation = Validation::new(manifest.name.clone(), &loaded.directory);
        let detail = format!("{}, {}", manifest.language, manifest.entrypoint);
        validation.add(CheckKind::Manifest, Finding::ok(detail));

        let mut sources = vec![entrypoint.clone()];
        let mut try_alone = None;
        let files = match manifest::files(&loaded.directory, loaded.language) {
            Ok(files) => {
                sources.extend(files.iter().map(|file| loaded.directory.join(&file.path)));
                if has_companions(loaded.language, &manifest.entrypoint, &files) {
                    try_alone = Some(entrypoint.clone());
                }
                match structure::package_problems(loaded) {
                    problems if problems.is_empty() => Finding::ok(counted(files.len(), "file")),
                    problems => Finding::Failed { problems },
                }
            }
            Err(problems) => Finding::Failed { problems },
        };
        validation.add(CheckKind::Files, files);
        if loaded.language == Language::Python {
            let (problems, notes) = structure::python_problems(&entrypoint);
            let finding = match problems.len() {
                0 => Finding::ok("can be imported and started"),
                _ => Finding::Failed { problems },
            };
            validation.add(CheckKind::Structure, finding);
            validation.notes.extend(notes);
        }
        let mut examined = Self { validation, next: Next::Done, try_alone };
        examined.syntax(entrypoint, sources, runtimes, cancellation);
        examined
    }

    fn syntax(
        &mut self,
        entrypoint: PathBuf,
        sources: Vec<PathBuf>,
        runtimes: &Runtimes,
        cancellation: &Cancellation,
    ) {
        let runtime = match runtimes.for_path(&entrypoint) {
            Ok(runtime) => runtime,
            Err(error) => {
                self.validation.add(CheckKind::Syntax, Finding::failed(error.to_string()));
                return self.give_up(LATER, "no runtime takes it");
            }
        };
        let name = runtime.name().to_owned();
        let mut read = 0;
        let mut problems = Vec::new();
        // The entrypoint is the first source, and also one of the files.
        for (index, source) in sources.iter().enumerate() {
            let is_source = runtimes.for_path(source).is_ok_and(|runtime| runtime.name() == name);
            if !is_source || (index > 0 && *source == entrypoint) {
                continue;
            }
            match runtime.check_syntax(source, cancellation) {
                Syntax::Sound => read += 1,
                Syntax::Broken { rendered } => {
                    problems.push(format!("{} cannot be read:\n{rendered}", source.display()));
                }
                Syntax::Unchecked { reason } => {
                    self.validation.add(CheckKind::Syntax, Finding::skipped(reason));
                    return self.give_up(LATER, "nothing here can read its source");
                }
                Syntax::WhenPrepared => {
                    self.next = Next::Prepare { entrypoint, syntax_is_open: true };
                    return;
                }
            }
        }
        if problems.is_empty() {
            let detail = format!("{name}, {}", counted(read, "file"));
            self.validation.add(CheckKind::Syntax, Finding::ok(detail));
            self.next = Next::Prepare { entrypoint, syntax_is_open: false };
        } else {
            self.validation.add(CheckKind::Syntax, Finding::Failed { problems });
            self.give_up(LATER, "its source has to be right first");
        }
    }

    /// Adds the result of the preparation.
    pub(super) fn prepared(
        &mut self,
        syntax_is_open: bool,
        launch: Result<Launch, PrepareError>,
        cancellation: &Cancellation,
    ) {
        let kind = if syntax_is_open { CheckKind::Syntax } else { CheckKind::SmokeRun };
        self.next = Next::Done;
        let finding = match launch {
            Ok(launch) => {
                if syntax_is_open {
                    self.validation.add(CheckKind::Syntax, Finding::ok("compiled"));
                }
                self.next = Next::Run(Box::new(Ready { launch, alone: None }));
                return;
            }
            Err(_) if cancellation.is_cancelled() => Finding::skipped("it was interrupted"),
            // A package may not exist, or the index may not be reachable.
            Err(
                error @ (PrepareError::RuntimeMissing { .. } | PrepareError::InstallFailed { .. }),
            ) => Finding::skipped(error.to_string()),
            Err(PrepareError::BuildFailed { summary, rendered }) => {
                Finding::failed(format!("{summary}\n{}", rendered.trim_end()).trim_end())
            }
            Err(error) => Finding::failed(error.to_string()),
        };
        self.validation.add(kind, finding);
        let rest = if syntax_is_open { LATER } else { &LATER[1..] };
        self.give_up(rest, "it could not be prepared");
    }

    /// Skips the run: the evaluator cannot be tested without the other files of its directory.
    pub(super) fn never_alone(&mut self, reason: &str) {
        let reason = format!("it could not be tried as hosts fetch it: {reason}");
        self.validation.add(CheckKind::SmokeRun, Finding::skipped(reason));
        self.give_up(&[CheckKind::ResultSchema], "it could not be prepared");
    }

    fn give_up(&mut self, checks: &[CheckKind], reason: &str) {
        for &kind in checks {
            self.validation.add(kind, Finding::skipped(reason));
        }
        self.next = Next::Done;
    }
}

fn name_of(directory: &Path) -> String {
    let resolved = directory.canonicalize();
    let directory = resolved.as_deref().unwrap_or(directory);
    directory.file_name().unwrap_or(directory.as_os_str()).to_string_lossy().into_owned()
}

/// Returns true if the directory has files that hosts do not fetch.
///
/// Hosts fetch whole packages, but of other evaluators only the entrypoint and the requirements next to it.
pub(super) fn has_companions(
    language: Language,
    entrypoint: &str,
    files: &[DirectoryFile],
) -> bool {
    let requirements = match entrypoint.rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/{REQUIREMENTS}"),
        None => REQUIREMENTS.to_owned(),
    };
    let fetched = [entrypoint, &requirements, manifest::FILE_NAME];
    language != Language::Rust && files.iter().any(|file| !fetched.contains(&&*file.path))
}
