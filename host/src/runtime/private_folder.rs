//! A folder of this program alone, for files that those it starts need for a while.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// A folder among the temporary files that no other user can enter; deleted with all that is in it when this is dropped.
#[derive(Debug)]
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// A new and empty one. `purpose` becomes a part of its name.
    pub(crate) fn new(purpose: &str) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Those who are told of it may have another working folder, and may resolve links.
        let parent = env::temp_dir().canonicalize()?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("evaluator-{purpose}-{}-{number}", process::id()));
            match create(&path) {
                // Left behind by a process of the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Self(path)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it and says where.
    pub(crate) fn write(&self, name: &str, content: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, content).map(|()| path)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What cannot be removed is for whoever cleans the folder of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
fn create(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_all_that_is_in_it() {
        let (one, other) =
            (PrivateFolder::new("test").unwrap(), PrivateFolder::new("test").unwrap());
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
        let folder = PrivateFolder::new("test").unwrap();
        let mode = fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}
