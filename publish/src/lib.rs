//! Publishing evaluators: their manifests, checks before publication, and the index from which hosts fetch them.
//!
//! This crate makes no promise of stability.
//!
//! | module | contents |
//! |---|---|
//! | [`manifest`] | directories of evaluators: `evaluator.yaml`, its entrypoint, and the other files |
//! | [`validate`] | checks of an evaluator before it is published |
//! | [`index`] | `index.yaml`, the list of evaluators of a repository |
//! | [`own_tests`] | the evaluators whose own tests a path selects |
//! | [`program_at`], [`name_of`] | entries for programs that a configuration does not name |

pub mod index;
pub mod manifest;
pub mod own_tests;
mod program;
pub mod validate;

pub use program::{name_of, program_at};

use evaluator_host::{config, source, verdict};
use evaluator_hosts as hosts;
use evaluator_launch::{executor, files, process, runtime};
