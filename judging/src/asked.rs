//! Questions with the calls that ask them.

use std::time::Duration;

use evaluator_models::{Answer, ModelError};

use crate::judge::Question;

/// A call with its result.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Index of the sample among those of its question.
    pub(crate) index: usize,
    /// Number among equal requests.
    pub(crate) number: u32,
    pub(crate) result: Result<Answer, ModelError>,
    /// Whether the reply can be read.
    pub(crate) is_readable: bool,
    /// Whether a later call asks again, because the reply is unreadable.
    pub(crate) is_replaced: bool,
}

/// A question with the calls that ask it.
#[derive(Debug)]
pub(crate) struct AskedQuestion {
    pub(crate) question: Question,
    /// In the order of their numbers.
    pub(crate) samples: Vec<Sample>,
}

/// A planned question to one model, with its follow-up questions.
#[derive(Debug)]
pub(crate) struct Interview {
    pub(crate) model: usize,
    pub(crate) asked: Vec<AskedQuestion>,
    /// Time in its calls.
    pub(crate) spent: Duration,
}
