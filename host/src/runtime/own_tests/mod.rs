//! The tests that an evaluator brings: where they are, how they are run, and how many of them ran.
//!
//! | file | what |
//! |---|---|
//! | `model` | tests that are ready to be run, and their result |
//! | `find` | test files beside a script |
//! | `count` | how many tests ran, by what the test runner prints |
//! | `targets` | which evaluators a path stands for |

mod count;
mod find;
mod model;
mod targets;

pub use count::TestRunner;
pub(super) use find::{Convention, find};
pub use model::{Output, OwnTests, TestResult};
pub use targets::{Targets, targets};
