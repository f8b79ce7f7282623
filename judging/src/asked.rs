//! Questions with the calls that ask them.

use std::time::Duration;

use crate::{
    calls::Called,
    judge::{Asked, Question, Reading},
};

/// A question with the calls that ask it.
#[derive(Debug)]
pub(crate) struct AskedQuestion {
    pub(crate) question: Question,
    /// In the order of their numbers. The index is that of the sample.
    pub(crate) calls: Vec<Called<Reading>>,
}

impl AskedQuestion {
    /// Returns the last call for a sample.
    pub(crate) fn last(&self, sample: usize) -> Option<&Called<Reading>> {
        self.calls.iter().rfind(|call| call.index == sample)
    }

    /// Returns the question with the last answer to each sample.
    pub(crate) fn read(&self) -> Asked {
        let last = (0..self.question.samples).filter_map(|sample| self.last(sample));
        Asked::new(self.question.clone(), last.map(|call| call.reading.clone()).collect())
    }
}

/// A planned question to one model, with its follow-up questions.
#[derive(Debug)]
pub(crate) struct Interview {
    pub(crate) model: usize,
    pub(crate) asked: Vec<AskedQuestion>,
    /// Time in its calls.
    pub(crate) spent: Duration,
}
