//! The [`EvaluatorSource`] trait, the types of its methods, and the registry of sources.

use std::{fmt, io, path::Path, time::Duration};

use sha2::{Digest, Sha256};

use super::Reference;
use crate::process::Cancellation;

/// Source of evaluators.
///
/// Register an implementation with [`Sources::register_source`](super::Sources::register_source). Methods may block, and are
/// called from several threads at once.
pub trait EvaluatorSource: Send + Sync + fmt::Debug {
    /// Returns the name for the `source:` key of a configuration: letters, digits, `_`, `-`, as it is a directory in the cache.
    fn name(&self) -> &str;

    /// Returns the location, e.g. a URL or a directory. Two sources with the same origin have the same evaluators.
    ///
    /// # Errors
    ///
    /// [`SourceError::NotSetUp`] if no location is configured, [`SourceError::Setting`] if it is invalid.
    fn origin(&self) -> Result<String, SourceError>;

    /// Returns true if fetching only reads files of this machine, so that checking a configuration may do it, too; `false` by
    /// default.
    fn is_near(&self) -> bool {
        false
    }

    /// Lists the evaluators.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if nothing can be listed; problems of single evaluators are warnings of the [`Listing`].
    fn list(&self, freshness: Freshness) -> Result<Listing, SourceError>;

    /// Returns the files of one evaluator in any order: the one referred to, and those that belong to it.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if a file cannot be fetched.
    fn fetch(
        &self,
        reference: &Reference,
        cancellation: &Cancellation,
    ) -> Result<Fetched, SourceError>;
}

/// Permitted age of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freshness {
    /// Up to a day: a cached listing may be returned.
    #[default]
    Cached,
    /// None: the source is queried.
    Fresh,
}

/// The evaluators of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// In the order of the source.
    pub entries: Vec<Entry>,
    /// Entries that could not be listed, and remarks about others.
    pub warnings: Vec<String>,
}

/// An evaluator, as its source describes it.
///
/// The texts are not trusted: remove control characters before printing them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Name, as used in `name:` of a configuration.
    pub name: String,
    /// Description; empty if absent.
    pub description: String,
    /// Language, e.g. `python`; empty if absent, and for metrics.
    pub language: String,
    /// Value for `ref:`; `None` if the evaluator cannot be fetched.
    pub reference: Option<String>,
    /// Search terms.
    pub tags: Vec<String>,
    /// Author; empty if absent.
    pub author: String,
}

/// The files of one evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Directory of the files, as a path inside the source; empty for its root.
    pub directory: String,
    /// Whether the files are the whole directory (a package), or a file and its requirements.
    pub whole_directory: bool,
    /// The files.
    pub files: Vec<SourceFile>,
}

/// A file of an evaluator.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("{path} ({} bytes)", bytes.len())]
pub struct SourceFile {
    /// Path inside [`Fetched::directory`], with forward slashes.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Hash of an evaluator's files: SHA-256 of the list of its files.
///
/// The list has a line for each file, in the order of their paths: the hexadecimal SHA-256 of the content, two blanks, the
/// path; as `sha256sum` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
pub struct ContentHash(String);

const PREFIX: &str = "sha256:";

impl ContentHash {
    /// Returns the hash of files in any order.
    pub fn of(files: &[SourceFile]) -> Self {
        let mut lines: Vec<(&str, String)> =
            files.iter().map(|file| (file.path.as_str(), sha256(&file.bytes))).collect();
        lines.sort();
        let list: String = lines.iter().map(|(path, hash)| format!("{hash}  {path}\n")).collect();
        Self(format!("{PREFIX}{}", sha256(list.as_bytes())))
    }

    /// Reads `sha256:` and 64 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        text.strip_prefix(PREFIX).filter(|digits| is_sha256(digits)).map(|_| Self(text.to_owned()))
    }

    /// `sha256:` and 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first 12 digits, for messages.
    pub fn short(&self) -> &str {
        &self.0[..PREFIX.len() + 12]
    }
}

/// Returns the SHA-256 of bytes in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns true if the text is a SHA-256 in hexadecimal digits, in lower case.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Error of listing a source or fetching an evaluator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No source of that name is registered. The wording is that of agentevals.
    #[error("Unknown evaluator source '{name}'. Available: [{}]", .available.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names registered, in alphabetical order.
        available: Vec<String>,
    },
    /// The location of the source is not configured.
    #[error("the source `{name}` is not set up: {hint}")]
    NotSetUp {
        /// The source.
        name: String,
        /// Setting that is missing.
        hint: String,
    },
    /// A setting of the source cannot be used.
    #[error("{variable} {reason}")]
    Setting {
        /// The variable.
        variable: &'static str,
        /// Problem.
        reason: String,
    },
    /// The file does not exist in the source.
    #[error("there is no {what} at {place}")]
    NotFound {
        /// Kind of the missing thing.
        what: String,
        /// Address or path.
        place: String,
    },
    /// The server refused the request.
    #[error("{url} answers {status}: {hint}")]
    Refused {
        /// Address.
        url: String,
        /// Status code.
        status: u16,
        /// Possible remedy.
        hint: String,
    },
    /// The server did not answer in time.
    #[error("no answer from {url} within {} s", .limit.as_secs())]
    TimedOut {
        /// Address.
        url: String,
        /// The limit.
        limit: Duration,
    },
    /// The server cannot be reached, or stopped in the middle of an answer.
    #[error("cannot fetch {url}: {reason}")]
    Unreachable {
        /// Address.
        url: String,
        /// Reason.
        reason: String,
    },
    /// Larger than the limits for fetched files.
    #[error("{what} exceeds the limit for fetched files: {limit}")]
    TooLarge {
        /// Address or path.
        what: String,
        /// The limit.
        limit: String,
    },
    /// A manifest, an index or the list of a repository is invalid.
    #[error("{place}: {reason}")]
    Malformed {
        /// File or address, with line and column where they are known.
        place: String,
        /// Problem.
        reason: String,
    },
    /// A fetched file differs from its hash in the index.
    #[error("{what} is not the file its index describes: sha256 {found} instead of {expected}")]
    NotAsIndexed {
        /// Path in the source.
        what: String,
        /// Hexadecimal.
        found: String,
        /// Hexadecimal.
        expected: String,
    },
    /// A file that must not be used, such as a symbolic link.
    #[error("{reason}")]
    Unsafe {
        /// Names the path.
        reason: String,
    },
    /// Error of the file system.
    #[error("cannot {action}: {reason}")]
    Disk {
        /// Failed action, with the path.
        action: String,
        /// Reason.
        reason: String,
    },
    /// The content differs from its pin.
    #[error("{reason}")]
    Pinned {
        /// Pin, content that was found, and remedy.
        reason: String,
    },
    /// The run was cancelled.
    #[error("fetching was cancelled")]
    Cancelled,
}

impl SourceError {
    pub(super) fn disk(action: &str, path: &Path, error: &io::Error) -> Self {
        Self::Disk { action: format!("{action} {}", path.display()), reason: error.to_string() }
    }

    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), bytes: text.into() }
    }

    #[test]
    fn it_is_what_sha256sum_makes_of_its_own_list() {
        // printf 'a' | sha256sum, and so on.
        let list = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a.py\n\
                    3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b/c.txt\n";
        let hash = ContentHash::of(&[file("b/c.txt", "b"), file("a.py", "a")]);
        assert_eq!(hash.as_str(), format!("sha256:{}", sha256(list.as_bytes())));
        assert_eq!(ContentHash::parse(hash.as_str()), Some(hash));
    }

    #[test]
    fn names_count_as_much_as_contents() {
        let hash = |path, text| ContentHash::of(&[file(path, text)]);
        assert_ne!(hash("a", "x"), hash("b", "x"));
        assert_ne!(hash("a", "x"), hash("a", "y"));
        assert_ne!(hash("a", ""), ContentHash::of(&[]));
    }

    #[test]
    fn other_texts_are_no_hashes() {
        for text in ["", "sha256:", "md5:00", &format!("sha256:{}", "A".repeat(64))] {
            assert_eq!(ContentHash::parse(text), None, "{text}");
        }
    }
}
