//! Definitions of graders.

use evaluator_json::{Object, Value};
use evaluator_metrics::Measure;
use evaluator_models::{Params, Role};

use super::{Formula, ItemTemplate};

/// A grader of OpenAI's API.
#[derive(Clone, Debug)]
pub enum Grader {
    /// Compares two texts; the score is 1 or 0.
    StringCheck {
        /// Text that is checked.
        input: ItemTemplate,
        /// Text that it is compared with.
        reference: ItemTemplate,
        /// Comparison.
        operation: Operation,
    },
    /// Measures the similarity of two texts.
    TextSimilarity {
        /// Text that is graded.
        input: ItemTemplate,
        /// Text that it is compared with.
        reference: ItemTemplate,
        /// Measure.
        measure: Measure,
    },
    /// Compares two texts by their embeddings, the vectors that a model gives them.
    Cosine {
        /// Text that is graded.
        input: ItemTemplate,
        /// Text that it is compared with.
        reference: ItemTemplate,
        /// Name of the model.
        model: String,
    },
    /// Asks a model for a label.
    LabelModel(LabelModel),
    /// Asks a model for a number.
    ScoreModel(ScoreModel),
    /// Calls a Python function for a number.
    Python {
        /// Source of a module with the function `grade(sample, item)`.
        source: String,
    },
    /// Calculates a score from those of other graders.
    Multi {
        /// Graders by their names in the formula, none of them a `Multi`.
        graders: Vec<(String, Grader)>,
        /// Formula.
        formula: Formula,
    },
}

/// A model that labels every answer.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelModel {
    /// Name of the model.
    pub model: String,
    /// Prompt; at least one message refers to the item.
    pub input: Vec<MessageTemplate>,
    /// Possible labels, unique; at least one.
    pub labels: Vec<String>,
    /// Labels with which a turn passes; at least one.
    pub passing_labels: Vec<String>,
}

/// A model that gives every answer a number.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreModel {
    /// Name of the model.
    pub model: String,
    /// Prompt; at least one message refers to the item.
    pub input: Vec<MessageTemplate>,
    /// Least and greatest number; 0 and 1 by default.
    pub range: (f64, f64),
    /// Least number of the range with which a turn passes; the threshold of the entry decides if `None`.
    pub pass_threshold: Option<f64>,
    /// Parameters of the requests.
    pub params: Params,
}

/// A message to a model, with references to a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageTemplate {
    /// Author.
    pub role: Role,
    /// Content; one part for most messages.
    pub parts: Vec<Part>,
}

/// Part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text.
    Text(ItemTemplate),
    /// Image.
    Image {
        /// URL, or data in a URL.
        url: ItemTemplate,
        /// Resolution in which the model looks at it.
        detail: Option<&'static str>,
    },
    /// Audio.
    Audio {
        /// Base64 text.
        data: String,
        /// `mp3` or `wav`.
        format: &'static str,
    },
}

impl MessageTemplate {
    /// Returns the templates of the message.
    pub fn templates(&self) -> impl Iterator<Item = &ItemTemplate> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(template) | Part::Image { url: template, .. } => Some(template),
            Part::Audio { .. } => None,
        })
    }
}

/// Comparison of a string check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The texts are equal.
    Eq,
    /// The texts differ.
    Ne,
    /// The input contains the reference.
    Like,
    /// The input contains the reference; upper and lower case are the same.
    Ilike,
}

impl Operation {
    /// Operations by their names in the API.
    pub const ALL: [(&'static str, Self); 4] =
        [("eq", Self::Eq), ("ne", Self::Ne), ("like", Self::Like), ("ilike", Self::Ilike)];

    /// Compares texts by their code points, without trimming.
    pub(super) fn holds(self, input: &str, reference: &str) -> bool {
        match self {
            Self::Eq => input == reference,
            Self::Ne => input != reference,
            Self::Like => input.contains(reference),
            Self::Ilike => input.to_lowercase().contains(&reference.to_lowercase()),
        }
    }
}

impl Grader {
    /// Returns the name of its type in the API.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::StringCheck { .. } => "string_check",
            Self::TextSimilarity { .. } | Self::Cosine { .. } => "text_similarity",
            Self::LabelModel(_) => "label_model",
            Self::ScoreModel(_) => "score_model",
            Self::Python { .. } => "python",
            Self::Multi { .. } => "multi",
        }
    }

    /// Returns true if the grader refers to the expected answer, so that it needs golden turns.
    pub fn compares(&self) -> bool {
        match self {
            Self::Python { source } => source.contains("expected_response"),
            Self::Multi { graders, .. } => graders.iter().any(|(_, grader)| grader.compares()),
            _ => self.templates().iter().any(|template| template.refers_to_expected()),
        }
    }

    /// Returns the graders that give scores: the grader itself, or those of a `Multi`.
    pub fn parts(&self) -> Vec<(Option<&str>, &Self)> {
        match self {
            Self::Multi { graders, .. } => {
                graders.iter().map(|(name, grader)| (Some(name.as_str()), grader)).collect()
            }
            _ => vec![(None, self)],
        }
    }

    /// Returns the names of the models that are asked, and whether each is asked for embeddings.
    pub fn models(&self) -> Vec<(&str, bool)> {
        let parts = self.parts().into_iter();
        let models = parts.filter_map(|(_, grader)| match grader {
            Self::Cosine { model, .. } => Some((model.as_str(), true)),
            Self::LabelModel(LabelModel { model, .. })
            | Self::ScoreModel(ScoreModel { model, .. }) => Some((model.as_str(), false)),
            _ => None,
        });
        models.collect()
    }

    /// Returns true if the grader has Python source.
    pub fn needs_python(&self) -> bool {
        self.parts().iter().any(|(_, grader)| matches!(grader, Self::Python { .. }))
    }

    /// Returns true if every score is computed by this program.
    pub fn is_local(&self) -> bool {
        self.models().is_empty() && !self.needs_python()
    }

    /// Returns the templates, not those inside of a `Multi`.
    pub(super) fn templates(&self) -> Vec<&ItemTemplate> {
        match self {
            Self::StringCheck { input, reference, .. }
            | Self::TextSimilarity { input, reference, .. }
            | Self::Cosine { input, reference, .. } => vec![input, reference],
            Self::LabelModel(LabelModel { input, .. })
            | Self::ScoreModel(ScoreModel { input, .. }) => {
                input.iter().flat_map(MessageTemplate::templates).collect()
            }
            Self::Python { .. } | Self::Multi { .. } => Vec::new(),
        }
    }

    /// Returns details that are the same for every conversation.
    pub fn details(&self) -> Object {
        let mut details = Object::from_iter([("grader".to_owned(), Value::from(self.kind()))]);
        let mut add = |key: &str, value: Value| details.insert(key.to_owned(), value);
        match self {
            Self::StringCheck { .. } | Self::Python { .. } => {}
            Self::TextSimilarity { measure, .. } => {
                add("evaluation_metric", Value::from(measure.name()));
            }
            Self::Cosine { model, .. } => {
                add("evaluation_metric", Value::from("cosine"));
                add("model", Value::from(model.as_str()));
            }
            Self::LabelModel(LabelModel { model, passing_labels, .. }) => {
                let labels = passing_labels.iter().map(|label| Value::from(label.as_str()));
                add("model", Value::from(model.as_str()));
                add("passing_labels", Value::Array(labels.collect()));
            }
            Self::ScoreModel(ScoreModel { model, range: (least, greatest), .. }) => {
                add("model", Value::from(model.as_str()));
                add("range", Value::Array(vec![Value::Float(*least), Value::Float(*greatest)]));
            }
            Self::Multi { formula, .. } => {
                add("calculate_output", Value::from(formula.text()));
            }
        }
        details
    }
}
