//! An evaluator by itself, as hosts fetch it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::python::REQUIREMENTS;
use crate::{
    manifest::{self, FolderFile, Language},
    runtime::{Launch, PrivateDirectory},
};

/// An evaluator that is ready to run in its folder, and where that may make a difference without it.
pub(super) struct Ready {
    pub(super) launch: Launch,
    pub(super) alone: Option<Alone>,
}

/// A copy that is ready to run.
pub(super) struct Alone {
    pub(super) launch: Launch,
    /// Kept until the runs are over.
    _copy: Copy,
}

impl Alone {
    pub(super) fn new(launch: Launch, copy: Copy) -> Self {
        Self { launch, _copy: copy }
    }
}

/// Whether there is something in the folder that the evaluator may use here and will not find once it was fetched.
///
/// A package is fetched whole. Of the others hosts fetch the file that runs, and the requirements beside it.
pub(super) fn has_companions(language: Language, entrypoint: &str, files: &[FolderFile]) -> bool {
    let requirements = match entrypoint.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{REQUIREMENTS}"),
        None => REQUIREMENTS.to_owned(),
    };
    let fetched = [entrypoint, &requirements, manifest::FILE_NAME];
    language != Language::Rust && files.iter().any(|file| !fetched.contains(&&*file.path))
}

/// What hosts fetch of an evaluator, in a folder that is removed in the end.
pub(super) struct Copy {
    /// Removed when this is dropped.
    _folder: PrivateDirectory,
    pub(super) entrypoint: PathBuf,
}

impl Copy {
    pub(super) fn new(entrypoint: &Path) -> io::Result<Self> {
        let name = entrypoint.file_name().unwrap_or_default();
        let folder = PrivateDirectory::new("alone")?;
        let requirements = folder.path().join(REQUIREMENTS);
        let copy = Self { entrypoint: folder.path().join(name), _folder: folder };
        fs::copy(entrypoint, &copy.entrypoint)?;
        match fs::copy(entrypoint.with_file_name(REQUIREMENTS), requirements) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(copy),
        }
    }
}
