//! Reads eval files of both generations, with everything that they name.
//!
//! | file | contents |
//! |---|---|
//! | `suite` | the file: suite keys, tests from elsewhere, duplicates |
//! | `foreign` | files of other programs |
//! | `case` | a test |
//! | `message` | messages, their short forms and files |
//! | `list`, `place` | lists of evaluators, includes |
//! | `entry` | an entry: common keys and type |
//! | `simple`, `trajectory`, `fields`, `judge`, `program`, `composite` | keys of the types |
//! | `values` | conversions of values |

mod case;
mod composite;
mod entry;
mod fields;
mod foreign;
mod judge;
mod list;
mod message;
mod place;
mod program;
mod recognize;
mod simple;
mod suite;
mod trajectory;
mod values;

use std::path::{Path, PathBuf};

use evaluator_document::Fields;
use evaluator_models::Variables;

use crate::{
    files::{Findings, Opened, Places},
    model::Generation,
};

pub use foreign::PROMPTFOO;
pub use recognize::{is_eval_file, is_span_data};
pub use suite::{parse, read};

/// Options for reading an eval file.
#[derive(Clone, derive_more::Debug)]
#[debug("ReadOptions({directory:?})")]
pub struct ReadOptions {
    /// Variables of the environment.
    pub variables: Variables,
    /// Working directory.
    pub directory: PathBuf,
    /// The outputs are recorded: keys that only concern how outputs are produced have no effect. Default: false.
    pub is_recorded: bool,
    /// The tested target is chosen elsewhere: lists of targets have no effect. Default: false.
    pub has_target: bool,
}

impl ReadOptions {
    /// Creates options.
    pub fn new(
        directory: impl Into<PathBuf>,
        variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            variables: std::sync::Arc::new(variables),
            directory: directory.into(),
            is_recorded: false,
            has_target: false,
        }
    }
}

/// State of reading one eval file.
#[derive(Debug)]
struct Reader<'r> {
    options: &'r ReadOptions,
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
    fn substitute(&self, node: &mut evaluator_document::Node, opened: Opened<'_>) {
        if !self.is_v2() {
            crate::references::environment(node, &*self.options.variables, &|span, name| {
                let message = format!("the variable `{name}` is not set; its value is empty");
                opened.problems.warn(span, message);
            });
        }
    }

    /// Takes keys that only concern how outputs are produced. Refuses them if outputs are produced in this run.
    fn production(&self, fields: &mut Fields<'_>, keys: &[(&'static str, &str)]) {
        for (key, what) in keys {
            if self.options.is_recorded {
                fields.take(key);
            } else {
                let hint = "record the outputs with AgentV, and grade them with `run --outputs`";
                fields.refuse(key, format!("`{key}`: {what}"), hint);
            }
        }
    }

    /// Takes a list of targets. Refuses it if nothing else chooses the target.
    fn targets(&self, fields: &mut Fields<'_>) {
        if self.options.is_recorded || self.options.has_target {
            fields.take("targets");
        } else {
            let message = "several targets are not supported";
            fields.refuse("targets", message, "name one with `target` or --target");
        }
    }
}
