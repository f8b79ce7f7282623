//! Input that has no result, and the checks that functions share.

use std::{error::Error, fmt};

use serde::Serialize;

/// Reason why a function refuses its input. Serialized, it is a stable name, e.g. `not_finite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// There are no values.
    Empty,
    /// A value is NaN or infinite.
    NotFinite,
    /// A confidence or power is not between 0 and 1, both excluded.
    Confidence,
    /// A value is outside of its range.
    Range,
    /// Arguments that belong together differ in length.
    Length,
    /// A value has no cluster, and others have.
    ClusterMissing,
    /// There are too many values for an exact result.
    TooMany,
    /// There are fewer than two cases.
    TooFewCases,
    /// No case has more than one value.
    NoRepeats,
    /// There are fewer samples than are drawn from a case, or than a coefficient needs.
    TooFewSamples,
    /// A class has fewer labels than errors are corrected from.
    TooFewLabels,
    /// Labels do not show that a judge passes good cases more often than bad ones.
    AtChance,
    /// A judge passes more or fewer cases than its rates on labelled cases permit.
    UnlikeLabels,
    /// A rating is not one of the categories.
    Category,
    /// No unit has two ratings.
    NothingPairable,
    /// All items are of one class.
    OneClass,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "there are no values",
            Self::NotFinite => "a value is not a finite number",
            Self::Confidence => "a confidence has to be between 0 and 1, both excluded",
            Self::Range => "a value is outside of its range",
            Self::Length => "arguments that belong together differ in length",
            Self::ClusterMissing => "a value has no cluster, and others have",
            Self::TooMany => "there are too many values for an exact result",
            Self::TooFewCases => "there are fewer than two cases",
            Self::NoRepeats => "no case has more than one value",
            Self::TooFewLabels => "a class has fewer than 20 labels",
            Self::AtChance => {
                "the labels do not show that the judge passes good cases more often than bad ones"
            }
            Self::UnlikeLabels => {
                "the judge passes more or fewer cases than its rates on the labelled cases permit"
            }
            Self::TooFewSamples => "there are fewer samples than are needed",
            Self::Category => "a rating is not one of the categories",
            Self::NothingPairable => "no unit has two ratings",
            Self::OneClass => "all items are of one class",
        })
    }
}

impl Error for Refusal {}

/// Refuses the input with this reason unless the condition holds.
pub(crate) fn require(condition: bool, refusal: Refusal) -> Result<(), Refusal> {
    if condition { Ok(()) } else { Err(refusal) }
}

/// Checks that there are values, and that all are finite.
pub(crate) fn require_values(values: &[f64]) -> Result<(), Refusal> {
    require(!values.is_empty(), Refusal::Empty)?;
    require_finite(values)
}

/// Checks that all values are finite.
pub(crate) fn require_finite(values: &[f64]) -> Result<(), Refusal> {
    require(values.iter().all(|value| value.is_finite()), Refusal::NotFinite)
}

/// Checks a confidence.
pub(crate) fn require_confidence(confidence: f64) -> Result<(), Refusal> {
    require(confidence > 0.0 && confidence < 1.0, Refusal::Confidence)
}
