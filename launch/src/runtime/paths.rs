//! Paths of evaluator files, and temporary directories for files passed to processes.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempDir};

use super::{Environment, PrepareError};

/// Returns the absolute path of an existing file or directory, without symbolic links.
///
/// # Errors
///
/// [`PrepareError`] if it does not exist, cannot be opened, or is a pipe, a device or a socket.
pub fn resolve(path: &Path) -> Result<PathBuf, PrepareError> {
    match path.canonicalize() {
        Ok(resolved) if resolved.is_file() || resolved.is_dir() => Ok(plain(resolved)),
        Ok(_) => Err(PrepareError::unusable(format!(
            "{} is neither a regular file nor a directory",
            path.display()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_found(path)),
        Err(error) => {
            Err(PrepareError::unusable(format!("cannot open {}: {error}", path.display())))
        }
    }
}

/// Returns the directory of a source, which a program may read in a sandbox; the source itself if the directory contains
/// everything of the user: their home directory or a cache.
pub(super) fn around(source: &Path, environment: &Environment) -> PathBuf {
    let directory = if source.is_dir() { Some(source) } else { source.parent() };
    directory.filter(|it| is_narrow(it, environment)).unwrap_or(source).to_owned()
}

/// Returns true if neither the home directory nor a cache is below this directory.
pub(super) fn is_narrow(directory: &Path, environment: &Environment) -> bool {
    let private = ["HOME", "XDG_CACHE_HOME", "EVALUATOR_CACHE_DIR"];
    let mut private = private.iter().filter_map(|name| environment.get(name));
    directory.parent().is_some()
        && !private.any(|path| {
            let path = Path::new(path);
            let real = path.canonicalize();
            path.starts_with(directory) || real.is_ok_and(|real| real.starts_with(directory))
        })
}

/// The error for a path that does not exist.
pub(super) fn not_found(path: &Path) -> PrepareError {
    PrepareError::NotFound { path: absolute(path) }
}

/// The error for a directory that no runtime can run.
pub(super) fn not_a_package(directory: &Path) -> PrepareError {
    let directory = directory.display();
    PrepareError::unusable(format!(
        "{directory} is a directory without a Cargo.toml; name the file of the evaluator"
    ))
}

/// Returns an absolute path for a file that may not exist: `..` is resolved as far as the directory exists.
pub fn absolute(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (
        absolute.parent().and_then(|directory| directory.canonicalize().ok()),
        absolute.file_name(),
    ) {
        (Some(directory), Some(name)) => plain(directory).join(name),
        _ => absolute,
    }
}

/// Removes the `\\?\` of canonical paths on Windows, which compilers do not expect.
fn plain(path: PathBuf) -> PathBuf {
    if !cfg!(windows) {
        return path;
    }
    let short = path
        .to_str()
        .and_then(|text| text.strip_prefix(r"\\?\"))
        .filter(|rest| rest.as_bytes().get(1) == Some(&b':'))
        .map(PathBuf::from);
    short.unwrap_or(path)
}

/// Returns true if the file name ends in one of these extensions (with their dot), in any case.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let Some(extension) = path.extension() else { return false };
    extensions
        .iter()
        .filter_map(|known| known.strip_prefix('.'))
        .any(|known| extension.eq_ignore_ascii_case(known))
}

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
    fn extensions_match_in_any_case_and_only_at_the_end() {
        assert!(has_extension(Path::new("a/B.PY"), &[".py"]));
        assert!(!has_extension(Path::new("a.py/b"), &[".py"]));
        assert!(!has_extension(Path::new(".py"), &[".py"]));
    }

    #[test]
    fn a_directory_with_everything_of_the_user_is_not_shown() {
        let environment = Environment::new([("HOME", "/h/me"), ("EVALUATOR_CACHE_DIR", "/c/all")]);
        let shown = |source: &str| around(Path::new(source), &environment);
        for (source, expected) in [
            ("/h/me/evals/check.py", "/h/me/evals"),
            ("/h/me/check.py", "/h/me/check.py"),
            ("/h/check.py", "/h/check.py"),
            ("/c/check.py", "/c/check.py"),
            ("/c/all/evaluators/one/check.py", "/c/all/evaluators/one"),
            ("/check.py", "/check.py"),
        ] {
            assert_eq!(shown(source), Path::new(expected), "{source}");
        }
    }

    #[test]
    fn what_is_missing_is_named_by_its_absolute_path() {
        let PrepareError::NotFound { path } = resolve(Path::new("src/../nowhere.py")).unwrap_err()
        else {
            panic!("expected NotFound");
        };
        assert_eq!(path, env::current_dir().unwrap().canonicalize().unwrap().join("nowhere.py"));
    }
}

#[cfg(test)]
mod private_directory_tests {
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
    fn only_its_owner_can_enter_it() {
        use std::os::unix::fs::PermissionsExt;
        let directory = PrivateDirectory::new("test").unwrap();
        let mode = fs::metadata(directory.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}
