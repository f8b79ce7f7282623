//! What an evaluator consists of.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// Files of an evaluator: while nothing of this changes, it is the same evaluator. What it accesses while it runs (the
/// network, variables, data files) is not included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Files that run. They are compared by content, and must exist.
    pub files: BTreeSet<PathBuf>,
    /// Files from which `files` were compiled; empty if they were not. They must exist, and are the same on every machine.
    pub sources: BTreeSet<PathBuf>,
    /// Digests of the files from which `files` were compiled on another machine, by name; they are in place of `sources`. 64
    /// hexadecimal digits each.
    pub code: BTreeMap<String, String>,
    /// Programs of this machine that run them, compared by length, beginning and end, whatever their names are.
    pub programs: BTreeSet<PathBuf>,
    /// Packages that are installed for them, as text.
    pub notes: Vec<String>,
    /// Directories of those packages that the runtime has put on the search path.
    pub packages: BTreeSet<PathBuf>,
    /// Description of code that runs and is not among `files`, because its location is decided at run time, e.g. "`sys.path`
    /// in check.py". Whether it has changed cannot be known.
    pub dynamic_code: Option<String>,
}
