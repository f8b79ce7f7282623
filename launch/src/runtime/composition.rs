//! What an evaluator consists of.

use std::{collections::BTreeSet, path::PathBuf};

/// What decides what an evaluator answers, besides what it is given: when nothing of this has changed, it is the same
/// evaluator. What it reads elsewhere while it runs (the network, variables, files of data) is not known here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composition {
    /// Files of which every byte counts. They must exist.
    pub files: BTreeSet<PathBuf>,
    /// Programs of this machine that run them. Where they are, how long they are and when they were made counts.
    pub programs: BTreeSet<PathBuf>,
    /// Anything else, in words.
    pub notes: Vec<String>,
    /// Code that it runs and that is not among `files`, because where it is depends on what the evaluator does; in words,
    /// e.g. "`sys.path` in check.py". Whether it has changed cannot be known.
    pub untraceable: Option<String>,
}
