//! The comparison with an earlier run: what changed, and the conversations of that run next to those of this one.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap, HashSet},
    io,
    sync::Arc,
};

use evaluator_results::{CaseChangeKind, Comparison, ConversationReports, Report};
use serde_json::{Value, json};

use super::{
    cases,
    rows::{Column, Rows},
};

/// Kinds of changes, the worst first.
const ALL: &[CaseChangeKind] = CaseChangeKind::ALL;

/// The run that is compared with.
#[derive(Debug)]
pub(crate) struct Base<'r> {
    report: &'r Report,
    reports: ConversationReports<'r>,
    /// Number of the first conversation of each case.
    numbers: HashMap<Arc<str>, usize>,
}

impl<'r> Base<'r> {
    /// Reads the cases of a run.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub(crate) fn new(report: &'r Report) -> io::Result<Self> {
        let mut numbers = HashMap::new();
        for (number, conversation) in report.conversations.iter().outlines().enumerate() {
            numbers.entry(Arc::clone(conversation?.case())).or_insert(number);
        }
        Ok(Self { report, reports: report.conversations.iter(), numbers })
    }

    /// Returns the bytes of all conversations.
    pub(crate) fn size(&self) -> usize {
        (0..self.report.conversations.len()).map(|it| self.report.conversations.size(it)).sum()
    }

    /// Returns the first conversation of a case as JSON; `null` if the run does not have the case.
    ///
    /// # Errors
    ///
    /// The conversation cannot be read back.
    pub(crate) fn case(&mut self, case: &str) -> io::Result<String> {
        let none = || Ok("null".to_owned());
        let Some(number) = self.numbers.get(case) else { return none() };
        self.reports.seek(*number);
        let Some(conversation) = self.reports.next() else { return none() };
        let transcript = self.report.conversations.transcript(*number).transpose()?;
        cases::case(self.report, *number, &conversation?, transcript.as_deref(), None)
    }
}

/// Returns a comparison as JSON. Changes have the number of the worst conversation of their case as `row`. `rows` has the worst
/// change of each conversation's case, and `regressed` the number of cases and the number of the first conversation.
///
/// # Errors
///
/// A number cannot be represented.
pub(crate) fn to_json(comparison: &Comparison, rows: &Rows) -> io::Result<Value> {
    let mut value = Value::from(&comparison.to_json()?);
    let mut worst: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut regressed, mut first) = (HashSet::new(), None);
    let evaluators = value.get_mut("evaluators").and_then(Value::as_array_mut);
    for evaluator in evaluators.into_iter().flatten() {
        let column = rows.evaluators.iter().find(|column| evaluator["name"] == *column.name);
        let badness = column.map(badness).unwrap_or_default();
        let changes = evaluator.get_mut("changes").and_then(Value::as_array_mut);
        for change in changes.into_iter().flatten() {
            let own = change["case"].as_str().and_then(|case| rows.cases.get(case));
            let own = own.map_or(&[][..], Vec::as_slice);
            let by_badness = |one: &&usize, other: &&usize| {
                badness.get(**one).partial_cmp(&badness.get(**other)).unwrap_or(Ordering::Equal)
            };
            // Of equal ones, the first.
            change["row"] = own.iter().rev().max_by(by_badness).copied().into();
            if change["change"] == CaseChangeKind::Regressed.to_string() {
                regressed.extend(change["case"].as_str().map(str::to_owned));
                first.get_or_insert_with(|| change["row"].clone());
            }
            let rank = ALL.iter().position(|kind| change["change"] == kind.to_string());
            for (row, rank) in own.iter().zip(rank.into_iter().cycle()) {
                worst.entry(*row).and_modify(|it| *it = rank.min(*it)).or_insert(rank);
            }
        }
    }
    let changes = worst.iter().map(|(row, rank)| (row.to_string(), ALL[*rank].to_string().into()));
    value["rows"] = Value::Object(changes.collect());
    value["reach"] = reach(&value).into();
    value["regressed"] = json!([regressed.len(), first]);
    Ok(value)
}

/// Returns the end of an axis around 0 on which the intervals of all differences fit, in tenths.
fn reach(comparison: &Value) -> f64 {
    let evaluators = comparison["evaluators"].as_array();
    let differences = evaluators.into_iter().flatten().map(|it| &it["difference"]);
    let ends = differences.flat_map(|it| [it["lower"].as_f64(), it["upper"].as_f64()]);
    let most = ends.flatten().map(f64::abs).fold(0.05, f64::max);
    ((most * 10.0).ceil() / 10.0).min(1.0)
}

/// Returns how bad each conversation is for an evaluator: broken ones are the worst, then those that failed, by their scores.
fn badness(column: &Column) -> Vec<(u8, f64)> {
    let outcomes = column.outcomes.bytes().map(|digit| match digit {
        b'2' => 3,
        b'1' => 2,
        b'0' => 1,
        _ => 0,
    });
    let scores = column.scores.split(',').map(|score| score.parse().map_or(0.0, |it: f64| -it));
    outcomes.zip(scores).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_differences_fit_on_one_axis() {
        let of = |differences: Value| reach(&json!({"evaluators": differences}));
        assert_eq!(of(json!([])), 0.1);
        let differences = json!([{"difference": {"lower": -0.32, "upper": 0.1}}, {"difference": null}, {"difference": {"lower": 0.0, "upper": 0.12}}]);
        assert_eq!(of(differences), 0.4);
        assert_eq!(of(json!([{"difference": {"lower": -1.0, "upper": 0.0}}])), 1.0);
    }

    #[test]
    fn the_worst_conversation_broke_or_has_the_lowest_score() {
        let column = Column {
            outcomes: "01213-".to_owned(),
            scores: "0.5,0.2,null,0.1,null,null".to_owned(),
            ..Column::default()
        };
        let badness = badness(&column);
        let mut rows: Vec<usize> = (0..6).collect();
        rows.sort_by(|one, other| badness[*other].partial_cmp(&badness[*one]).unwrap());
        assert_eq!(rows, [2, 3, 1, 0, 4, 5]);
    }
}
