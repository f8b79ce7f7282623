//! Contradictions within results: between a stated status and the score, and other warnings about answers.

use std::{io, sync::Arc};

use super::{Report, Status};

/// Maximum number of tests of a suite whose warnings are named.
const TESTS: usize = 10;

/// Contradictions in the results of an evaluator: the first one, and the number of further ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradictions {
    /// Name of the evaluator.
    pub evaluator: String,
    /// Trace id of the first conversation with one.
    pub trace_id: Arc<str>,
    /// File of that trace.
    pub trace_file: Option<Arc<str>>,
    /// Golden case of that conversation.
    pub eval_case_id: Option<Arc<str>>,
    /// The first one.
    pub first: String,
    /// Number of further ones.
    pub more: usize,
}

impl Contradictions {
    /// Returns the first contradiction, and the number of further ones.
    pub fn message(&self) -> String {
        match self.more {
            0 => self.first.clone(),
            more => format!("{} (and {more} more of its kind)", self.first),
        }
    }
}

impl Report {
    /// Returns the contradictions of each evaluator, in the order of the report; those of a suite for each of its first tests.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read.
    pub fn contradictions(&self) -> io::Result<Vec<Contradictions>> {
        let mut found: Vec<Contradictions> = Vec::new();
        if self.conversations.warnings() == 0 {
            return Ok(found);
        }
        for conversation in self.conversations.iter().outlines() {
            let conversation = conversation?;
            for evaluation in conversation.evaluations {
                let more = evaluation.warnings.len();
                let Some(first) = evaluation.warnings.into_iter().next() else { continue };
                // The evaluations of a suite are about different tests.
                let is_named = self.suite.is_some() && found.len() < TESTS;
                let known = found.iter_mut().find(|known| known.evaluator == evaluation.name);
                match known.filter(|_| !is_named) {
                    Some(known) => known.more += more,
                    None => found.push(Contradictions {
                        evaluator: evaluation.name,
                        trace_id: Arc::clone(&conversation.trace_id),
                        trace_file: conversation.trace_file.clone(),
                        eval_case_id: conversation.eval_case_id.clone(),
                        first,
                        more: more - 1,
                    }),
                }
            }
        }
        Ok(found)
    }
}

/// Returns the contradiction between a status that an evaluator states and its score, as a sentence. The answer is valid.
pub fn contradiction(status: Status, score: Option<f64>, threshold: f64) -> Option<String> {
    let score = score?;
    match status {
        Status::Passed if score < threshold => Some(format!(
            "it says PASSED, though its score {score} is below the threshold {threshold}"
        )),
        Status::Failed if score >= threshold => Some(format!(
            "it says FAILED, though its score {score} reaches the threshold {threshold}"
        )),
        _ => None,
    }
}
