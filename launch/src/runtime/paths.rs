//! Paths of evaluator files.

use std::path::{Path, PathBuf};

use super::PrepareError;

/// Returns the absolute path of an existing file or directory, without symbolic links.
///
/// # Errors
///
/// [`PrepareError`] if it does not exist or cannot be opened.
pub fn resolve(path: &Path) -> Result<PathBuf, PrepareError> {
    match path.canonicalize() {
        Ok(resolved) => Ok(plain(resolved)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(not_found(path)),
        Err(error) => {
            Err(PrepareError::unusable(format!("cannot open {}: {error}", path.display())))
        }
    }
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
pub(super) fn absolute(path: &Path) -> PathBuf {
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
    fn what_is_missing_is_named_by_its_absolute_path() {
        let PrepareError::NotFound { path } = resolve(Path::new("src/../nowhere.py")).unwrap_err()
        else {
            panic!("expected NotFound");
        };
        assert_eq!(
            path,
            std::env::current_dir().unwrap().canonicalize().unwrap().join("nowhere.py")
        );
    }
}
