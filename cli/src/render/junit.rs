//! JUnit XML, which CI systems show as test results.
//!
//! A conversation is a test suite and an evaluator on it a test case; what went wrong outside of any conversation is a suite
//! of its own, so that no CI system can overlook it.

use std::io::{self, Write};

use evaluator_host::{
    report::{ConversationReport, EvaluationReport, Report},
    verdict::{Status, Tally},
};
use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};

use super::{
    errors::{below, headline},
    plain::{OLD_COMMAND, line_of, one_line, printable},
    verdict::{NOTHING_SCORED, grouping},
    words::{NO_RECORDING, failure, kind, reason, with_cause},
};

/// What documents are written to.
type Xml<'o> = Writer<&'o mut dyn Write>;

/// The report as a document, with its final line feed.
pub(crate) fn junit(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(out, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let tally = report.tally();
    let errors = tally.errored + report.errors.len() as u64;
    let missing = report.missing_scores();
    let (cases, missing_cases) = (report.unrecorded_cases.len(), report.missing_cases().len());
    let failures = tally.failed + (missing.len() + missing_cases) as u64;
    let tests = tally.total() + (report.errors.len() + missing.len() + cases) as u64;
    let skipped = tally.not_evaluated + tally.not_run + (cases - missing_cases) as u64;
    writer
        .create_element("testsuites")
        .with_attribute(("name", "evaluator"))
        .with_attribute(("tests", tests.to_string().as_str()))
        .with_attribute(("failures", failures.to_string().as_str()))
        .with_attribute(("errors", errors.to_string().as_str()))
        .with_attribute(("skipped", skipped.to_string().as_str()))
        .write_inner_content(|writer| {
            run(writer, report)?;
            if !report.errors.is_empty() {
                inputs(writer, report)?;
            }
            if !missing.is_empty() {
                required(writer, &missing)?;
            }
            if cases > 0 {
                unrecorded(writer, report)?;
            }
            report.conversations.iter().try_for_each(|conversation| suite(writer, &conversation?))
        })?;
    writer.into_inner().write_all(b"\n")
}

/// What is to be known of the whole run, in a suite without tests, since only suites have properties; nothing of a run
/// that came to its end and tolerates nothing.
fn run(writer: &mut Xml<'_>, report: &Report) -> io::Result<()> {
    let mut found = Vec::new();
    if let Some(partial) = report.partial {
        found.push(("partial", "true".to_owned()));
        found.push(("partial_reason", partial.to_string()));
    }
    if report.max_error_rate > 0.0 {
        found.push(("max_error_rate", report.max_error_rate.to_string()));
        found.push(("errors_tolerated", report.balance().tolerates_errors().to_string()));
    }
    found.extend(report.warnings.iter().map(|warning| ("warning", valid(warning))));
    if !report.left_out.is_empty() {
        found.push(("left_out", report.left_out.counted()));
    }
    found.extend(grouping(report).map(|grouping| ("grouping", grouping.to_string())));
    if found.is_empty() {
        return Ok(());
    }
    writer
        .create_element("testsuite")
        .with_attribute(("name", "run"))
        .with_attribute(("tests", "0"))
        .write_inner_content(|writer| properties(writer, &found))?;
    Ok(())
}

fn inputs(writer: &mut Xml<'_>, report: &Report) -> io::Result<()> {
    let count = report.errors.len().to_string();
    writer
        .create_element("testsuite")
        .with_attribute(("name", "inputs"))
        .with_attribute(("tests", count.as_str()))
        .with_attribute(("errors", count.as_str()))
        .write_inner_content(|writer| {
            for (number, (error, cause)) in (1..).zip(report.errors_with_causes()) {
                let name = format!("input {number}");
                let error = with_cause(error, cause);
                let outcome = Some(Outcome::Error("bad_input", &error));
                case(writer, "inputs", &name, 0.0, outcome, &Beside::default())?;
            }
            Ok(())
        })?;
    Ok(())
}

/// Evaluators that have to score something and have not.
fn required(writer: &mut Xml<'_>, names: &[&str]) -> io::Result<()> {
    let count = names.len().to_string();
    writer
        .create_element("testsuite")
        .with_attribute(("name", "require_evaluated"))
        .with_attribute(("tests", count.as_str()))
        .with_attribute(("failures", count.as_str()))
        .write_inner_content(|writer| {
            names.iter().try_for_each(|name| {
                let outcome = Some(Outcome::Failure(NOTHING_SCORED));
                case(writer, "require_evaluated", name, 0.0, outcome, &Beside::default())
            })
        })?;
    Ok(())
}

/// Golden cases without a recording: failures where each has to have one, else skipped.
fn unrecorded(writer: &mut Xml<'_>, report: &Report) -> io::Result<()> {
    let count = report.unrecorded_cases.len().to_string();
    let fails = !report.missing_cases().is_empty();
    writer
        .create_element("testsuite")
        .with_attribute(("name", "golden_cases"))
        .with_attribute(("tests", count.as_str()))
        .with_attribute((if fails { "failures" } else { "skipped" }, count.as_str()))
        .write_inner_content(|writer| {
            report.unrecorded_cases.iter().try_for_each(|name| {
                let outcome = match fails {
                    true => Outcome::Failure(NO_RECORDING),
                    false => Outcome::Skipped(NO_RECORDING),
                };
                case(writer, "golden_cases", name, 0.0, Some(outcome), &Beside::default())
            })
        })?;
    Ok(())
}

fn properties(writer: &mut Xml<'_>, properties: &[(&str, String)]) -> io::Result<()> {
    writer.create_element("properties").write_inner_content(|writer| {
        properties.iter().try_for_each(|(name, value)| {
            let property = writer.create_element("property").with_attribute(("name", *name));
            property.with_attribute(("value", attribute(value).as_str())).write_empty().map(drop)
        })
    })?;
    Ok(())
}

fn suite(writer: &mut Xml<'_>, conversation: &ConversationReport) -> io::Result<()> {
    let mut tally = Tally::default();
    for evaluation in &conversation.evaluations {
        evaluation.count_in(&mut tally);
    }
    let skipped = tally.not_evaluated + tally.not_run;
    // All denominators, some of which the attributes do not have.
    let counts = tally.named().map(|(name, count)| (name, count.to_string()));
    writer
        .create_element("testsuite")
        .with_attribute(("name", attribute(&conversation.trace_id).as_str()))
        .with_attribute(("tests", tally.total().to_string().as_str()))
        .with_attribute(("failures", tally.failed.to_string().as_str()))
        .with_attribute(("errors", tally.errored.to_string().as_str()))
        .with_attribute(("skipped", skipped.to_string().as_str()))
        .write_inner_content(|writer| {
            properties(writer, &counts)?;
            for evaluation in &conversation.evaluations {
                let seconds = evaluation.duration.unwrap_or_default().as_secs_f64();
                let failure = failure(evaluation);
                let reason = reason(evaluation);
                let error = error_text(evaluation);
                let outcome = match (&evaluation.error, evaluation.status) {
                    (Some(_), _) if !evaluation.was_run() => Some(Outcome::Skipped(&error)),
                    (Some(_), _) => Some(Outcome::Error(kind(evaluation), &error)),
                    (None, Status::Failed) => Some(Outcome::Failure(&failure)),
                    (None, Status::NotEvaluated) => Some(Outcome::Skipped(&reason)),
                    (None, Status::Passed) => None,
                };
                let (class, name) = (&conversation.trace_id, &evaluation.name);
                let beside = Beside {
                    warnings: &evaluation.warnings,
                    stderr: evaluation.stderr.as_deref(),
                    attempts: evaluation.attempts,
                };
                case(writer, class, name, seconds, outcome, &beside)?;
            }
            Ok(())
        })?;
    Ok(())
}

/// What a test case is if it did not pass.
enum Outcome<'a> {
    /// Kind and text.
    Error(&'a str, &'a str),
    Failure(&'a str),
    Skipped(&'a str),
}

/// What a test case has beside its outcome.
#[derive(Default)]
struct Beside<'a> {
    warnings: &'a [String],
    stderr: Option<&'a str>,
    attempts: u32,
}

fn case(
    writer: &mut Xml<'_>,
    class: &str,
    name: &str,
    seconds: f64,
    outcome: Option<Outcome<'_>>,
    beside: &Beside<'_>,
) -> io::Result<()> {
    let (class, name, time) = (attribute(class), attribute(name), format!("{seconds:.3}"));
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", class.as_str()))
        .with_attribute(("name", name.as_str()))
        .with_attribute(("time", time.as_str()));
    if outcome.is_none() && beside.warnings.is_empty() && beside.attempts < 2 {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|writer| {
        if beside.attempts > 1 {
            properties(writer, &[("attempts", beside.attempts.to_string())])?;
        }
        if let Some(outcome) = outcome {
            let (tag, kind, text) = match outcome {
                Outcome::Error(kind, text) => ("error", Some(kind), text),
                Outcome::Failure(text) => ("failure", None, text),
                Outcome::Skipped(text) => ("skipped", None, text),
            };
            let message = attribute(text.lines().next().unwrap_or_default());
            let mut element =
                writer.create_element(tag).with_attribute(("message", message.as_str()));
            if let Some(kind) = kind {
                element = element.with_attribute(("type", kind));
            }
            element.write_text_content(content(text))?;
        }
        if !beside.warnings.is_empty() {
            let lines: Vec<String> =
                beside.warnings.iter().map(|it| format!("warning: {}", one_line(it))).collect();
            writer.create_element("system-out").write_text_content(content(&lines.join("\n")))?;
        }
        if let Some(stderr) = beside.stderr {
            writer.create_element("system-err").write_text_content(content(stderr))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The error of an evaluation. What it wrote to standard error has an element of its own.
fn error_text(evaluation: &EvaluationReport) -> String {
    let mut lines = vec![headline(evaluation)];
    lines.extend(below(evaluation).into_iter().filter(|line| !line.starts_with("stderr: ")));
    lines.join("\n")
}

/// Text as the value of an attribute.
fn attribute(text: &str) -> String {
    valid(&printable(&one_line(text)))
}

/// Text as the content of an element. The document may be printed to a log, in which no line of the text is to be one of
/// the log, so line feeds are references.
fn content(text: &str) -> BytesText<'static> {
    let text = valid(&line_of(text));
    let escaped = quick_xml::escape::escape(&text);
    BytesText::from_escaped(escaped.replace('\n', "&#10;").replace(OLD_COMMAND, "##&#91;"))
}

/// The text without the characters that XML has no way to write.
fn valid(text: &str) -> String {
    let is_invalid = |c: char| matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(is_invalid, "\u{fffd}")
}
