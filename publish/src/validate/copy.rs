//! Copies of evaluators as hosts fetch them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::structure::REQUIREMENTS;
use crate::runtime::PrivateDirectory;

/// Copy of the files that hosts fetch, in a directory that is removed afterwards.
pub(super) struct Copy {
    /// Removed when this is dropped.
    _directory: PrivateDirectory,
    pub(super) entrypoint: PathBuf,
}

impl Copy {
    pub(super) fn new(entrypoint: &Path) -> io::Result<Self> {
        let name = entrypoint.file_name().unwrap_or_default();
        let directory = PrivateDirectory::new("alone")?;
        let requirements = directory.path().join(REQUIREMENTS);
        let copy = Self { entrypoint: directory.path().join(name), _directory: directory };
        fs::copy(entrypoint, &copy.entrypoint)?;
        match fs::copy(entrypoint.with_file_name(REQUIREMENTS), requirements) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(copy),
        }
    }
}
