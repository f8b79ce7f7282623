//! Two runs compared, as text and as Markdown.

use std::{fmt::Write as _, io};

use evaluator_host::report::{
    CaseChangeKind, Comparison, EvaluatorComparison, Report, run_file::Differences,
};
use evaluator_html::Words;

use super::{
    changes::{NAMED, changes, differing, interval, parts, rows, scores, word},
    html::{page, words},
    markdown::{escaped, sliced_comparison},
    plain::one_line,
    slices,
    verdict::last_line,
    words::counted,
};
use crate::exit;

/// Writes what two runs measured differently although they are compared to stderr.
pub(crate) fn differences(differences: &Differences) {
    differences.said.iter().for_each(|change| super::note(&change.to_string()));
    differences.allowed.iter().for_each(|change| super::warning(&change.to_string()));
}

/// Returns a block per evaluator, then tables of at most `width` columns for attributes.
pub(crate) fn comparison(comparison: &Comparison, width: Option<usize>) -> String {
    let mut text = String::new();
    for sentence in differing(comparison) {
        let _ = writeln!(text, "{}", one_line(&sentence));
    }
    for evaluator in &comparison.evaluators {
        for row in rows(evaluator, |_| true) {
            let _ = writeln!(text, "{row}");
        }
        if evaluator.unchanged > 0 {
            let _ = writeln!(text, "  {} unchanged", counted(evaluator.unchanged, "case"));
        }
        text.push('\n');
    }
    for (names, run) in [(&comparison.only_in_base, "base"), (&comparison.only_in_new, "new run")] {
        if !names.is_empty() {
            let names = one_line(&names.join(", ")).into_owned();
            let _ = writeln!(text, "only in the {run}: {names}");
        }
    }
    for table in slices::of_comparison(comparison) {
        table.write(width, None, &mut text);
    }
    text.trim_end().to_owned() + "\n"
}

/// Columns of the table of evaluators.
const COLUMNS: [&str; 7] = ["Evaluator", "Cases", "Base", "New", "Difference", "p", "Claims"];

/// Returns the row of an evaluator.
fn cells(evaluator: &EvaluatorComparison) -> [String; 7] {
    let score = |score: Option<f64>| score.map_or_else(String::new, |it| format!("{it:.4}"));
    [
        evaluator.name.clone(),
        evaluator.difference.map_or(0, |it| it.n).to_string(),
        score(evaluator.base),
        score(evaluator.new),
        evaluator.difference.as_ref().map_or_else(String::new, interval),
        evaluator.p.map_or_else(String::new, |p| format!("{p:.3}")),
        evaluator.claims.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    ]
}

/// Returns a table of evaluators, then the cases that changed.
pub(crate) fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = format!("### {}\n\n", escaped(&sentence(comparison)));
    for sentence in differing(comparison) {
        let _ = writeln!(text, "- {}", escaped(&sentence));
    }
    let _ = writeln!(text, "\n| {} |", COLUMNS.join(" | "));
    text.push_str("|---|---:|---:|---:|---|---:|---|\n");
    for evaluator in &comparison.evaluators {
        let cells = cells(evaluator).map(|cell| escaped(&cell));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    sliced_comparison(&mut text, comparison);
    for evaluator in &comparison.evaluators {
        for (_, title, cases) in changes(evaluator) {
            let title = escaped(&format!("{}: {title}", evaluator.name));
            let _ = writeln!(text, "\n<details><summary>{title}</summary>\n");
            for case in cases.iter().take(NAMED) {
                let _ = writeln!(text, "- {}", escaped(&scores(case)));
            }
            text.push_str("\n</details>\n");
        }
    }
    text
}

/// Returns a page of two runs compared: the new one, next to the base.
pub(crate) fn comparison_html(
    (base, new): (&Report, &Report),
    comparison: &Comparison,
    said: Vec<String>,
    is_broken: bool,
) -> io::Result<String> {
    let text = outcome(comparison, is_broken);
    let sentence = text.split_once(": ").unwrap_or(("ERROR", &text));
    let rows = comparison.evaluators.iter().map(cells).map(Vec::from).collect();
    let words = words(new, sentence, &COLUMNS, rows);
    let words = Words { comparison: Some(comparison), base: Some(base), said, ..words };
    page(|out| evaluator_html::write(new, words, out))
}

/// Writes the last line of a comparison to stderr. `is_broken` says that something broke in one of the runs.
pub(crate) fn comparison_verdict(comparison: &Comparison, is_broken: bool, code: u8) {
    let counts = CaseChangeKind::ALL.iter().map(|change| {
        let all = comparison.evaluators.iter().flat_map(|it| &it.changes);
        (change.to_string(), all.filter(|it| it.change == *change).count().into())
    });
    let text = match code {
        exit::ERRORED if !is_broken => "ERROR: the comparison could not be written".to_owned(),
        _ => outcome(comparison, is_broken),
    };
    last_line(&text, code, serde_json::Value::Object(counts.collect()));
}

/// Returns the outcome in a word, and what it rests on. `is_broken` says that something broke in one of the runs.
fn outcome(comparison: &Comparison, is_broken: bool) -> String {
    match is_broken {
        true => {
            format!("ERROR: something broke in a run that is compared; {}", sentence(comparison))
        }
        false => sentence(comparison),
    }
}

/// Returns the outcome in a word, and what it rests on.
fn sentence(comparison: &Comparison) -> String {
    let word = word(comparison.verdict());
    let parts = match comparison.claims().next() {
        Some(_) => parts(comparison),
        None => {
            format!("compared; nothing is asked of the new run; {}", parts(comparison))
        }
    };
    format!("{word}: {parts}")
}
