//! What a gate claims.

use std::fmt;

use evaluator_statistics::{GateKind, Refusal, min_cases};
use serde::{Deserialize, Serialize};

/// A claim about all cases of one evaluator: a measure is at least a limit. As text, it is what
/// [`parse`](Self::parse) reads, e.g. `booking: mean >= 0.8`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Name of the evaluator.
    pub evaluator: String,
    /// What is measured.
    pub measure: Measure,
    /// The limit, between 0 and 1, both excluded.
    pub limit: f64,
    /// Confidence with which the claim has to hold, two-sided, between 0 and 1.
    pub confidence: f64,
}

/// What a gate measures, over the values of cases. As text: `mean`, `pass_rate` or e.g. `pass^3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Measure {
    /// Mean score. An evaluation that fails whatever its score is counts as 0.
    Mean,
    /// Share of evaluations that pass.
    PassRate,
    /// Chance that so many conversations of a case all pass.
    PassHat(u32),
}

impl Gate {
    /// Confidence of gates that name none.
    pub const CONFIDENCE: f64 = 0.95;

    /// Returns the least number of cases with which the gate can pass at all, because every case scores 1. `None` if more
    /// than a million are needed.
    ///
    /// # Errors
    ///
    /// The limit or the confidence is not between 0 and 1.
    pub fn min_cases(&self) -> Result<Option<u64>, Refusal> {
        let kind = match self.measure {
            Measure::PassRate => GateKind::Rate,
            Measure::Mean | Measure::PassHat(_) => GateKind::Mean,
        };
        min_cases(kind, self.limit, self.confidence)
    }

    /// Returns the number of recordings of a case that the gate needs.
    #[must_use]
    pub fn recordings(&self) -> u32 {
        match self.measure {
            Measure::PassHat(k) => k,
            Measure::Mean | Measure::PassRate => 1,
        }
    }

    /// Returns the sentence about cases that have fewer [recordings](Self::recordings).
    #[must_use]
    pub fn needs_recordings(&self) -> String {
        needs_recordings(self.recordings())
    }

    /// Returns a sentence if the gate cannot pass with at most this number of cases.
    #[must_use]
    pub fn cannot_pass_with(&self, cases: u64) -> Option<String> {
        let needed = match self.min_cases().ok()? {
            Some(needed) if needed <= cases => return None,
            Some(needed) => format!("{} are needed", grouped(needed)),
            None => "more than a million are needed".to_owned(),
        };
        let have =
            if cases == 1 { "1 case".to_owned() } else { format!("{} cases", grouped(cases)) };
        Some(format!("`{self}` cannot pass with {have}, whatever they score: {needed}"))
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} >= {}", self.evaluator, self.measure, self.limit)
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::PassRate => f.write_str("pass_rate"),
            Self::PassHat(k) => write!(f, "pass^{k}"),
        }
    }
}

impl From<Measure> for String {
    fn from(measure: Measure) -> Self {
        measure.to_string()
    }
}

/// Returns the sentence about cases with fewer than `k` recordings.
pub(crate) fn needs_recordings(k: u32) -> String {
    const WORDS: [&str; 9] =
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let word = WORDS.get((k as usize).wrapping_sub(2)).map(|word| (*word).to_owned());
    let count = word.unwrap_or_else(|| k.to_string());
    format!(
        "pass^{k} needs {count} recordings of a case; --repeat repeats the evaluation, not the agent"
    )
}

/// Returns a number with commas between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(measure: Measure, limit: f64) -> Gate {
        Gate { evaluator: "booking".to_owned(), measure, limit, confidence: Gate::CONFIDENCE }
    }

    #[test]
    fn a_gate_that_cannot_pass_says_how_many_cases_it_needs() {
        assert_eq!(
            gate(Measure::PassRate, 0.95).cannot_pass_with(40).unwrap(),
            "`booking: pass_rate >= 0.95` cannot pass with 40 cases, whatever they score: 72 are needed"
        );
        assert_eq!(gate(Measure::PassRate, 0.95).cannot_pass_with(72), None);
        let mean = gate(Measure::Mean, 0.999).cannot_pass_with(1).unwrap();
        assert!(mean.ends_with("with 1 case, whatever they score: 4,636 are needed"), "{mean}");
        let most = gate(Measure::Mean, 0.999_999_9).cannot_pass_with(2_000_000).unwrap();
        assert!(
            most.ends_with("2,000,000 cases, whatever they score: more than a million are needed")
        );
    }

    #[test]
    fn numbers_have_commas_between_thousands() {
        let numbers = [0, 999, 1000, 12_345, 1_000_000].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "12,345", "1,000,000"]);
    }
}
