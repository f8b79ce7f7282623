//! Conversations of a run, with what evaluators say about them.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::Arc,
};

use crate::{
    ALL_EVALUATORS, ConversationReport, EvaluationOutcome, EvaluationReport, Report, gate::score_of,
};

/// Conversations of a run.
#[derive(Default)]
pub(super) struct Talks {
    pub(super) all: Vec<Talk>,
    /// Names of evaluators, in the order of the run.
    pub(super) evaluators: Vec<String>,
    /// Whether an evaluation was repeated.
    pub(super) are_repeated: bool,
    /// Whether conversations have clusters.
    pub(super) are_clustered: bool,
    /// Numbers of conversations by trace id, and by the id of their case.
    pub(super) by_trace: HashMap<Arc<str>, usize>,
    pub(super) by_case: HashMap<Arc<str>, Vec<usize>>,
}

/// A conversation.
pub(super) struct Talk {
    pub(super) trace_id: Arc<str>,
    pub(super) case: Arc<str>,
    pub(super) prompt: Option<Arc<str>>,
    /// Verdicts by the number of the evaluator.
    verdicts: Vec<Option<Opinion>>,
    /// Whether no evaluator could evaluate it.
    is_broken: bool,
}

/// What an evaluator says about a conversation.
#[derive(Clone, Debug)]
pub(super) struct Opinion {
    pub(super) outcome: EvaluationOutcome,
    /// Score; `None` without a verdict.
    pub(super) score: Option<f64>,
    pub(super) threshold: Option<f64>,
    pub(super) reason: Option<String>,
}

impl Talks {
    /// Reads the conversations of a run. Reasons are kept of conversations with one of these names; of all without names.
    pub(super) fn read(report: &Report, names: Option<&HashSet<&str>>) -> io::Result<Self> {
        let mut talks = Self::default();
        report.conversations.iter().without_performance().try_for_each_ahead(|conversation| {
            talks.add(&conversation, names);
            Ok(())
        })?;
        Ok(talks)
    }

    fn add(&mut self, conversation: &ConversationReport, names: Option<&HashSet<&str>>) {
        let (case, trace_id) = (conversation.case(), &conversation.trace_id);
        let is_named =
            names.is_none_or(|names| names.contains(&**case) || names.contains(&**trace_id));
        let number = self.all.len();
        let mut talk = Talk {
            trace_id: Arc::clone(trace_id),
            case: Arc::clone(case),
            prompt: conversation.prompt.clone(),
            verdicts: Vec::new(),
            is_broken: false,
        };
        for evaluation in &conversation.evaluations {
            if evaluation.name == ALL_EVALUATORS {
                talk.is_broken = true;
                continue;
            }
            let at = self.number_of(talk.verdicts.len(), &evaluation.name);
            if talk.verdicts.len() <= at {
                talk.verdicts.resize(at + 1, None);
            }
            talk.verdicts[at] = Some(Opinion::new(evaluation, is_named));
            self.are_repeated |= !evaluation.repeats.is_empty();
        }
        self.are_clustered |= conversation.cluster.is_some();
        self.by_trace.insert(Arc::clone(trace_id), number);
        self.by_case.entry(Arc::clone(case)).or_default().push(number);
        self.all.push(talk);
    }

    /// Returns the number of an evaluator, which is likely the expected one.
    fn number_of(&mut self, expected: usize, name: &str) -> usize {
        if self.evaluators.get(expected).is_some_and(|it| it == name) {
            return expected;
        }
        self.evaluators.iter().position(|it| it == name).unwrap_or_else(|| {
            self.evaluators.push(name.to_owned());
            self.evaluators.len() - 1
        })
    }
}

impl Talk {
    /// Returns what an evaluator says; an error if the conversation could not be evaluated at all.
    pub(super) fn opinion(&self, evaluator: usize) -> Opinion {
        let outcome =
            if self.is_broken { EvaluationOutcome::Error } else { EvaluationOutcome::NotRun };
        let none = Opinion { outcome, score: None, threshold: None, reason: None };
        self.verdicts.get(evaluator).cloned().flatten().unwrap_or(none)
    }
}

impl Opinion {
    fn new(evaluation: &EvaluationReport, with_reason: bool) -> Self {
        let reason = || {
            let parts = [
                evaluation.failure_reason.clone(),
                evaluation.reason().map(std::borrow::Cow::into_owned),
                evaluation.difference(),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            (!parts.is_empty()).then(|| parts.join("; "))
        };
        Self {
            outcome: evaluation.outcome(),
            score: score_of(evaluation),
            threshold: evaluation.threshold,
            reason: if with_reason { reason() } else { None },
        }
    }

    /// Returns true for a pass; `None` without a verdict.
    pub(super) fn passed(&self) -> Option<bool> {
        self.score.map(|_| self.outcome == EvaluationOutcome::Passed)
    }
}
