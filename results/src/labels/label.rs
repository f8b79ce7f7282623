//! A label, and where it is written.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

/// Labels of one or several files.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The labels, in the order of the files.
    pub labels: Vec<Label>,
    /// Numbers of labels.
    pub counts: LabelCounts,
}

/// Numbers of labels. Those about the evaluators of a run are counted when they are compared.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LabelCounts {
    /// The files, as they were given.
    pub files: Vec<PathBuf>,
    /// Number of labels in them.
    pub labels: u64,
    /// Number of labels of other parts than the one that is used. They are not among `labels`.
    pub other_splits: u64,
    /// Number of rows and tasks without a label.
    pub not_labelled: u64,
    /// Number of annotations that were cancelled, in exports of Label Studio.
    pub cancelled: u64,
    /// Number of scores that no person gave, in exports of Langfuse.
    pub not_by_people: u64,
    /// Number of scores of sessions, of parts of a trace, and of texts, in exports of Langfuse.
    pub not_about_conversations: u64,
    /// Number of labels about evaluators that are not compared.
    pub about_others: u64,
    /// Names of these evaluators.
    pub others: Vec<String>,
    /// Number of labels that match no conversation of the run.
    pub unmatched: u64,
    /// The first ten of them.
    pub unmatched_labels: Vec<UnmatchedLabel>,
}

/// A label that matches no conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnmatchedLabel {
    /// Where it is written, e.g. `labels.csv:7`.
    pub place: String,
    /// The case or trace id that it names.
    pub name: String,
}

/// What a person said about a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Id of the case, if the file has it.
    pub case: Option<String>,
    /// Trace id of the conversation, if the file has it.
    pub trace_id: Option<String>,
    /// The label.
    pub value: LabelValue,
    /// The person; `None` if the file does not say.
    pub rater: Option<String>,
    /// Evaluator that the label is about; `None` if it is about any.
    pub evaluator: Option<String>,
    /// Part of the labels to which it belongs, such as `dev` or `test`.
    pub split: Option<String>,
    /// What the person said about it.
    pub comment: Option<String>,
    /// Where it is written.
    pub place: LabelPlace,
}

/// The value of a label.
#[derive(Clone, Copy, Debug, PartialEq, derive_more::Display)]
pub enum LabelValue {
    /// Good or bad, by a word.
    #[display("{}", if *_0 { "pass" } else { "fail" })]
    Class(bool),
    /// A number. 1 and 0 are classes if there are no others.
    Number(f64),
}

/// Place of a label in a file.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{}{at}", file.display())]
pub struct LabelPlace {
    /// The file.
    pub file: Arc<Path>,
    /// Where in it.
    pub(super) at: At,
}

/// Position in a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub(super) enum At {
    #[display(":{_0}")]
    Line(usize),
    #[display(": item {_0}")]
    Item(usize),
    /// A task of Label Studio, with its id.
    #[display(": task {_0} (id {_1})")]
    Task(usize, String),
}

/// Labels that cannot be used. The message begins with the file, and the line or item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LabelError(pub(crate) String);

impl Labels {
    /// Keeps the labels of one part, such as `dev` or `test`.
    ///
    /// # Errors
    ///
    /// No label is of this part.
    pub fn keep_split(&mut self, split: &str) -> Result<(), LabelError> {
        let all = self.labels.len();
        let names: BTreeSet<&str> =
            self.labels.iter().filter_map(|it| it.split.as_deref()).collect();
        if !names.contains(split) {
            let names = match names.is_empty() {
                true => "none has a `split`".to_owned(),
                false => format!("there are {}", names.into_iter().collect::<Vec<_>>().join(", ")),
            };
            return Err(LabelError(format!("no label has the split `{split}`; {names}")));
        }
        self.labels.retain(|label| label.split.as_deref() == Some(split));
        self.counts.other_splits = (all - self.labels.len()) as u64;
        Ok(())
    }
}

impl Label {
    /// Name by which the file identifies the conversation.
    pub fn name(&self) -> &str {
        self.trace_id.as_deref().or(self.case.as_deref()).unwrap_or_default()
    }
}

impl LabelPlace {
    /// Creates an error at this place.
    pub(crate) fn error(&self, message: impl fmt::Display) -> LabelError {
        LabelError(format!("{self}: {message}"))
    }
}
