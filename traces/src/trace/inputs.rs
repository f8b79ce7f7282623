//! Trace files that are named by their directories.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::error::{LoadError, LoadErrorKind};

/// Extensions of trace files, which may be followed by one of [`PACKED`].
const EXTENSIONS: [&str; 3] = ["json", "jsonl", "ndjson"];
/// Extensions of compressed files.
const PACKED: [&str; 3] = ["gz", "zst", "zstd"];
/// The extensions in words.
pub(super) const EXTENSIONS_TEXT: &str = ".json, .jsonl, .ndjson, each with or without .gz or .zst";

/// The trace files that paths stand for.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct TraceFiles {
    /// Files in the order of the paths, those of a directory sorted.
    pub files: Vec<PathBuf>,
    /// One error per directory that cannot be used.
    pub errors: Vec<LoadError>,
    /// What is in directories and may hold traces, but is not read: files with an extension of trace files that is not
    /// the last (`t.json.1`), and links to directories.
    skipped: Vec<PathBuf>,
}

impl TraceFiles {
    /// Returns the warning about what was skipped; `None` if nothing was.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let first = self.skipped.first()?;
        let more = match self.skipped.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "{}{more} not read: a directory stands for files with the extensions {EXTENSIONS_TEXT}, and links to \
             directories are not followed; name what is to be read",
            first.display()
        ))
    }
}

/// Returns the trace files that paths stand for.
///
/// A directory stands for the files with an extension of trace files in it and in its subdirectories, sorted by path.
/// Hidden files, hidden directories and links to directories are skipped. Every other path stands for itself.
#[must_use]
pub fn trace_files(paths: &[PathBuf]) -> TraceFiles {
    let mut all = TraceFiles::default();
    for path in paths {
        if !path.is_dir() {
            all.files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        if let Err((path, error)) = collect(path, &mut found, &mut all.skipped) {
            all.errors.push(LoadError { path, kind: LoadErrorKind::Read(error) });
        } else if found.is_empty() {
            all.errors.push(LoadError { path: path.clone(), kind: LoadErrorKind::EmptyDirectory });
        }
        found.sort_unstable();
        all.files.append(&mut found);
    }
    all.skipped.sort_unstable();
    all
}

fn collect(
    directory: &Path,
    found: &mut Vec<PathBuf>,
    skipped: &mut Vec<PathBuf>,
) -> Result<(), (PathBuf, io::Error)> {
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let failed = |error| (directory.clone(), error);
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let path = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                open.push(path);
            } else if path.is_dir() {
                skipped.push(path);
            } else if is_trace_file(&path) {
                found.push(path);
            } else if may_be_trace_file(&path) {
                skipped.push(path);
            }
        }
    }
    Ok(())
}

/// Returns true for a path with an extension of trace files.
fn is_trace_file(path: &Path) -> bool {
    let has = |path: &Path, known: &[&str]| {
        let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
        extension.is_some_and(|extension| known.contains(&&*extension))
    };
    has(path, &EXTENSIONS)
        || (has(path, &PACKED)
            && path.file_stem().is_some_and(|stem| has(Path::new(stem), &EXTENSIONS)))
}

/// Returns true for a name with an extension of trace files that is not its last one, such as `t.json.1`.
fn may_be_trace_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.split('.').skip(1).any(|extension| EXTENSIONS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stands_for_the_trace_files_below_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["b.json", "a.JSONL", "sub/c.ndjson.gz", "sub/d.json.zst", "x.txt", "y.gz"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir(root.join(".hidden")).unwrap();
        fs::write(root.join(".hidden/e.json"), "").unwrap();
        fs::write(root.join(".f.json"), "").unwrap();
        fs::create_dir(root.join("dir.json")).unwrap();
        let all = trace_files(&[PathBuf::from("gone.json"), root.to_owned()]);
        assert!(all.errors.is_empty() && all.warning().is_none());
        let files = all.files;
        let names: Vec<_> = files[1..].iter().map(|it| it.strip_prefix(root).unwrap()).collect();
        let expected = ["a.JSONL", "b.json", "sub/c.ndjson.gz", "sub/d.json.zst"];
        assert_eq!(names, expected.map(Path::new));
        let TraceFiles { files, errors, .. } = trace_files(&[root.join("dir.json")]);
        assert!(files.is_empty());
        assert!(errors[0].to_string().ends_with(
            "dir.json': the directory has no trace files (.json, .jsonl, .ndjson, each with or without .gz or .zst)"
        ));
    }
}
