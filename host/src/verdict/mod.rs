//! What came of one evaluation, as a value.

mod model;

pub use model::{Answer, BadAnswer, Status, Verdict};
