//! Reads eval files of both generations, with everything that they name.
//!
//! | file | contents |
//! |---|---|
//! | `suite` | the file: suite keys, tests from elsewhere, duplicates |
//! | `case` | a test |
//! | `message` | messages, their short forms and files |
//! | `list` | lists of evaluators, includes |
//! | `entry` | an entry: common keys and type |
//! | `simple`, `trajectory`, `fields`, `judge`, `program`, `composite` | keys of the types |
//! | `values` | conversions of values |

mod case;
mod composite;
mod entry;
mod fields;
mod judge;
mod list;
mod message;
mod program;
mod recognize;
mod simple;
mod suite;
mod trajectory;
mod values;

use std::path::{Path, PathBuf};

use evaluator_models::Variables;

use crate::{
    files::{Findings, Places},
    model::Generation,
};

pub use recognize::{is_eval_file, is_span_data};
pub use suite::{parse, read};

/// What reading an eval file depends on, apart from the file.
#[derive(Clone)]
#[non_exhaustive]
pub struct Surroundings {
    /// Variables of the environment.
    pub variables: Variables,
    /// Working directory.
    pub directory: PathBuf,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Surroundings {
    /// Creates surroundings.
    pub fn new(
        directory: impl Into<PathBuf>,
        variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { variables: std::sync::Arc::new(variables), directory: directory.into() }
    }
}

/// State of reading one eval file.
#[derive(Debug)]
struct Reader<'r> {
    surroundings: &'r Surroundings,
    findings: &'r Findings,
    places: Places,
    /// Directory of the eval file.
    directory: &'r Path,
    generation: Generation,
    /// Ids of the tests so far.
    ids: std::cell::RefCell<std::collections::HashMap<String, String>>,
}

impl Reader<'_> {
    fn is_v2(&self) -> bool {
        self.generation == Generation::V2
    }

    /// Replaces references to the environment, which AgentV 2 has in `targets.yaml` only.
    fn substitute(&self, node: &mut evaluator_document::Node) {
        if !self.is_v2() {
            crate::references::environment(node, &*self.surroundings.variables);
        }
    }
}
