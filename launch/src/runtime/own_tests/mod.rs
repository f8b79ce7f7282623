//! The tests that an evaluator brings: where they are, how they are run, and how many of them ran.
//!
//! | file | what |
//! |---|---|
//! | `model` | tests that are ready to be run, and their result |
//! | `find` | test files beside a script |
//! | `count` | how many tests ran, by what the test runner prints |

mod count;
mod find;
mod model;

pub use count::TestRunner;
pub(super) use find::{Convention, find};
pub use model::{Output, OwnTests, TestResult};
