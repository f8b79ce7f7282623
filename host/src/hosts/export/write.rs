//! Putting files into a folder.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use super::{ExportedFile, origin};
use crate::files::{WriteOptions, atomic_write};

/// Why files were not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// There is a file of a person's in the way. Nothing was written.
    #[error("{} is there and was not written by this command; move it away, or overwrite it with --force", .path.display())]
    InTheWay {
        /// The file.
        path: PathBuf,
    },
    /// Two of the files are to have the same name. Nothing was written.
    #[error("{} would be written for two evaluators of this program, whose names are too much alike; rename one", .path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// Where the folder should be is something else. Nothing was written.
    #[error("{} is not a folder", .path.display())]
    NotAFolder {
        /// What is there.
        path: PathBuf,
    },
    /// The system does not let it be written, or looked at.
    #[error("cannot write {}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Writes files into `folder`, which is made if there is none; their paths. Each appears whole or not at all.
///
/// What is there is replaced if it was written by an export before, or if `force` says so.
///
/// # Errors
///
/// [`WriteError`]. All that may be in the way is looked at before anything is written.
pub fn write(
    folder: &Path,
    files: &[ExportedFile],
    force: bool,
) -> Result<Vec<PathBuf>, WriteError> {
    // A link that leads nowhere is something, too.
    if !folder.is_dir() && folder.symlink_metadata().is_ok() {
        return Err(WriteError::NotAFolder { path: folder.to_owned() });
    }
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.name)).collect();
    for (at, path) in paths.iter().enumerate() {
        if paths[..at].contains(path) {
            return Err(WriteError::Twice { path: path.clone() });
        }
        if !force && !may_be_replaced(path)? {
            return Err(WriteError::InTheWay { path: path.clone() });
        }
    }
    fs::create_dir_all(folder)
        .map_err(|source| WriteError::Io { path: folder.to_owned(), source })?;
    for (path, file) in paths.iter().zip(files) {
        atomic_write(path, WriteOptions::default(), |out| out.write_all(file.text.as_bytes()))
            .map_err(|source| WriteError::Io { path: path.clone(), source })?;
    }
    Ok(paths)
}

/// The place of a copy of `executable` in `folder`, which is only ever written by an export.
#[must_use]
pub fn copy_of(executable: &Path, folder: &Path) -> PathBuf {
    let mut name = executable.file_stem().unwrap_or_default().to_owned();
    name.push(".evaluator");
    name.push(env::consts::EXE_SUFFIX);
    folder.join(name)
}

/// Copies an executable to `place`, in a folder that exists. It appears whole or not at all, also where it is running.
///
/// # Errors
///
/// [`WriteError::Io`].
pub fn copy(executable: &Path, place: &Path) -> Result<(), WriteError> {
    let copied = || {
        let folder = place.parent().unwrap_or(Path::new("."));
        let mut beside =
            tempfile::Builder::new().prefix(".evaluator-export").tempfile_in(folder)?;
        io::copy(&mut fs::File::open(executable)?, beside.as_file_mut())?;
        executable_by_all(beside.as_file())?;
        beside.persist(place)?;
        Ok(())
    };
    copied().map_err(|source| WriteError::Io { path: place.to_owned(), source })
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
    // A pipe or a device is not read: that could take for ever.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Ok(false);
    }
    match fs::read(path) {
        Ok(text) => Ok(origin::is_ours(&text)),
        // A link that leads nowhere is somebody's, too.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(!path.is_symlink()),
        Err(source) => Err(WriteError::Io { path: path.to_owned(), source }),
    }
}
