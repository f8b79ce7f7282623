//! The comparison with an earlier run: what changed, and the conversations of that run next to those of this one.

use std::{collections::HashMap, io, sync::Arc};

use evaluator_results::{Comparison, ConversationReports, Report};
use serde_json::Value;

use super::cases;

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

/// Returns a comparison as JSON. `rows` has the number of the first conversation of each case.
///
/// # Errors
///
/// A number cannot be represented.
pub(crate) fn json(comparison: &Comparison, rows: &HashMap<Arc<str>, usize>) -> io::Result<Value> {
    let mut value = Value::from(&comparison.to_json()?);
    let evaluators = value.get_mut("evaluators").and_then(Value::as_array_mut);
    let changes = evaluators.into_iter().flatten().filter_map(|it| it.get_mut("changes"));
    for change in changes.filter_map(Value::as_array_mut).flatten() {
        let row = change["case"].as_str().and_then(|case| rows.get(case)).copied();
        change["row"] = row.into();
    }
    Ok(value)
}
