//! `requirements.txt` beside an evaluator.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{plain, references::References};

/// Name of the file.
pub(super) const FILE_NAME: &str = "requirements.txt";

/// A line of requirements that a fetched evaluator may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}: `{text}`")]
#[non_exhaustive]
pub struct NotPlain {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: &'static str,
    /// The line, or the beginning of a long one.
    pub text: String,
}

impl NotPlain {
    pub(super) fn new(line: usize, reason: &'static str, text: &str) -> Self {
        const LONGEST: usize = 80;
        let text = text.trim();
        let mut shown: String = text.escape_debug().take(LONGEST).collect();
        if text.chars().nth(LONGEST).is_some() {
            shown.push_str("..");
        }
        Self { line, reason, text: shown }
    }
}

/// Checks that requirements name packages of the index and nothing else: names with extras, versions, markers and hashes,
/// and comments. No options, addresses, paths or references to variables, by which a file could choose where packages come
/// from.
///
/// # Errors
///
/// The first line that has anything else.
pub fn check_plain(text: &str) -> Result<(), NotPlain> {
    plain::parse(text).map(drop)
}

/// The requirements of one evaluator, as they were when they were read.
#[derive(Clone, Debug)]
pub(super) struct Requirements {
    /// The file.
    pub(super) path: PathBuf,
    content: Vec<u8>,
    /// The packages, if nothing but packages of the index is named.
    plain: Result<Vec<String>, String>,
    /// Files and folders that are named, if something else is.
    references: References,
}

impl Requirements {
    /// The file beside an evaluator; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Why it cannot be read; for a `fetched` evaluator also what may not be in it.
    pub(super) fn beside(source: &Path, fetched: bool) -> Option<Result<Self, String>> {
        let path = source.with_file_name(FILE_NAME);
        // A link that leads nowhere is not the same as no file.
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            _ => {}
        }
        Some(Self::read(path, fetched))
    }

    fn read(path: PathBuf, fetched: bool) -> Result<Self, String> {
        let content =
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let plain = match str::from_utf8(&content) {
            Ok(text) => plain::parse(text).map_err(|problem| problem.to_string()),
            Err(error) => Err(format!("byte {}: it is not UTF-8", error.valid_up_to())),
        };
        let references = match &plain {
            Ok(_) => References::default(),
            Err(problem) if fetched => {
                return Err(format!(
                    "{}, {problem}\nhint: an evaluator that was fetched may only name packages of the index, such as \
                     `rapidfuzz>=3`",
                    path.display()
                ));
            }
            Err(_) => {
                let here = env::current_dir().ok();
                References::of(&path, &String::from_utf8_lossy(&content), here.as_deref())
            }
        };
        Ok(Self { path, content, plain, references })
    }

    /// The packages, if nothing but packages of the index is named.
    pub(super) fn packages(&self) -> Option<&[String]> {
        self.plain.as_deref().ok()
    }

    /// The folder that relative paths in the file start from; `None` if it has none.
    pub(super) fn base(&self) -> Option<&Path> {
        self.references.base()
    }

    /// Adds to a digest what decides which packages are installed.
    pub(super) fn digest_into(&self, digest: &mut Sha256) {
        digest.update((self.content.len() as u64).to_le_bytes());
        digest.update(&self.content);
        self.references.digest_into(digest);
    }

    /// Whether the file is another than was read. A file that is gone counts as one.
    pub(super) fn have_changed(&self) -> bool {
        fs::read(&self.path).map_or(true, |content| content != self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn the_file_beside_the_evaluator_counts() {
        let folder = Folder::new("requirements-beside");
        let source = folder.file("check.py", "");
        folder.file("deeper/requirements.txt", "a");
        assert!(Requirements::beside(&source, false).is_none());
        folder.file("requirements.txt", "a>1 # why\n\nb");
        let requirements = Requirements::beside(&source, true).unwrap().unwrap();
        assert_eq!(requirements.packages().unwrap(), ["a>1", "b"]);
        assert!(!requirements.have_changed());
        folder.file("requirements.txt", "a>2");
        assert!(requirements.have_changed());
    }

    #[test]
    fn what_a_fetched_evaluator_may_not_have_is_told_with_its_place() {
        let folder = Folder::new("requirements-fetched");
        let source = folder.file("check.py", "");
        let path = folder.file("requirements.txt", "a\n--index-url https://elsewhere\n");
        assert!(Requirements::beside(&source, false).unwrap().is_ok());
        let error = Requirements::beside(&source, true).unwrap().unwrap_err();
        let expected = format!(
            "{}, line 2: installer options are not allowed: `--index-url https://elsewhere`",
            path.display()
        );
        assert_eq!(error.lines().next(), Some(expected.as_str()));
        fs::write(&path, b"a\xff").unwrap();
        let error = Requirements::beside(&source, true).unwrap().unwrap_err();
        assert!(error.contains("byte 1: it is not UTF-8"), "{error}");
    }

    #[test]
    fn what_is_there_and_cannot_be_read_is_an_error() {
        let folder = Folder::new("requirements-unreadable");
        let source = folder.file("check.py", "");
        folder.file("requirements.txt/file", "");
        let error = Requirements::beside(&source, false).unwrap().unwrap_err();
        assert!(error.starts_with("cannot read "), "{error}");
        #[cfg(unix)]
        {
            let source = folder.file("link/check.py", "");
            std::os::unix::fs::symlink("nowhere", folder.path("link/requirements.txt")).unwrap();
            assert!(Requirements::beside(&source, false).unwrap().is_err());
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let error = check_plain(&format!("{}/", "x".repeat(200))).unwrap_err();
        assert_eq!(error.text, format!("{}..", "x".repeat(80)));
    }
}
