//! Attributes of conversations that decide cases, clusters and slices.

use std::sync::Arc;

use crate::{
    conversation::Conversation,
    models::{Redactor, Secret},
    report::{ConversationReport, RECORDED_ATTRIBUTES},
};

/// The attributes by which a run tells conversations apart.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    case_key: Option<String>,
    cluster: Option<String>,
    by: Vec<String>,
    /// Removes the secrets of this machine from values.
    redactor: Redactor,
}

impl Attributes {
    /// Returns those with these names. Secrets are removed from their values.
    pub fn new(
        case_key: Option<String>,
        cluster: Option<String>,
        by: Vec<String>,
        secrets: Vec<Secret>,
    ) -> Self {
        Self { case_key, cluster, by, redactor: Redactor::new(secrets) }
    }

    /// Removes the secrets of this machine from the values of a conversation, which are in reports and name its case.
    pub(crate) fn redact(&self, conversation: &mut Conversation) {
        for value in conversation.labels.values_mut().flatten() {
            *value = self.redacted(value);
        }
    }

    /// Returns a text without the secrets of this machine.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.redactor.redact(text)
    }

    /// Returns true if cases are in clusters.
    pub fn has_clusters(&self) -> bool {
        self.cluster.is_some()
    }

    /// Returns the one that identifies cases.
    pub fn case_key(&self) -> Option<&str> {
        self.case_key.as_deref()
    }

    /// Returns all whose values are read.
    pub fn all(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.asked().map(|(_, attribute)| attribute).chain(RECORDED_ATTRIBUTES).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns those that the run was asked for, each with its option.
    pub fn asked(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let [case_key, cluster] = [("--case-key", &self.case_key), ("--cluster", &self.cluster)]
            .map(|(option, attribute)| Some((option, attribute.as_deref()?)));
        let by = self.by.iter().map(|it| ("--by", it.as_str()));
        case_key.into_iter().chain(cluster).chain(by)
    }

    /// Adds the case, the cluster and the labels of a conversation to its report, which has its golden case already.
    pub fn add_to(&self, report: &mut ConversationReport, conversation: &Conversation) {
        let first = |attribute: &Option<String>| {
            let values = conversation.labels.get(attribute.as_ref()?)?;
            values.first().map(|value| Arc::from(value.as_str()))
        };
        report.case = if report.eval_case_id.is_none() { first(&self.case_key) } else { None };
        report.cluster = first(&self.cluster);
        let names = [&self.case_key, &self.cluster].into_iter().flatten();
        let has_several =
            |name: &&String| conversation.labels.get(*name).is_some_and(|it| it.len() > 1);
        report.several_values = names.filter(has_several).cloned().collect();
        let is_label = |name: &&String| {
            self.by.contains(*name) || RECORDED_ATTRIBUTES.contains(&name.as_str())
        };
        let labels = conversation.labels.iter().filter(|(name, _)| is_label(name));
        report.labels = labels.map(|(name, values)| (name.clone(), values.clone())).collect();
    }
}
