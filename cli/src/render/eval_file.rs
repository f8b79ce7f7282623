//! Reports of eval files: tables, Markdown, annotations and JUnit.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use evaluator_evals::report::{EvaluatorResult, Report, Status, TestResult};
use quick_xml::{
    Writer,
    events::{BytesDecl, Event},
};

use super::{Columns, counted, github, junit, markdown::escaped, one_line, remark};

/// Maximum number of tests that a report in Markdown shows.
const SHOWN: usize = 100;

/// Returns how a run ended.
fn sentence(report: &Report) -> String {
    let number = |status| report.count(status);
    let word = match report.status() {
        Status::Passed => "PASSED",
        Status::Failed => "FAILED",
        Status::Error => "ERROR",
    };
    let tests = counted(u64::try_from(report.results.len()).unwrap_or(u64::MAX), "test");
    format!(
        "{word}: {tests}: {} passed, {} failed, {} with errors",
        number(Status::Passed),
        number(Status::Failed),
        number(Status::Error)
    )
}

/// Writes how a run ended to stderr.
pub(crate) fn eval_outcome(report: &Report) {
    for error in &report.errors {
        remark(&format!("error: {}", one_line(error)));
    }
    for note in &report.notes {
        remark(&format!("warning: {}", one_line(note)));
    }
    remark(&sentence(report));
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
        let reason = if result.status == Status::Passed {
            result.warnings.join("; ")
        } else {
            failure(result)
        };
        let (id, score) = (escaped(&one_line(&result.id)), score(result.score));
        let reason = escaped(&one_line(&reason));
        let _ = writeln!(text, "| {} | {id} | {score} | {reason} |", result.status.name());
    }
    if let Some(more) = results.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n... and {more} more.");
    }
    text
}

/// Returns the results as annotations of GitHub.
pub(crate) fn eval_github(report: &Report) -> String {
    let mut text = String::new();
    for error in &report.errors {
        github::command(&mut text, "error", "run", error);
    }
    for note in &report.notes {
        github::command(&mut text, "warning", "run", note);
    }
    for result in &report.results {
        if result.status != Status::Passed {
            github::command(&mut text, "error", &result.id, &failure(result));
        }
        for warning in &result.warnings {
            github::command(&mut text, "warning", &result.id, warning);
        }
    }
    let _ = writeln!(text, "{}", sentence(report));
    text
}

/// Returns the results as a table, with the evaluators of each test if wanted.
pub(crate) fn eval_table(report: &Report, evaluators: bool, width: Option<usize>) -> String {
    let mut table = Columns::new(["", "Test", "Score", "Reason"]);
    for result in &report.results {
        let reason = match (&result.error, result.status) {
            (Some(error), _) => error.clone(),
            // Without the rows of the evaluators, the test has to name the reason.
            (None, Status::Failed | Status::Error) if !evaluators => {
                failure(result).replace('\n', "; ")
            }
            (None, Status::Failed) => format!("below the threshold {}", result.threshold),
            (None, _) => result.warnings.join("; "),
        };
        table.row([
            mark(result.status),
            one_line(&result.id).into_owned(),
            score(result.score),
            line(&reason),
        ]);
        if evaluators {
            result.evaluators.iter().for_each(|it| rows(&mut table, it, 1));
        }
    }
    table.fit(width);
    table.to_text()
}

fn rows(table: &mut Columns<4>, result: &EvaluatorResult, depth: usize) {
    let name = format!("{}{}", "  ".repeat(depth), one_line(&result.name));
    let missed = result.rows.iter().filter(|row| !row.passed).map(|row| &*row.text);
    let reason = match (&result.reason, result.status) {
        (Some(reason), _) => reason.clone(),
        (None, Status::Passed) => String::new(),
        (None, _) => missed.collect::<Vec<_>>().join("; "),
    };
    let mark = if result.verdict == "borderline" {
        "[FAIL] borderline".to_owned()
    } else {
        mark(result.status)
    };
    table.row([mark, name, score(result.score), line(&reason)]);
    result.members.iter().for_each(|member| rows(table, member, depth + 1));
}

fn line(text: &str) -> String {
    one_line(text).into_owned()
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
    let mut lines = vec![match (&result.error, result.score) {
        (Some(error), _) => error.clone(),
        (None, Some(score)) => format!("score {score} is below the threshold {}", result.threshold),
        (None, None) => "an evaluator broke".to_owned(),
    }];
    let missed = result.evaluators.iter().filter(|it| it.status != Status::Passed);
    lines.extend(missed.map(|it| {
        let missed: Vec<&str> =
            it.rows.iter().filter(|row| !row.passed).map(|row| &*row.text).collect();
        let reason = it.reason.clone().unwrap_or_else(|| missed.join("; "));
        format!("{} {}: {reason}", it.name, it.verdict)
    }));
    lines.join("\n")
}
