//! Questions with the calls that ask them.

use std::{borrow::Cow, time::Duration};

use evaluator_models::Messages;

use crate::{
    calls::Called,
    judge::{Asked, Question, Reading},
};

/// A question with the calls that ask it.
#[derive(Debug)]
pub(crate) struct AskedQuestion {
    pub(crate) question: Question,
    /// What was sent to ask it.
    pub(crate) messages: Messages,
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

/// A question as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct SentPrompt {
    /// Index of the turn that it is about.
    pub turn: usize,
    /// Name of the prompt.
    pub name: Cow<'static, str>,
    /// The messages.
    pub messages: Messages,
}

/// A planned question to one model, with its follow-up questions.
#[derive(Debug)]
pub(crate) struct Interview {
    pub(crate) model: usize,
    pub(crate) asked: Vec<AskedQuestion>,
    /// Time in its calls.
    pub(crate) spent: Duration,
}
