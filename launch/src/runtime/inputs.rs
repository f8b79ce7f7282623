//! What an evaluator consists of.

use std::{collections::BTreeSet, path::PathBuf};

/// Files of an evaluator: while nothing of this changes, it is the same evaluator. What it accesses while it runs (the
/// network, variables, data files) is not included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Files that are compared by content. They must exist.
    pub files: BTreeSet<PathBuf>,
    /// Programs of this machine that run them, compared by path, length and time of change.
    pub programs: BTreeSet<PathBuf>,
    /// Anything else, as text.
    pub notes: Vec<String>,
    /// Description of code that runs and is not among `files`, because its location is decided at run time, e.g. "`sys.path`
    /// in check.py". Whether it has changed cannot be known.
    pub dynamic_code: Option<String>,
}
