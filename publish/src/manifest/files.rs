//! Files of an evaluator.

use std::{
    fs,
    io::{self, Read},
    mem::take,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::Language;
use crate::files::open_regular;
use crate::source::{MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, is_file_path, is_plain};

/// A file in an evaluator's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryFile {
    /// Path in the directory, with `/` as separator.
    pub path: String,
    /// SHA-256 of the content, in lower-case hexadecimal digits.
    pub sha256: String,
}

/// Returns the files in an evaluator's directory, sorted by path.
///
/// Hosts fetch all files of a Rust package, so they have to be within the limits of hosts.
///
/// Hidden files and files of tools are ignored: `target` next to a `Cargo.toml`, virtual environments, `node_modules`,
/// `__pycache__`, `*.egg-info`, and compiled Python files.
///
/// # Errors
///
/// The reason for every file that cannot be published.
pub fn files(directory: &Path, language: Language) -> Result<Vec<DirectoryFile>, Vec<String>> {
    let mut walk = Walk::default();
    walk.directory(directory, "");
    if language == Language::Rust {
        walk.limits(directory);
    }
    walk.found.sort_by(|a, b| a.path.cmp(&b.path));
    if walk.errors.is_empty() { Ok(walk.found) } else { Err(walk.errors) }
}

/// Problem of a name that sources do not accept, or of a path with too many: hosts would refuse the whole index.
const BAD_NAME: &str = "has a name that cannot be fetched; use letters and digits of ASCII, `_`, `-`, and dots between them";

#[derive(Default)]
struct Walk {
    found: Vec<DirectoryFile>,
    errors: Vec<String>,
    /// Size of all files.
    bytes: u64,
    /// Files that are too large.
    large: Vec<PathBuf>,
}

impl Walk {
    /// Adds the files of a directory. `prefix` is its path in the evaluator's directory, empty or with a `/` at its end.
    fn directory(&mut self, directory: &Path, prefix: &str) {
        let entries =
            match fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
                Ok(entries) => entries,
                Err(error) => return self.unreadable(directory, &error),
            };
        let is_package = directory.join("Cargo.toml").is_file();
        for entry in entries {
            let path = entry.path();
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            if shown.starts_with('.') || is_leftover(&shown, &path, is_package) {
                continue;
            }
            match entry.file_type() {
                Err(error) => self.unreadable(&path, &error),
                Ok(_) if !name.to_str().is_some_and(is_plain) => self.complain(&path, BAD_NAME),
                // Hosts would fetch the link and not its target.
                Ok(kind) if kind.is_symlink() => {
                    self.complain(&path, "is a symbolic link; put the file itself there");
                }
                Ok(kind) if kind.is_dir() => self.directory(&path, &format!("{prefix}{shown}/")),
                Ok(kind) if kind.is_file() => self.file(path, format!("{prefix}{shown}")),
                Ok(_) => self.complain(&path, "is neither a file nor a directory; remove it"),
            }
        }
    }

    fn file(&mut self, path: PathBuf, name: String) {
        if !is_file_path(&name) {
            return self.complain(&path, BAD_NAME);
        }
        match sha256(&path) {
            Ok((sha256, bytes)) => {
                self.found.push(DirectoryFile { path: name, sha256 });
                self.bytes = self.bytes.saturating_add(bytes);
                if bytes > MAX_FILE_BYTES {
                    self.large.push(path);
                }
            }
            Err(error) => self.unreadable(&path, &error),
        }
    }

    /// Adds errors for files that exceed the limits of hosts.
    fn limits(&mut self, directory: &Path) {
        let large = take(&mut self.large).into_iter();
        let mut exceeded: Vec<_> =
            large.map(|path| (path, format!("{MAX_FILE_BYTES} bytes a file"))).collect();
        if self.found.len() > MAX_FILES {
            exceeded.push((directory.to_owned(), format!("{MAX_FILES} files")));
        }
        if self.bytes > MAX_BYTES {
            exceeded.push((directory.to_owned(), format!("{MAX_BYTES} bytes in all")));
        }
        for (path, limit) in exceeded {
            self.complain(&path, &format!("is larger than is fetched of an evaluator: {limit}"));
        }
    }

    fn complain(&mut self, path: &Path, problem: &str) {
        self.errors.push(format!("{} {problem}", path.display()));
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        self.errors.push(format!("cannot read {}: {error}", path.display()));
    }
}

/// Returns true if a tool created the file or directory.
fn is_leftover(name: &str, path: &Path, in_package: bool) -> bool {
    match name {
        "target" => in_package && path.is_dir(),
        "__pycache__" | "node_modules" => true,
        _ => {
            name.ends_with(".egg-info")
                || name.ends_with(".pyc")
                || name.ends_with(".pyo")
                || path.join("pyvenv.cfg").is_file()
        }
    }
}

/// Returns the hash of a file, in hexadecimal digits, and its size in bytes.
fn sha256(path: &Path) -> io::Result<(String, u64)> {
    let mut hash = Sha256::new();
    let mut file = open_regular(path)?;
    let mut piece = vec![0; 64 << 10];
    let mut bytes = 0;
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => {
                hash.update(&piece[..read]);
                bytes += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), bytes))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use evaluator_test_support::Directory;

    use super::*;

    #[test]
    fn leftovers_and_hidden_files_do_not_belong_to_it() {
        let directory = Directory::new("manifest-files");
        for path in [
            "evaluator.yaml",
            "Cargo.toml",
            "src/main.rs",
            "src/a/b.rs",
            "data/target/kept.txt",
            "target/debug/program",
            "inner/Cargo.toml",
            "inner/target/x",
            ".git/config",
            ".gitignore",
            "__pycache__/a.pyc",
            "b.pyc",
            "x.egg-info/PKG-INFO",
            "node_modules/left-pad/index.js",
            "env/pyvenv.cfg",
            "env/bin/python",
        ] {
            directory.file(path, "abc");
        }
        let found = files(&directory.path(""), Language::Rust).unwrap();
        let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        let expected = [
            "Cargo.toml",
            "data/target/kept.txt",
            "evaluator.yaml",
            "inner/Cargo.toml",
            "src/a/b.rs",
            "src/main.rs",
        ];
        assert_eq!(paths, expected);
        assert!(found.iter().all(|file| file.sha256
            == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    }

    #[cfg(unix)]
    #[test]
    fn every_file_that_cannot_be_fetched_is_named() {
        let directory = Directory::new("manifest-files-bad");
        directory.file("a b.txt", "");
        directory.file("fine.txt", "");
        directory.file("über.txt", "");
        directory.file(&["deep"; 17].join("/"), "");
        std::os::unix::fs::symlink("/etc/passwd", directory.path("link.txt")).unwrap();
        let mut errors: Vec<String> = files(&directory.path(""), Language::Rust)
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        errors.sort();
        let expected = [
            "a b.txt has a name that cannot be fetched",
            "deep/deep has a name that cannot be fetched",
            "link.txt is a symbolic link",
            "über.txt has a name that cannot be fetched",
        ];
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for (error, expected) in errors.iter().zip(expected) {
            assert!(error.contains(expected), "{errors:?}");
        }
    }

    #[test]
    fn what_is_fetched_whole_has_limits() {
        let directory = Directory::new("manifest-files-large");
        for number in 0..4 {
            let file = File::create(directory.path(format!("{number}.bin"))).unwrap();
            file.set_len(MAX_FILE_BYTES).unwrap();
        }
        assert!(files(&directory.path(""), Language::Rust).is_ok());
        File::create(directory.path("5.bin")).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let errors: Vec<String> = files(&directory.path(""), Language::Rust)
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(errors[0].contains("5.bin is larger than is fetched"), "{errors:?}");
        assert!(errors[1].contains("33554432 bytes in all"), "{errors:?}");
        // Of the others, only the file that runs is fetched.
        assert!(files(&directory.path(""), Language::Python).is_ok());
    }
}
