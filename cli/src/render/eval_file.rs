//! Reports of eval files: tables, Markdown, annotations and JUnit.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use evaluator_agentv::report::{EvaluatorResult, Report, Status, TestResult};
use quick_xml::{
    Writer,
    events::{BytesDecl, Event},
};

use serde_json::json;

use super::{
    Columns, counted, github, junit,
    markdown::{cell, escaped},
    one_line,
    plain::line_of,
    stderr::{Level, line},
    verdict::last_line,
};
use crate::exit;

/// Maximum number of tests that a report in Markdown shows.
const SHOWN: usize = 100;

/// Maximum number of tests whose warnings are written to stderr.
const SHOWN_WARNINGS: usize = 10;

/// Returns how a run ended.
fn sentence(report: &Report) -> String {
    let word = match report.status() {
        Status::Passed => "PASSED",
        Status::Failed => "FAILED",
        Status::Error => "ERROR",
    };
    format!("{word}: {}", counts(report))
}

fn counts(report: &Report) -> String {
    let number = |status| report.count(status);
    format!(
        "{} passed, {} failed, {} errored ({})",
        number(Status::Passed),
        number(Status::Failed),
        number(Status::Error),
        counted(report.results.len() as u64, "test")
    )
}

/// Writes how a run ended to stderr. `code` is the exit code: it is worse than what the report says if the report could not
/// be written.
pub(crate) fn eval_outcome(report: &Report, code: u8) {
    for error in &report.errors {
        line(Level::Error, &format!("error: {}", one_line(error)));
    }
    for note in &report.notes {
        line(Level::Warning, &format!("warning: {}", one_line(note)));
    }
    for warning in warnings_of_tests(report) {
        line(Level::Warning, &format!("warning: {}", one_line(&warning)));
    }
    let text = match (code, report.status()) {
        (exit::ERRORED, Status::Passed | Status::Failed) => {
            format!("ERROR: {}; the report could not be written", counts(report))
        }
        _ => sentence(report),
    };
    let number = |status| report.count(status);
    let counts = json!({
        "passed": number(Status::Passed),
        "failed": number(Status::Failed),
        "errored": number(Status::Error),
        "total": report.results.len(),
        "errors_outside": report.errors.len(),
    });
    last_line(&text, code, counts);
}

/// Returns the warnings of the first tests that have some, and the number of the others.
fn warnings_of_tests(report: &Report) -> Vec<String> {
    let with_warnings = || report.results.iter().filter(|result| !result.warnings.is_empty());
    let shown = with_warnings().take(SHOWN_WARNINGS);
    let mut lines: Vec<String> =
        shown.map(|it| format!("test `{}`: {}", it.id, it.warnings.join("; "))).collect();
    if let Some(more) = with_warnings().count().checked_sub(SHOWN_WARNINGS).filter(|it| *it > 0) {
        lines.push(format!("{} more with warnings", counted(more as u64, "test")));
    }
    lines
}

/// Returns the results as Markdown: those that did not pass first. Its length is bounded.
pub(crate) fn eval_markdown(report: &Report) -> String {
    let mut text = format!("### {}\n", escaped(&sentence(report)));
    let remarks: Vec<&String> = report.errors.iter().chain(&report.notes).collect();
    if !remarks.is_empty() {
        text.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(text, "- {}", escaped(&one_line(remark)));
    }
    text.push_str("\n| | Test | Score | |\n|---|---|---:|---|\n");
    let mut results: Vec<&TestResult> = report.results.iter().collect();
    results.sort_by_key(|result| match result.status {
        Status::Error => 0,
        Status::Failed => 1,
        Status::Passed => 2,
    });
    for result in results.iter().take(SHOWN) {
        let failure = (result.status != Status::Passed).then(|| failure(result));
        let reason: Vec<String> = failure.into_iter().chain(result.warnings.clone()).collect();
        let reason = reason.join("\n");
        let (id, score) = (escaped(&one_line(&result.id)), score(result.score));
        let reason = cell(&reason);
        let _ = writeln!(text, "| {} | {id} | {score} | {reason} |", icon(result.status));
    }
    if let Some(more) = results.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n... and {more} more.");
    }
    text
}

/// Returns the sign that reports of traces have for the same outcome.
fn icon(status: Status) -> &'static str {
    match status {
        Status::Passed => "✅",
        Status::Failed => "❌",
        Status::Error => "💥",
    }
}

/// Returns the results as annotations of GitHub.
pub(crate) fn eval_github(report: &Report) -> String {
    let mut text = String::new();
    for error in &report.errors {
        github::command(&mut text, "error", ("run", None), error);
    }
    for note in &report.notes {
        github::command(&mut text, "warning", ("run", None), note);
    }
    for result in &report.results {
        if result.status != Status::Passed {
            github::command(&mut text, "error", (&result.id, None), &failure(result));
        }
        for warning in &result.warnings {
            github::command(&mut text, "warning", (&result.id, None), warning);
        }
    }
    text
}

/// Returns the results as a table, with the evaluators of each test if wanted.
pub(crate) fn eval_table(report: &Report, evaluators: bool, width: Option<usize>) -> String {
    let mut table = Columns::new(["", "Test", "Score", "Reason"]);
    let mut below = String::new();
    for result in &report.results {
        let reason = match (&result.error, result.status) {
            (Some(error), _) => Some(error.clone()),
            // Without the rows of the evaluators, the test has to name the reason.
            (None, Status::Failed | Status::Error) if !evaluators => {
                Some(failure_of(result, |reason| first_line(reason).to_owned()).join("; "))
            }
            (None, Status::Failed) => Some(format!("below the threshold {}", result.threshold)),
            (None, _) => None,
        };
        let reason: Vec<String> = reason.into_iter().chain(result.warnings.clone()).collect();
        let reason = reason.join("; ");
        table.row([
            mark(result.status),
            one_line(&result.id).into_owned(),
            score(result.score),
            one_line(first_line(&reason)).into_owned(),
        ]);
        further_lines(&mut below, &result.id, &reason);
        if evaluators {
            for evaluator in &result.evaluators {
                rows(&mut table, &mut below, &result.id, evaluator, 1);
            }
        }
    }
    table.fit(width);
    table.to_text() + &below
}

fn rows(
    table: &mut Columns<4>,
    below: &mut String,
    test: &str,
    result: &EvaluatorResult,
    depth: usize,
) {
    let name = format!("{}{}", "  ".repeat(depth), one_line(&result.name));
    let reason = match result.status {
        Status::Passed => result.reason.clone().unwrap_or_default(),
        _ => reason_of(result),
    };
    let mark = if result.verdict == "borderline" {
        "[FAIL] borderline".to_owned()
    } else {
        mark(result.status)
    };
    table.row([mark, name, score(result.score), one_line(first_line(&reason)).into_owned()]);
    further_lines(below, &format!("{test}, {}", result.name), &reason);
    for member in &result.members {
        rows(table, below, test, member, depth + 1);
    }
}

fn first_line(text: &str) -> &str {
    text.trim_start().lines().next().unwrap_or_default()
}

/// Writes the lines of a reason below the table, unless it is a single line.
fn further_lines(below: &mut String, title: &str, reason: &str) {
    let mut lines = reason.trim().lines().skip(1).peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(below, "\n{}: {}", one_line(title), one_line(first_line(reason)));
    for line in lines {
        let _ = writeln!(below, "  | {}", line_of(line));
    }
}

fn mark(status: Status) -> String {
    match status {
        Status::Passed => "[PASS]",
        Status::Failed => "[FAIL]",
        Status::Error => "[ERR ]",
    }
    .to_owned()
}

fn score(score: Option<f64>) -> String {
    score.map_or_else(String::new, |score| format!("{score:.4}"))
}

/// Writes the results as JUnit: a test case per test, and one per error of the run.
pub(crate) fn eval_junit(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(out, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = |more: usize| {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        [
            ("tests", count(report.results.len() + more)),
            ("failures", count(report.count(Status::Failed))),
            ("errors", count(report.count(Status::Error) + more)),
        ]
    };
    let (all, own) = (counts(report.errors.len()), counts(0));
    junit::element(&mut writer, "testsuites", "evaluator", &all, |writer| {
        let warnings: Vec<_> = report.warnings().map(|warning| ("warning", warning)).collect();
        junit::facts(writer, &warnings)?;
        let errors = (1..).zip(&report.errors).map(|(number, error)| {
            (format!("recording {number}"), junit::Outcome::Error("recording", error.clone()))
        });
        junit::suite(writer, "recordings", "errors", errors.collect())?;
        junit::element(writer, "testsuite", &junit::attribute(&report.suite), &own, |writer| {
            report.results.iter().try_for_each(|result| {
                let outcome = match result.status {
                    Status::Passed => None,
                    Status::Failed => Some(junit::Outcome::Failure(failure(result))),
                    Status::Error => {
                        Some(junit::Outcome::Error("evaluation_error", failure(result)))
                    }
                };
                let (duration, warnings) = (result.duration, &*result.warnings);
                let case = junit::Case { outcome, duration, warnings, ..junit::Case::default() };
                junit::case(writer, &report.suite, &result.id, &case)
            })
        })
    })?;
    writer.into_inner().write_all(b"\n")
}

/// Describes a test that did not pass: the reason, then a line per evaluator that did not.
fn failure(result: &TestResult) -> String {
    failure_of(result, str::to_owned).join("\n")
}

/// Returns the reason why a test did not pass, and the shown reasons of its evaluators.
fn failure_of(result: &TestResult, show: impl Fn(&str) -> String) -> Vec<String> {
    let mut lines = vec![match (&result.error, result.score) {
        (Some(error), _) => error.clone(),
        (None, Some(score)) => format!("score {score} is below the threshold {}", result.threshold),
        (None, None) => "an evaluator broke".to_owned(),
    }];
    let missed = result.evaluators.iter().filter(|it| it.status != Status::Passed);
    lines.extend(missed.map(|it| format!("{} {}: {}", it.name, it.verdict, show(&reason_of(it)))));
    lines
}

/// Returns the reason of an evaluator that did not pass, else the observations that it missed.
fn reason_of(result: &EvaluatorResult) -> String {
    let missed = result.rows.iter().filter(|row| !row.passed).map(|row| &*row.text);
    result.reason.clone().unwrap_or_else(|| missed.collect::<Vec<_>>().join("; "))
}
