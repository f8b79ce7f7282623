//! Packages that an evaluator needs, as its files say.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    metadata::Metadata,
    plain,
    probe::{Answers, Questions, SdkUse},
    references::References,
    requirements::{self, Requirements},
    venv::Sdk,
};
use crate::runtime::{PrepareError, companions};

/// The module of the Python SDK, the only one whose package is known without being named.
pub(super) const SDK_MODULE: &str = "agentevals_evaluator_sdk";

/// Packages that an evaluator needs: those of a `requirements.txt` beside it, those of its own `# /// script` block, and the
/// SDK if a file of it mentions the SDK.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    source: PathBuf,
    fetched: bool,
    file: Option<Requirements>,
    block: Option<Metadata>,
    /// Paths that direct references of the block name.
    references: References,
    /// Files that mention the SDK.
    sdk_files: Vec<PathBuf>,
}

impl Needs {
    /// Reads what an evaluator needs; `None` if it needs nothing but an interpreter. Starts nothing.
    ///
    /// # Errors
    ///
    /// Why a file cannot be read, or what is wrong in it.
    pub(super) fn of(source: &Path, fetched: bool) -> Result<Option<Self>, PrepareError> {
        let file = Requirements::beside(source, fetched)
            .transpose()
            .map_err(|reason| PrepareError::InstallFailed { reason })?;
        // A file that cannot be read cannot be run either, and the interpreter will say why.
        let text = fs::read(source).unwrap_or_default();
        let block = Metadata::read(source, &String::from_utf8_lossy(&text), fetched)
            .map_err(|reason| PrepareError::Unusable { reason })?;
        let sdk_files = files_with_sdk(source);
        if file.is_none() && block.is_none() && sdk_files.is_empty() {
            return Ok(None);
        }
        let references = match &block {
            Some(block) if !block.is_plain => {
                References::of(source, &block.dependencies.join("\n"), None)
            }
            _ => References::default(),
        };
        let source = source.to_owned();
        Ok(Some(Self { source, fetched, file, block, references, sdk_files }))
    }

    /// Where the packages are named, for messages.
    pub(super) fn named_in(&self) -> String {
        let file = self.file.as_ref().map(|_| requirements::FILE_NAME);
        let block = self.block.as_ref().map(|_| "script metadata");
        let named: Vec<&str> = file.into_iter().chain(block).collect();
        if named.is_empty() { SDK_MODULE.to_owned() } else { named.join(" and ") }
    }

    /// Adds the questions whose answers decide what is missing.
    pub(super) fn ask(&self, sdk: &Sdk, questions: &mut Questions) {
        for requirement in self.plain().chain(sdk.plain()) {
            let parts = plain::split(requirement);
            questions.version(parts.name);
            if let Some(marker) = parts.marker {
                questions.marker(marker);
            }
        }
        if !self.sdk_files.is_empty() {
            questions.sdk(self.folder(), &self.sdk_files);
        }
    }

    /// Checks `requires-python`.
    ///
    /// # Errors
    ///
    /// Which versions the evaluator accepts.
    pub(super) fn accept(&self, interpreter: &Path, version: &str) -> Result<(), String> {
        let accepted = self.block.as_ref().map_or(Ok(()), |block| block.accepts(version));
        accepted.map_err(|(line, wanted)| {
            format!(
                "{}:{line}: it requires Python {wanted}, and {} is Python {version}; point EVALUATOR_PYTHON at another one",
                self.source.display(),
                interpreter.display()
            )
        })
    }

    /// Requirements that the interpreter does not meet, or of which that cannot be told, as words of a command line. Empty
    /// if nothing has to be installed.
    pub(super) fn missing(&self, sdk: &Sdk, answers: &Answers) -> Vec<String> {
        let is_met = |requirement: &&str| is_met(requirement, answers);
        let mut missing: Vec<String> =
            self.plain().filter(|requirement| !is_met(requirement)).map(word).collect();
        if let Some(file) = self.file.as_ref().filter(|file| file.packages().is_none()) {
            missing.push(format!("-r {}", word(&file.path.display().to_string())));
        }
        if let Some(block) = self.block.as_ref().filter(|block| !block.is_plain) {
            missing.extend(block.dependencies.iter().map(|it| word(it)));
        }
        let sdk_use = if self.sdk_files.is_empty() {
            SdkUse::Unused
        } else {
            answers.sdk(self.folder(), &self.sdk_files)
        };
        // One that was chosen is not any other that is there.
        let is_there = match (sdk_use, sdk.plain()) {
            (SdkUse::Unused, _) => true,
            (_, _) if sdk.is_default() => sdk_use == SdkUse::Found,
            (_, Some(requirement)) => is_met(&requirement),
            (_, None) => false,
        };
        let is_named = sdk.plain().is_some_and(|sdk| self.names(plain::split(sdk).name));
        if let (false, false, Some(sdk)) = (is_there, is_named, sdk.requirement()) {
            missing.insert(0, word(&sdk.to_string_lossy()));
        }
        missing
    }

    /// Whether a package is named that is called like this, or like this module.
    pub(super) fn names(&self, name: &str) -> bool {
        let name = plain::normalized(name);
        self.plain().any(|requirement| plain::normalized(plain::split(requirement).name) == name)
    }

    /// Packages to install, beside those of a file to install from.
    pub(super) fn dependencies(&self) -> &[String] {
        self.block.as_ref().map_or(&[], |block| &block.dependencies)
    }

    pub(super) fn file(&self) -> Option<&Requirements> {
        self.file.as_ref()
    }

    /// The file or files that name the packages, for messages.
    pub(super) fn place(&self) -> String {
        match (&self.file, self.dependencies()) {
            (Some(file), []) => file.path.display().to_string(),
            (Some(file), _) => {
                format!("{} and the dependencies of {}", file.path.display(), self.source.display())
            }
            (None, _) => format!("the dependencies of {}", self.source.display()),
        }
    }

    /// The folder that relative paths start from; `None` if there are none.
    pub(super) fn base(&self) -> Option<&Path> {
        self.file.as_ref().and_then(Requirements::base)
    }

    /// Whether a file or folder of this machine is named.
    pub(super) fn names_files(&self) -> bool {
        self.base().is_some() || self.references.base().is_some()
    }

    /// Adds to a digest what decides which packages are installed.
    pub(super) fn digest_into(&self, digest: &mut Sha256) {
        match &self.file {
            Some(file) => file.digest_into(digest),
            // As an empty file.
            None => digest.update(0_u64.to_le_bytes()),
        }
        if !self.dependencies().is_empty() {
            digest.update(self.dependencies().join("\n"));
            self.references.digest_into(digest);
        }
    }

    /// Whether the files name something else than when they were read.
    pub(super) fn have_changed(&self) -> bool {
        self.file.as_ref().is_some_and(Requirements::have_changed)
            || fs::read(&self.source).map_or(true, |text| {
                let text = String::from_utf8_lossy(&text);
                Metadata::read(&self.source, &text, self.fetched).as_ref() != Ok(&self.block)
            })
    }

    /// All requirements that name packages of the index.
    fn plain(&self) -> impl Iterator<Item = &str> {
        let file = self.file.iter().filter_map(Requirements::packages).flatten();
        let block = self.block.iter().filter(|block| block.is_plain);
        file.chain(block.flat_map(|block| &block.dependencies)).map(String::as_str)
    }

    fn folder(&self) -> &Path {
        self.source.parent().unwrap_or(&self.source)
    }
}

/// A word of a command line.
fn word(text: &str) -> String {
    shell_words::quote(text).into_owned()
}

/// Whether an interpreter has what a plain requirement names. Where that cannot be told, it has not.
fn is_met(requirement: &str, answers: &Answers) -> bool {
    let parts = plain::split(requirement);
    match parts.marker.map(|marker| answers.marker(marker)) {
        Some(Some(false)) => return true,
        Some(None) => return false,
        Some(Some(true)) | None => {}
    }
    let installed = answers.version(parts.name).and_then(|version| version.parse().ok());
    let wanted: Result<pep440_rs::VersionSpecifiers, _> = parts.versions.parse();
    match (installed, wanted) {
        (Some(installed), Ok(wanted)) => !parts.has_more && wanted.contains(&installed),
        _ => false,
    }
}

/// The evaluator's own sources that mention the module of the SDK.
fn files_with_sdk(source: &Path) -> Vec<PathBuf> {
    let is_source =
        |path: &PathBuf| path.extension().is_some_and(|found| found.eq_ignore_ascii_case("py"));
    let mentions = |path: &PathBuf| {
        fs::read(path)
            .is_ok_and(|text| memchr::memmem::find(&text, SDK_MODULE.as_bytes()).is_some())
    };
    let files = companions::with_companions(source).files;
    files.into_iter().filter(is_source).filter(mentions).collect()
}
