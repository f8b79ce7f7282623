//! `bundle.json`: where a bundle fits, and what its evaluators consist of.

use std::{collections::BTreeMap, fs, io, path::Path};

use evaluator_host::{
    report::run_file::{Digest, TOOL},
    runtime::Interpreter,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::BundleError,
    machine::{Version, glibc, target},
};

/// Name of the file, next to the configuration.
pub(crate) const FILE: &str = "bundle.json";

/// Key by which a file of that name is one of a bundle.
const KEY: &str = "evaluator_bundle";

/// Contents of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Version of the format.
    pub(crate) evaluator_bundle: u32,
    /// Program that made the bundle, which is in it.
    pub(crate) tool: String,
    /// Kind of machine.
    pub(crate) target: String,
    /// Newest version of glibc that a program needs; `None` if none needs it.
    pub(crate) glibc: Option<String>,
    /// Major and minor version of Python; `None` if no evaluator needs Python.
    pub(crate) python: Option<String>,
    /// Interpreters where the bundle was made, by the name of the command. They are used where `PATH` is not set.
    pub(crate) interpreters: BTreeMap<String, String>,
    /// Plan of a run. With an eval set it has that, too.
    pub(crate) plan: Option<Digest>,
    /// Evaluators in the order of the configuration.
    pub(crate) evaluators: Vec<Entry>,
}

/// An evaluator of a bundle. Paths are relative to the directory of the bundle, with forward slashes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Digests of its files by name, as in a run file.
    pub(crate) code: BTreeMap<String, Digest>,
    /// File that the configuration names; `None` if it is not a program.
    pub(crate) source: Option<String>,
    /// Compiled program, with the digest of its content.
    pub(crate) program: Option<(String, Digest)>,
    /// Directory with its packages, with the digest of the files in it.
    pub(crate) packages: Option<(String, Digest)>,
}

impl Manifest {
    /// Version of the format.
    pub(crate) const VERSION: u32 = 1;

    /// Reads the file in a directory; `None` if there is none, or one of another tool.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, BundleError> {
        let path = directory.join(FILE);
        let damaged = |reason: String| BundleError::Misfit(format!("{}: {reason}", path.display()));
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| damaged(format!("it cannot be read: {error}")))?,
        };
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| damaged(format!("the bundle is damaged: {error}")))?;
        let Some(version) = value.get(KEY).cloned() else { return Ok(None) };
        if version != Self::VERSION {
            return Err(damaged(format!(
                "the bundle has format {version}, and this program reads {}; use the `evaluator` that is in the bundle",
                Self::VERSION
            )));
        }
        let manifest = serde_json::from_value(value);
        manifest.map(Some).map_err(|error| damaged(format!("the bundle is damaged: {error}")))
    }

    /// Checks that a bundle fits this program and machine. `python` asks for its interpreter.
    pub(crate) fn check(
        &self,
        python: impl FnOnce() -> Result<Interpreter, String>,
    ) -> Result<(), BundleError> {
        let misfit = |message: String| Err(BundleError::Misfit(message));
        let (tool, here) = (&self.tool, target());
        if tool != TOOL {
            return misfit(format!(
                "the bundle was made by {tool}, and this is {TOOL}; use the `evaluator` that is in the bundle, or make the bundle \
                 again"
            ));
        }
        if self.target != here {
            let target = &self.target;
            return misfit(format!(
                "the bundle is for {target}, and this machine is {here}; make one on a machine like this"
            ));
        }
        if let Some(needed) = &self.glibc {
            let found = glibc(Path::new("/"));
            if found < Version::parse(needed) {
                let there = found.map_or_else(|| "none".to_owned(), |it| it.to_string());
                return misfit(format!(
                    "programs of the bundle need glibc {needed}, and this machine has {there}; make one on a machine whose glibc is \
                     not newer"
                ));
            }
        }
        let Some(wanted) = &self.python else { return Ok(()) };
        let python = python().map_err(|reason| {
            BundleError::Misfit(format!("the bundle needs Python {wanted}: {reason}"))
        })?;
        if Version::parse(&python.version).map(|it| it.minor()).as_ref() != Some(wanted) {
            let (file, version) = (python.file.display(), &python.version);
            return misfit(format!(
                "the bundle is for Python {wanted}, and {file} is Python {version}; point EVALUATOR_PYTHON at a Python {wanted}"
            ));
        }
        Ok(())
    }
}
