//! Warnings about a run that sum over its conversations. They are made from the records of the conversations when a report is
//! finished or read, and are in no run file: parts of a run have the warnings of one run.

use std::{collections::BTreeMap, sync::Arc};

use super::{ConversationReport, EvaluationReport};

/// Warning of a conversation that was judged before its last spans came.
pub const JUDGED_AGAIN: &str = "judged again, because spans came after it had been judged";

/// Place of a conversation in the order of the report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// That of a number.
    Number(usize),
    /// That of its trace id.
    TraceId(Arc<str>),
}

impl Default for Place {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// What the warnings of a run are about.
#[derive(Clone, Debug, Default)]
pub(super) struct Subjects {
    /// Attribute that identifies cases.
    pub(super) case_key: Option<String>,
    /// Attribute for clusters.
    pub(super) cluster: Option<String>,
    /// Evaluators whose repeats have to be equal, unless they ask models: programs.
    pub(super) programs: Vec<String>,
}

/// Counts for the warnings of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct RunWarnings {
    subjects: Subjects,
    /// Conversations that were read.
    conversations: usize,
    copied_spans: usize,
    copies: Found,
    again: Found,
    without_case: usize,
    several_cases: Found,
    without_cluster: usize,
    several_clusters: Found,
    /// By the index of the evaluator, with its name.
    disagreements: BTreeMap<usize, (String, Found)>,
}

/// Number of conversations, and the first of them.
#[derive(Clone, Debug, Default)]
struct Found {
    conversations: usize,
    first: Option<(Place, Arc<str>)>,
}

impl Found {
    fn add(&mut self, place: &Place, trace_id: &Arc<str>) {
        self.conversations += 1;
        if self.first.as_ref().is_none_or(|(first, _)| place < first) {
            self.first = Some((place.clone(), Arc::clone(trace_id)));
        }
    }

    /// Returns the number with its noun, and the trace id of the first; `None` if there is none.
    fn shown(&self) -> Option<(String, &str)> {
        let (_, first) = self.first.as_ref()?;
        Some((counted(self.conversations, "conversation"), first))
    }
}

impl RunWarnings {
    /// Creates the counts for warnings about these.
    pub(super) fn new(subjects: Subjects) -> Self {
        Self { subjects, ..Self::default() }
    }

    /// Returns the same without its counts.
    pub(super) fn unset(&self) -> Self {
        Self::new(self.subjects.clone())
    }

    /// Counts a conversation.
    pub(super) fn count(&mut self, place: &Place, conversation: &ConversationReport) {
        let trace_id = &conversation.trace_id;
        if conversation.dropped_copies > 0 {
            self.copied_spans = self.copied_spans.saturating_add(conversation.dropped_copies);
            self.copies.add(place, trace_id);
        }
        if conversation.warnings.iter().any(|warning| warning == JUDGED_AGAIN) {
            self.again.add(place, trace_id);
        }
        for (column, evaluation) in conversation.evaluations.iter().enumerate() {
            let is_doubtful = |it: &EvaluationReport| {
                let asks_models = it.each_repeat().any(|it| it.target_proxy.is_some());
                !asks_models && it.repeats_differ() && self.subjects.programs.contains(&it.name)
            };
            if is_doubtful(evaluation) {
                let none = || (evaluation.name.clone(), Found::default());
                self.disagreements.entry(column).or_insert_with(none).1.add(place, trace_id);
            }
        }
        if !conversation.was_read() {
            return;
        }
        self.conversations += 1;
        let has_several = |attribute: &String| conversation.several_values.contains(attribute);
        if let (Some(key), None) = (&self.subjects.case_key, &conversation.eval_case_id) {
            self.without_case += usize::from(conversation.case.is_none());
            if has_several(key) {
                self.several_cases.add(place, trace_id);
            }
        }
        if let Some(cluster) = &self.subjects.cluster {
            self.without_cluster += usize::from(conversation.cluster.is_none());
            if has_several(cluster) {
                self.several_clusters.add(place, trace_id);
            }
        }
    }

    /// Returns the warnings, each a sentence.
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some((conversations, first)) = self.copies.shown() {
            let spans = counted(self.copied_spans, "span");
            sentences.push(format!(
                "{spans} dropped as exact copies of others in {conversations} (first in trace {first})"
            ));
        }
        if let Some((conversations, first)) = self.again.shown() {
            let (were, they) =
                if self.again.conversations == 1 { ("was", "it") } else { ("were", "they") };
            sentences.push(format!(
                "{conversations} {were} judged again, because spans came after {they} had been judged (first in trace {first})"
            ));
        }
        for (attribute, option, without, several, what) in [
            (
                &self.subjects.case_key,
                "--case-key",
                self.without_case,
                &self.several_cases,
                "each of them is a case of its own",
            ),
            (
                &self.subjects.cluster,
                "--cluster",
                self.without_cluster,
                &self.several_clusters,
                "their cases count as one cluster, since nothing is known about them",
            ),
        ] {
            let Some(attribute) = attribute else { continue };
            let have = |count: usize| {
                let have = if count == 1 { "has" } else { "have" };
                format!("{count} of {} conversations {have}", self.conversations)
            };
            if without > 0 {
                let have = have(without);
                sentences
                    .push(format!("{have} no usable value of `{attribute}` ({option}); {what}"));
            }
            if let Some((_, first)) = &several.first {
                let have = have(several.conversations);
                sentences.push(format!(
                    "{have} several values of `{attribute}` ({option}); the one of the earliest span counts (first in trace {first})"
                ));
            }
        }
        for (evaluator, found) in self.disagreements.values() {
            let Some((conversations, first)) = found.shown() else { continue };
            sentences.push(format!(
                "{evaluator} asks no model, and its repeats differ in {conversations} (first in trace {first}): it reads a clock, a \
                 random number or the network"
            ));
        }
        sentences
    }
}

pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
