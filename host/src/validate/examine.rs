//! Checks that do not run the evaluator, and copies of evaluators as hosts fetch them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    CheckKind, Finding, Validation,
    structure::{self, REQUIREMENTS},
};
use crate::{
    manifest::{self, FolderFile, Language, LoadedManifest},
    process::Cancellation,
    runtime::{Launch, PrepareError, PrivateFolder, Runtimes, Syntax},
};

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
    pub(super) fn new(folder: &Path, runtimes: &Runtimes, cancellation: &Cancellation) -> Self {
        match LoadedManifest::load(folder) {
            Ok(loaded) => Self::look(&loaded, runtimes, cancellation),
            Err(error) => {
                let validation = Validation {
                    name: name_of(folder),
                    folder: folder.to_owned(),
                    manifest_error: Some(error.clone()),
                    checks: Vec::new(),
                    notes: Vec::new(),
                };
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
        let mut validation = Validation {
            name: manifest.name.clone(),
            folder: loaded.folder.clone(),
            manifest_error: None,
            checks: Vec::new(),
            notes: Vec::new(),
        };
        let detail = format!("{}, {}", manifest.language, manifest.entrypoint);
        validation.add(CheckKind::Manifest, Finding::ok(detail));

        let mut sources = vec![entrypoint.clone()];
        let mut try_alone = None;
        let files = match manifest::files(&loaded.folder, loaded.language) {
            Ok(files) => {
                sources.extend(files.iter().map(|file| loaded.folder.join(&file.path)));
                if has_companions(loaded.language, &manifest.entrypoint, &files) {
                    try_alone = Some(entrypoint.clone());
                }
                match structure::package_problems(loaded) {
                    problems if problems.is_empty() => Finding::ok(counted(files.len(), "file")),
                    problems => Finding::Failed { problems },
                }
            }
            Err(errors) => {
                Finding::Failed { problems: errors.iter().map(ToString::to_string).collect() }
            }
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
        const LATER: &[CheckKind] = &[CheckKind::SmokeRun, CheckKind::ResultSchema];
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
        const RUN: &[CheckKind] = &[CheckKind::SmokeRun, CheckKind::ResultSchema];
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
        let rest = if syntax_is_open { RUN } else { &RUN[1..] };
        self.give_up(rest, "it could not be made ready");
    }

    /// Skips the run: the evaluator cannot be tested without the other files of its directory.
    pub(super) fn never_alone(&mut self, reason: &str) {
        let reason = format!("it could not be tried as hosts fetch it: {reason}");
        self.validation.add(CheckKind::SmokeRun, Finding::skipped(reason));
        self.give_up(&[CheckKind::ResultSchema], "it could not be made ready");
    }

    fn give_up(&mut self, checks: &[CheckKind], reason: &str) {
        for &kind in checks {
            self.validation.add(kind, Finding::skipped(reason));
        }
        self.next = Next::Done;
    }
}

fn name_of(folder: &Path) -> String {
    let resolved = folder.canonicalize();
    let folder = resolved.as_deref().unwrap_or(folder);
    folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}

/// Returns a number with its noun.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// An evaluator that can be run in its directory, and alone if that may make a difference.
pub(super) struct Ready {
    pub(super) launch: Launch,
    pub(super) alone: Option<Alone>,
}

/// A copy that can be run.
pub(super) struct Alone {
    pub(super) launch: Launch,
    /// Removed after the runs.
    _copy: Copy,
}

impl Alone {
    pub(super) fn new(launch: Launch, copy: Copy) -> Self {
        Self { launch, _copy: copy }
    }
}

/// Returns true if the directory has files that hosts do not fetch.
///
/// Hosts fetch whole packages, but of other evaluators only the entrypoint and the requirements next to it.
pub(super) fn has_companions(language: Language, entrypoint: &str, files: &[FolderFile]) -> bool {
    let requirements = match entrypoint.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{REQUIREMENTS}"),
        None => REQUIREMENTS.to_owned(),
    };
    let fetched = [entrypoint, &requirements, manifest::FILE_NAME];
    language != Language::Rust && files.iter().any(|file| !fetched.contains(&&*file.path))
}

/// Copy of the files that hosts fetch, in a directory that is removed afterwards.
pub(super) struct Copy {
    /// Removed when this is dropped.
    _folder: PrivateFolder,
    pub(super) entrypoint: PathBuf,
}

impl Copy {
    pub(super) fn new(entrypoint: &Path) -> io::Result<Self> {
        let name = entrypoint.file_name().unwrap_or_default();
        let folder = PrivateFolder::new("alone")?;
        let requirements = folder.path().join(REQUIREMENTS);
        let copy = Self { entrypoint: folder.path().join(name), _folder: folder };
        fs::copy(entrypoint, &copy.entrypoint)?;
        match fs::copy(entrypoint.with_file_name(REQUIREMENTS), requirements) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(copy),
        }
    }
}
