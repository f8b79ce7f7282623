//! Writing exported files to a directory.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use super::model::{ExportedFile, MARK};
use crate::files::{MAX_SOURCE, WriteOptions, atomic_write, open_regular, read_regular};

/// Error of writing exported files.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file that was not exported, or an equal name, is in the way. Nothing was written.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be read or written.
    #[error("cannot write {}: {source}", .path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Writes files to `directory`, which is created if it does not exist, and returns their paths. Each file is written atomically.
///
/// An existing file is replaced if it was exported, or if `force` is set.
///
/// # Errors
///
/// [`WriteError`]. Existing files are checked before anything is written.
pub fn write(
    directory: &Path,
    files: &[ExportedFile],
    force: bool,
) -> Result<Vec<PathBuf>, WriteError> {
    // A dangling link exists, too.
    if !directory.is_dir() && directory.symlink_metadata().is_ok() {
        return Err(WriteError::Refused(format!("{} is not a directory", directory.display())));
    }
    let paths: Vec<PathBuf> = files.iter().map(|file| directory.join(&file.name)).collect();
    for (at, path) in paths.iter().enumerate() {
        if paths[..at].contains(path) {
            return Err(WriteError::Refused(format!(
                "{} would be written for two evaluators of this program, whose names are too much alike; rename one",
                path.display()
            )));
        }
        if !force && !may_be_replaced(path)? {
            return Err(WriteError::Refused(format!(
                "{} exists and was not written by this command; move it away, or overwrite it with --force",
                path.display()
            )));
        }
    }
    fs::create_dir_all(directory)
        .map_err(|source| WriteError::Io { path: directory.to_owned(), source })?;
    for (path, file) in paths.iter().zip(files) {
        atomic_write(path, WriteOptions::default(), |out| out.write_all(file.text.as_bytes()))
            .map_err(|source| WriteError::Io { path: path.clone(), source })?;
    }
    Ok(paths)
}

/// Returns the path of a copy of `executable` in `directory`. Only exports write such files.
pub fn copy_of(executable: &Path, directory: &Path) -> PathBuf {
    let mut name = executable.file_stem().unwrap_or_default().to_owned();
    name.push(".evaluator");
    name.push(env::consts::EXE_SUFFIX);
    directory.join(name)
}

/// Copies an executable to `target`, in an existing directory. The copy is atomic, also if the old one is running.
///
/// # Errors
///
/// [`WriteError::Io`].
pub fn copy(executable: &Path, target: &Path) -> Result<(), WriteError> {
    let copied = || {
        let directory = target.parent().unwrap_or(Path::new("."));
        let mut copy =
            tempfile::Builder::new().prefix(".evaluator-export").tempfile_in(directory)?;
        io::copy(&mut open_regular(executable)?, copy.as_file_mut())?;
        executable_by_all(copy.as_file())?;
        copy.persist(target)?;
        Ok(())
    };
    copied().map_err(|source| WriteError::Io { path: target.to_owned(), source })
}

#[cfg(unix)]
fn executable_by_all(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable_by_all(_: &fs::File) -> io::Result<()> {
    Ok(())
}

fn may_be_replaced(path: &Path) -> Result<bool, WriteError> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Ok(false);
    }
    match read_regular(path, MAX_SOURCE) {
        Ok(text) => Ok(is_exported(&text)),
        // A dangling link was not exported.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(!path.is_symlink()),
        Err(source) => Err(WriteError::Io { path: path.to_owned(), source }),
    }
}

/// Returns true if a file was exported.
pub(super) fn is_exported(text: &[u8]) -> bool {
    let beginning = &text[..text.len().min(1000)];
    String::from_utf8_lossy(beginning).contains(MARK)
}
