//! Attributes of conversations that decide cases, clusters and slices.

use std::sync::Arc;

use super::Runner;
use crate::{
    config::Config,
    conversation::Conversation,
    models::Redactor,
    report::{ConversationReport, RECORDED_ATTRIBUTES},
};

/// The attributes by which a run tells conversations apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    case_key: Option<String>,
    cluster: Option<String>,
    by: Vec<String>,
    /// Removes the secrets of this machine from values.
    redactor: Redactor,
}

impl Attributes {
    /// Returns those of a configuration.
    pub(super) fn of(config: &Config, runner: &Runner) -> Self {
        let Config { case_key, cluster, by, .. } = config;
        let redactor = Redactor::new(runner.environment().secrets);
        Self { case_key: case_key.clone(), cluster: cluster.clone(), by: by.clone(), redactor }
    }

    /// Removes the secrets of this machine from the values of a conversation, which are in reports and name its case.
    pub(super) fn redact(&self, conversation: &mut Conversation) {
        for value in conversation.labels.values_mut().flatten() {
            *value = self.redacted(value);
        }
    }

    /// Returns a text without the secrets of this machine.
    pub(super) fn redacted(&self, text: &str) -> String {
        self.redactor.redact(text)
    }

    /// Returns true if cases are in clusters.
    pub(super) fn has_clusters(&self) -> bool {
        self.cluster.is_some()
    }

    /// Returns the one that identifies cases.
    pub(super) fn case_key(&self) -> Option<&str> {
        self.case_key.as_deref()
    }

    /// Returns all whose values are read.
    pub(super) fn all(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.asked().map(|(_, attribute)| attribute).chain(RECORDED_ATTRIBUTES).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns those that the run was asked for, each with its option.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let [case_key, cluster] = [("--case-key", &self.case_key), ("--cluster", &self.cluster)]
            .map(|(option, attribute)| Some((option, attribute.as_deref()?)));
        let by = self.by.iter().map(|it| ("--by", it.as_str()));
        case_key.into_iter().chain(cluster).chain(by)
    }

    /// Adds the case, the cluster and the labels of a conversation to its report, which has its golden case already.
    pub(super) fn add_to(&self, report: &mut ConversationReport, conversation: &Conversation) {
        let first = |attribute: &Option<String>| {
            let values = conversation.labels.get(attribute.as_ref()?)?;
            values.first().map(|value| Arc::from(value.as_str()))
        };
        report.case = if report.eval_case_id.is_none() { first(&self.case_key) } else { None };
        report.cluster = first(&self.cluster);
        let is_label = |name: &&String| {
            self.by.contains(*name) || RECORDED_ATTRIBUTES.contains(&name.as_str())
        };
        let labels = conversation.labels.iter().filter(|(name, _)| is_label(name));
        report.labels = labels.map(|(name, values)| (name.clone(), values.clone())).collect();
    }
}

/// Numbers of conversations whose case or cluster is in doubt.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    conversations: usize,
    case: Doubt,
    cluster: Doubt,
}

#[derive(Debug, Default)]
struct Doubt {
    without: usize,
    several: usize,
    /// The first with several values.
    first: Option<Arc<str>>,
}

impl Doubt {
    fn add(&mut self, conversation: &Conversation, attribute: &str) {
        match conversation.labels.get(attribute).map_or(0, Vec::len) {
            0 => self.without += 1,
            1 => {}
            _ => {
                self.several += 1;
                self.first.get_or_insert_with(|| Arc::clone(&conversation.trace_id));
            }
        }
    }

    fn warnings(&self, attribute: &str, option: &str, all: usize, without: &str) -> Vec<String> {
        let Self { without: count, several, first } = self;
        let have = |count: usize| if count == 1 { "has" } else { "have" };
        let mut warnings = Vec::new();
        if *count > 0 {
            warnings.push(format!(
                "{count} of {all} conversations {} no usable value of `{attribute}` ({option}); {without}",
                have(*count)
            ));
        }
        if let Some(first) = first {
            warnings.push(format!(
                "{several} of {all} conversations {} several values of `{attribute}` ({option}); the one of the earliest span \
                 counts (first in trace {first})",
                have(*several)
            ));
        }
        warnings
    }
}

impl Doubts {
    /// Counts a conversation with its report.
    pub(super) fn add(
        &mut self,
        attributes: &Attributes,
        report: &ConversationReport,
        conversation: &Conversation,
    ) {
        self.conversations += 1;
        if let (Some(key), None) = (&attributes.case_key, &report.eval_case_id) {
            self.case.add(conversation, key);
        }
        if let Some(cluster) = &attributes.cluster {
            self.cluster.add(conversation, cluster);
        }
    }

    /// Returns warnings, each a sentence about the run.
    pub(super) fn warnings(&self, attributes: &Attributes) -> Vec<String> {
        let Attributes { case_key, cluster, .. } = attributes;
        let of = |doubt: &Doubt, attribute: &Option<String>, option: &str, without: &str| {
            let attribute = attribute.as_deref().unwrap_or_default();
            doubt.warnings(attribute, option, self.conversations, without)
        };
        let mut warnings =
            of(&self.case, case_key, "--case-key", "each of them is a case of its own");
        warnings.extend(of(
            &self.cluster,
            cluster,
            "--cluster",
            "their cases count as one cluster, since nothing is known about them",
        ));
        warnings
    }
}
