//! Temporary directories for files that are passed to child processes.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempDir};

/// A temporary directory that no other user can enter; deleted with its content on drop.
#[derive(Debug)]
pub struct PrivateDirectory(TempDir);

impl PrivateDirectory {
    /// Creates an empty directory. `purpose` becomes a part of its name.
    ///
    /// # Errors
    ///
    /// The system cannot create it.
    pub fn new(purpose: &str) -> io::Result<Self> {
        // Child processes may have another working directory, and may resolve links.
        let parent = env::temp_dir().canonicalize()?;
        let prefix = format!("evaluator-{purpose}-");
        let mut builder = Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        builder.tempdir_in(parent).map(Self)
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into the directory and returns its path.
    ///
    /// # Errors
    ///
    /// The system cannot write it.
    pub fn write(&self, name: &str, content: &str) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        fs::write(&path, content).map(|()| path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_all_that_is_in_it() {
        let (one, other) =
            (PrivateDirectory::new("test").unwrap(), PrivateDirectory::new("test").unwrap());
        let file = one.write("a.txt", "a").unwrap();
        fs::create_dir(one.path().join("deeper")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "a");
        assert!(one.path().is_absolute() && one.path() != other.path());
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_enter_it() {
        use std::os::unix::fs::PermissionsExt;
        let directory = PrivateDirectory::new("test").unwrap();
        let mode = fs::metadata(directory.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}
