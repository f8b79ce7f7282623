//! What a gate claims.

use evaluator_statistics::{GateKind, Refusal, min_cases};
use serde::{Deserialize, Serialize};

use super::cases::CaseCount;

/// A claim about all cases of one evaluator: a measure is at least a limit. As text, it is what
/// [`parse`](Self::parse) reads, e.g. `booking: mean >= 0.8`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, derive_more::Display)]
#[display("{evaluator}: {measure} >= {limit}")]
pub struct Gate {
    /// Name of the evaluator.
    pub evaluator: String,
    /// What is measured.
    pub measure: Measure,
    /// The limit, between 0 and 1, both excluded.
    pub limit: f64,
    /// Confidence with which the claim has to hold, two-sided, between 0 and 1.
    pub confidence: f64,
    /// Whether the evaluator has to have a certificate that holds. A pass rate is corrected by it then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub certified: bool,
}

/// What a gate measures, over the values of cases. As text: `mean`, `pass_rate` or e.g. `pass^3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, derive_more::Display)]
#[serde(try_from = "String", into = "String")]
pub enum Measure {
    /// Mean score. An evaluation that fails whatever its score is counts as 0.
    #[display("mean")]
    Mean,
    /// Share of evaluations that pass.
    #[display("pass_rate")]
    PassRate,
    /// Chance that so many conversations of a case all pass.
    #[display("pass^{_0}")]
    PassHat(u32),
}

impl Gate {
    /// Confidence of gates that name none.
    pub const CONFIDENCE: f64 = 0.95;

    /// Returns the least number of independent units with which the gate can pass at all, because every case scores 1. `None`
    /// if more than a million are needed. `are_proportions`: each unit is one pass or failure.
    ///
    /// # Errors
    ///
    /// The limit or the confidence is not between 0 and 1.
    pub fn min_units(&self, are_proportions: bool) -> Result<Option<u64>, Refusal> {
        let kind = match self.measure {
            Measure::PassRate if are_proportions => GateKind::Rate,
            _ => GateKind::Mean,
        };
        min_cases(kind, self.limit, self.confidence)
    }

    /// Returns true if the gate decides by a pass rate that is corrected for the errors of the evaluator.
    pub fn is_corrected(&self) -> bool {
        self.certified && self.measure == Measure::PassRate
    }

    /// Returns the number of recordings of a case that the gate needs.
    pub fn recordings(&self) -> u32 {
        match self.measure {
            Measure::PassHat(k) => k,
            Measure::Mean | Measure::PassRate => 1,
        }
    }

    /// Returns the sentence about cases that have fewer [recordings](Self::recordings).
    pub fn needs_recordings(&self) -> String {
        format!(
            "the gate `{self}` cannot be decided: {}; without golden cases, --case-key names the attribute that identifies a case",
            needs_recordings(self.recordings())
        )
    }

    /// Returns a sentence if the gate cannot pass with these cases, or fewer. How many a corrected pass rate needs depends on the
    /// labels, too; there is none for it.
    pub fn cannot_pass_with(&self, count: CaseCount) -> Option<String> {
        if self.is_corrected() {
            return None;
        }
        let CaseCount { cases, clusters, are_single } = count;
        let units = clusters.unwrap_or(cases);
        let noun = if clusters.is_some() { " clusters" } else { "" };
        let needed = match self.min_units(are_single && clusters.is_none()).ok()? {
            Some(needed) if needed <= units => return None,
            Some(needed) => format!("{}{noun} are needed", grouped(needed)),
            None => format!("more than a million{noun} are needed"),
        };
        let of_clusters = clusters.map(|it| format!(" in {}", counted(it, "cluster")));
        let (cases, of_clusters) = (counted(cases, "case"), of_clusters.unwrap_or_default());
        Some(format!(
            "`{self}` cannot pass with {cases}{of_clusters}, whatever they score: {needed}"
        ))
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

/// Returns a count with its noun.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
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
        Gate::new("booking", measure, limit, Gate::CONFIDENCE).unwrap()
    }

    fn single(cases: u64) -> CaseCount {
        CaseCount { cases, clusters: None, are_single: true }
    }

    #[test]
    fn a_gate_that_cannot_pass_says_how_many_cases_it_needs() {
        let rate = gate(Measure::PassRate, 0.95);
        assert_eq!(
            rate.cannot_pass_with(single(40)).unwrap(),
            "`booking: pass_rate >= 0.95` cannot pass with 40 cases, whatever they score: 72 are needed"
        );
        assert_eq!(rate.cannot_pass_with(single(72)), None);
        // Shares of several conversations have no exact interval.
        let several = rate.cannot_pass_with(CaseCount { are_single: false, ..single(72) }).unwrap();
        assert!(
            several.ends_with("with 72 cases, whatever they score: 92 are needed"),
            "{several}"
        );
        let clusters = CaseCount { clusters: Some(12), ..single(240) };
        assert_eq!(
            rate.cannot_pass_with(clusters).unwrap(),
            "`booking: pass_rate >= 0.95` cannot pass with 240 cases in 12 clusters, whatever they score: 92 clusters \
             are needed"
        );
        assert_eq!(rate.cannot_pass_with(CaseCount { clusters: Some(92), ..clusters }), None);
        let mean = gate(Measure::Mean, 0.999).cannot_pass_with(single(1)).unwrap();
        assert!(mean.ends_with("with 1 case, whatever they score: 4,636 are needed"), "{mean}");
        let most = gate(Measure::Mean, 0.999_999_9).cannot_pass_with(single(2_000_000)).unwrap();
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
