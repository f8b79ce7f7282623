//! An evaluator by itself, as hosts fetch it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use super::python::REQUIREMENTS;
use crate::{
    manifest::{self, FolderFile, Language},
    runtime::Launch,
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
    folder: PathBuf,
    pub(super) entrypoint: PathBuf,
}

impl Copy {
    pub(super) fn new(entrypoint: &Path) -> io::Result<Self> {
        let name = entrypoint.file_name().unwrap_or_default();
        let folder = new_folder()?;
        let copy = Self { entrypoint: folder.join(name), folder };
        fs::copy(entrypoint, &copy.entrypoint)?;
        match fs::copy(entrypoint.with_file_name(REQUIREMENTS), copy.folder.join(REQUIREMENTS)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(copy),
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed is for whoever cleans the folder of temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A new folder that nobody else can have prepared.
fn new_folder() -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("evaluator-alone-{}-{number}", process::id()));
        match create_private(&folder) {
            // Left behind by a process of the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.and_then(|()| folder.canonicalize()),
        }
    }
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}
