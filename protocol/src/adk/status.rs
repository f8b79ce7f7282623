//! What a metric says of a score.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Score;

/// What a metric says of a score. In ADK this word decides, and not the score: it is never compared with a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EvalStatus {
    /// 1: the agent did well enough.
    Passed,
    /// 2: it did not.
    Failed,
    /// 3: nothing was judged. It neither passes nor fails a case.
    #[default]
    NotEvaluated,
    /// 4: a score that nothing depends on.
    Informational,
}

impl EvalStatus {
    const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::NotEvaluated, Self::Informational];

    /// Whether a score reaches a threshold; without one it is for information.
    #[must_use]
    pub fn of(score: Score, threshold: Option<f64>) -> Self {
        match threshold {
            Some(threshold) if score.get() >= threshold => Self::Passed,
            Some(_) => Self::Failed,
            None => Self::Informational,
        }
    }

    /// The number that stands for it in documents.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Passed => 1,
            Self::Failed => 2,
            Self::NotEvaluated => 3,
            Self::Informational => 4,
        }
    }

    /// Whether it is a verdict, for which ADK insists on a row for each turn.
    #[must_use]
    pub fn is_verdict(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

impl From<crate::EvalStatus> for EvalStatus {
    fn from(status: crate::EvalStatus) -> Self {
        match status {
            crate::EvalStatus::Passed => Self::Passed,
            crate::EvalStatus::Failed => Self::Failed,
            crate::EvalStatus::NotEvaluated => Self::NotEvaluated,
        }
    }
}

impl fmt::Display for EvalStatus {
    /// By the name it has in Python.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::NotEvaluated => "NOT_EVALUATED",
            Self::Informational => "INFORMATIONAL",
        })
    }
}

impl Serialize for EvalStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl<'de> Deserialize<'de> for EvalStatus {
    /// Reads what ADK reads: the number, also as `1.0` and `true`; no names and no text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = EvalStatus;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("1 (PASSED), 2 (FAILED), 3 (NOT_EVALUATED) or 4 (INFORMATIONAL)")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<EvalStatus, E> {
                let mut all = EvalStatus::ALL.into_iter();
                all.find(|status| f64::from(status.number()) == value)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<EvalStatus, E> {
                let mut all = EvalStatus::ALL.into_iter();
                all.find(|status| u64::from(status.number()) == value)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<EvalStatus, E> {
                match value {
                    true => Ok(EvalStatus::Passed),
                    false => Err(E::invalid_value(de::Unexpected::Bool(value), &self)),
                }
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}
