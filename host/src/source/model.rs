//! The [`EvaluatorSource`] trait and what passes through it.

use std::fmt;

use super::{Reference, SourceError};
use crate::process::Cancellation;

/// A place that evaluators come from.
///
/// Implement it to teach the host another one, and add it with [`Sources::register_source`](super::Sources::register_source).
/// Calls block, and come from several threads at once.
pub trait EvaluatorSource: Send + Sync + fmt::Debug {
    /// Name as in the `source:` key of a configuration; plain (letters, digits, `_`, `-`), because it is a folder in the cache.
    fn name(&self) -> &str;

    /// Where it is, e.g. an address or a folder. Two sources with the same origin hold the same evaluators.
    ///
    /// # Errors
    ///
    /// [`SourceError::NotSetUp`] when nothing says where it is, [`SourceError::Setting`] when what says so makes no sense.
    fn origin(&self) -> Result<String, SourceError>;

    /// Whether fetching from it only reads files of this machine, so that a check of a configuration may do it, too; `false` if
    /// not said otherwise.
    fn is_near(&self) -> bool {
        false
    }

    /// What there is.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when nothing can be listed; what is wrong with single evaluators is a warning of the [`Listing`].
    fn list(&self, freshness: Freshness) -> Result<Listing, SourceError>;

    /// The files of one evaluator: the one referred to first in meaning, though in any order, and what belongs to it.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when it cannot be had whole.
    fn fetch(
        &self,
        reference: &Reference,
        cancellation: &Cancellation,
    ) -> Result<Fetched, SourceError>;
}

/// Whether an answer from before will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// It will, if it is less than a day old.
    #[default]
    Cached,
    /// The source is asked.
    Fresh,
}

/// The evaluators of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// In the order of the source.
    pub entries: Vec<Entry>,
    /// What could not be listed, and what to know about the rest.
    pub warnings: Vec<String>,
}

/// An evaluator, as its source describes it.
///
/// All of it was written by others: whoever shows it takes out what terminals would act upon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Name, as used in `name:` of a configuration.
    pub name: String,
    /// What it scores; empty when not said.
    pub description: String,
    /// Language, e.g. `python`; empty when not said, and for metrics.
    pub language: String,
    /// What to write as `ref:`; `None` for what cannot be fetched.
    pub reference: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Who wrote it; empty when not said.
    pub author: String,
}

/// The files of one evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The folder they lie in, as a path inside the source; empty at its top.
    pub folder: String,
    /// Whether they are all there is in the folder (a package), or a file and what stands beside it.
    pub whole_folder: bool,
    /// The files.
    pub files: Vec<SourceFile>,
}

/// A file of an evaluator.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path inside [`Fetched::folder`], with forward slashes.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Shows the size in place of the content.
impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.bytes.len())
    }
}
