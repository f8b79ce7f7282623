//! A recorded conversation as input of evaluators.

use std::sync::OnceLock;

use super::{document::Turns, foreign::ForeignAdapter};
use crate::{
    conversation::Conversation,
    eval_set::{EvalCase, Unmatched},
    pool::Document,
    report::{
        EventContext,
        run_file::{Digest, Digester},
    },
};

/// A conversation with its golden case, and the texts and digests that evaluators share.
#[derive(Debug)]
pub struct Recording {
    pub(crate) conversation: Conversation,
    /// Position among the conversations of the traces or the suite.
    pub(crate) number: usize,
    /// The golden case, or the reason why it is missing.
    pub(crate) golden: Result<EvalCase, Unmatched>,
    /// The case with the scenario of a simulated user, if there is one.
    pub(crate) scenario: Option<EvalCase>,
    turns: OnceLock<Turns>,
    metric_digest: OnceLock<Digest>,
}

impl Recording {
    /// Creates the input of a conversation; `number` is its position in the run.
    pub fn new(
        number: usize,
        conversation: Conversation,
        golden: Result<EvalCase, Unmatched>,
    ) -> Self {
        let (turns, metric_digest) = (OnceLock::new(), OnceLock::new());
        Self { conversation, number, golden, scenario: None, turns, metric_digest }
    }

    /// Adds the case with the scenario of a simulated user.
    pub fn with_scenario(self, scenario: Option<EvalCase>) -> Self {
        Self { scenario, ..self }
    }

    /// Returns the golden case, if there is one.
    pub fn case(&self) -> Option<&EvalCase> {
        self.golden.as_ref().ok()
    }

    /// Returns the numbers of recorded and of golden turns.
    pub(crate) fn turn_counts(&self) -> (usize, usize) {
        (self.conversation.turns.len(), self.case().map_or(0, |case| case.turns.len()))
    }

    /// Returns the numbers of golden turns that are not recorded and of all golden turns; `None` if none is missing.
    pub(crate) fn missing_turns(&self) -> Option<(usize, usize)> {
        let (recorded, golden) = self.turn_counts();
        (recorded < golden).then(|| (golden - recorded, golden))
    }

    /// Returns the part of the conversation that evaluation events contain.
    pub(crate) fn event_context(&self) -> EventContext {
        EventContext::new(&self.conversation, self.case())
    }

    /// Returns the shared part of documents, which is written at the first call.
    pub(crate) fn turns(&self) -> &Turns {
        self.turns.get_or_init(|| Turns::new(&self.conversation, self.case()))
    }

    /// Returns the document for an evaluator of another contract.
    pub(crate) fn foreign_document(&self, foreign: &ForeignAdapter) -> Document {
        foreign.document(&self.conversation, self.case())
    }

    /// Returns the digest of everything that metrics read.
    pub(crate) fn metric_digest(&self) -> &Digest {
        self.metric_digest.get_or_init(|| {
            let digester = Digester::new("metric input")
                .json("turns", &self.conversation.turns)
                .json("golden", &self.golden);
            match &self.scenario {
                Some(scenario) => digester.json("scenario", scenario).finish(),
                None => digester.finish(),
            }
        })
    }
}
