//! Texts that other forms of the report have, too.

use evaluator_results::{Comparison, ConversationReport, Report};

/// Texts of the report that the command has in other forms, too.
#[derive(derive_more::Debug)]
#[debug("Words({verdict:?}, {sentence:?})")]
pub struct Words<'w> {
    /// Verdict of the run in capital letters.
    pub verdict: &'w str,
    /// What the verdict rests on, in a sentence.
    pub sentence: &'w str,
    /// Its parts: what decided the verdict, and the rest, which may be empty.
    pub headline: [&'w str; 2],
    /// Names of the columns of the table without JavaScript.
    pub columns: &'w [&'w str],
    /// Rows of that table.
    pub rows: Vec<Vec<String>>,
    /// Comparison with an earlier run; `None` for that of the report, if it has one.
    pub comparison: Option<&'w Comparison>,
    /// The earlier run, if its conversations are known.
    pub base: Option<&'w Report>,
    /// What differs between the two runs and decides nothing, in sentences.
    pub said: Vec<String>,
    /// Returns the name of the next conversation of the report.
    pub name: Box<dyn FnMut(&ConversationReport) -> String + 'w>,
}

/// Returns the other tool that a report comes from, with its version; `None` for a report of `evaluator`.
pub(crate) fn foreign_tool(report: &Report) -> Option<&str> {
    let tool = report.header.as_deref()?.tool.as_str();
    (!tool.starts_with("evaluator ")).then_some(tool)
}
