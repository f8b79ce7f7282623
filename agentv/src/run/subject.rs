//! What an evaluator evaluates, and what it returns.

use super::plan::Tested;
use crate::{
    grade::Score,
    model::Test,
    output::Output,
    report::{EvaluatorResult, JudgeUse, ProxyUse},
};

/// The output of a test, and who judges it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'s> {
    pub(super) test: &'s Test,
    pub(super) output: &'s Output,
    /// Score from which on the test passes.
    pub(super) threshold: f64,
    /// Name of the judge of entries that name none.
    pub(super) judge: Option<&'s str>,
    /// The tested target; `None` if the output was recorded.
    pub(super) tested: Option<&'s Tested>,
}

/// Result of an evaluator.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) score: Result<Score, String>,
    pub(super) judge: Option<JudgeUse>,
    pub(super) proxy: Option<ProxyUse>,
    pub(super) members: Vec<EvaluatorResult>,
}

impl From<Result<Score, String>> for Evaluated {
    fn from(score: Result<Score, String>) -> Self {
        Self { score, judge: None, proxy: None, members: Vec::new() }
    }
}
