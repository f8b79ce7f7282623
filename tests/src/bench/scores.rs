//! Results in reports, to compare two programs.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

/// Results of each evaluator for each trace: score, status, scores of the turns.
pub type Scores = BTreeMap<(String, String), String>;

/// Reads a report in JSON, whatever stands before it.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn read(report: &Path) -> Scores {
    let text = fs::read_to_string(report).unwrap();
    let report: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut scores = Scores::new();
    for trace in report["traces"].as_array().unwrap() {
        for metric in trace["metrics"].as_array().unwrap() {
            let key = (text(&trace["trace_id"]), text(&metric["metric_name"]));
            let [score, status, turns] =
                ["score", "eval_status", "per_invocation_scores"].map(|name| &metric[name]);
            let turns: Vec<_> = turns.as_array().into_iter().flatten().map(rounded).collect();
            scores.insert(key, format!("{:?} {status} {turns:?}", rounded(score)));
        }
    }
    scores
}

/// The same number for sums that were taken in another order.
fn rounded(score: &Value) -> Option<String> {
    score.as_f64().map(|score| format!("{score:.9}"))
}

/// Asserts that two programs came to the same results.
///
/// # Panics
///
/// If they did not, or if there are none.
pub fn assert_same(ours: &Path, theirs: &Path) {
    let (ours, theirs) = (read(ours), read(theirs));
    assert!(!ours.is_empty(), "nothing was evaluated");
    for (of, score) in &ours {
        assert_eq!(Some(score), theirs.get(of), "{of:?}");
    }
    assert_eq!(ours.len(), theirs.len());
}
