//! Definitions of graders.

use super::{Formula, Template};
use crate::Measure;

/// A grader that needs no model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Grader {
    /// Compares two texts; the score is 1 or 0.
    StringCheck {
        /// Text that is checked.
        input: Template,
        /// Text that it is compared with.
        reference: Template,
        /// How they are compared.
        operation: Operation,
    },
    /// Measures the similarity of two texts.
    TextSimilarity {
        /// Text that is graded.
        input: Template,
        /// Text that it is compared with.
        reference: Template,
        /// Measure.
        measure: Measure,
    },
    /// Calculates a score from those of other graders.
    Multi {
        /// Graders by their names in the formula, none of them a `Multi`.
        graders: Vec<(String, Grader)>,
        /// Formula.
        formula: Formula,
    },
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
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::StringCheck { .. } => "string_check",
            Self::TextSimilarity { .. } => "text_similarity",
            Self::Multi { .. } => "multi",
        }
    }

    /// Returns true if a template refers to the expected answer.
    #[must_use]
    pub fn compares(&self) -> bool {
        match self {
            Self::StringCheck { input, reference, .. }
            | Self::TextSimilarity { input, reference, .. } => {
                input.refers_to_expected() || reference.refers_to_expected()
            }
            Self::Multi { graders, .. } => graders.iter().any(|(_, grader)| grader.compares()),
        }
    }
}
