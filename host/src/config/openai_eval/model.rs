//! What an entry of that type says.

use std::time::Duration;

/// Settings of a grader that the service runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenAiEvalConfig {
    /// Score from which on a turn passes; 0.5 by default. A [`Grader::LabelModel`] passes by its labels instead.
    pub threshold: f64,
    /// Time the service may take for all turns of a conversation; 120 s by default.
    pub timeout: Duration,
    /// What grades.
    pub grader: Grader,
}

/// What grades a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grader {
    /// Compares the answer with the expected one, so it needs an eval set.
    TextSimilarity(TextSimilarity),
    /// A model that puts labels on answers.
    LabelModel(LabelModel),
}

/// How alike two texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the literature")]
pub enum TextSimilarity {
    FuzzyMatch,
    Bleu,
    Gleu,
    Meteor,
    Cosine,
    Rouge1,
    Rouge2,
    Rouge3,
    Rouge4,
    Rouge5,
    RougeL,
}

impl TextSimilarity {
    /// All of them, with the names the service has for them.
    pub const ALL: [(&str, Self); 11] = [
        ("fuzzy_match", Self::FuzzyMatch),
        ("bleu", Self::Bleu),
        ("gleu", Self::Gleu),
        ("meteor", Self::Meteor),
        ("cosine", Self::Cosine),
        ("rouge_1", Self::Rouge1),
        ("rouge_2", Self::Rouge2),
        ("rouge_3", Self::Rouge3),
        ("rouge_4", Self::Rouge4),
        ("rouge_5", Self::Rouge5),
        ("rouge_l", Self::RougeL),
    ];
}

/// A model that puts one of a few labels on every answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelModel {
    /// The model.
    pub model: String,
    /// What it is told; at least one message, and at least one that speaks of the item.
    pub input: Vec<Message>,
    /// The labels it may choose from; at least one, all different.
    pub labels: Vec<String>,
    /// Those of `labels` with which a turn passes; at least one.
    pub passing_labels: Vec<String>,
}

/// A message to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// The text; `{{ item.actual_response }}` and its like stand for what is graded.
    pub content: String,
}

/// Who says something to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the interface")]
pub enum Role {
    User,
    Assistant,
    System,
    Developer,
}

impl Role {
    /// All of them, with the names the service has for them.
    pub const ALL: [(&str, Self); 4] = [
        ("user", Self::User),
        ("assistant", Self::Assistant),
        ("system", Self::System),
        ("developer", Self::Developer),
    ];
}
