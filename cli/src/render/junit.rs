//! JUnit XML, which CI systems show as test results.
//!
//! An evaluator is a test suite, and its evaluation of a conversation a test case, whose name is the same in every run. Errors
//! outside of any conversation are a separate suite, so that no CI system can overlook them.

use std::{
    io::{self, Write},
    time::Duration,
};

use evaluator_host::{
    report::{
        ConversationReport, EvaluationOutcome, EvaluationReport, Gate, GateResult, GateVerdict,
        Inconclusive, Report,
    },
    verdict::Tally,
};
use indexmap::IndexMap;
use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};

use super::{
    errors::{below, headline},
    plain::{OLD_COMMAND, line_of, one_line, printable},
    sums,
    verdict::grouping,
    words::{NO_RECORDING, Names, failure, kind, reason, with_cause},
};

/// Writer of a document.
type Xml<'o> = Writer<&'o mut dyn Write>;

/// Writes the report as a document that ends with a line feed.
pub(crate) fn junit(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(out, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let tally = report.tally();
    let missing = report.missing_scores();
    let inputs = report.errors.len() as u64;
    let (cases, missing_cases) =
        (report.unrecorded_cases.len() as u64, report.missing_cases().len() as u64);
    let gates: Vec<(String, Option<Outcome>)> =
        report.decide_gates()?.iter().map(|gate| decided(gate, report.inconclusive)).collect();
    let evaluators = evaluators(report)?;
    let below_gates: u64 = evaluators.values().map(|sums| sums.below_threshold).sum();
    let claims = claims(report);
    let decided = || gates.iter().chain(&claims).filter_map(|(_, outcome)| outcome.as_ref());
    let skipped_gates = decided().filter(|it| matches!(it, Outcome::Skipped(_))).count() as u64;
    let failed_gates = decided().count() as u64 - skipped_gates;
    let all_gates = (gates.len() + claims.len()) as u64;
    let mut unscored: Vec<(String, Option<Outcome>)> = missing
        .iter()
        .map(|it| (it.scores.name.clone(), Some(Outcome::Failure(None, it.to_string()))))
        .collect();
    if report.balance().fails_as_unevaluated() {
        let outcome = Outcome::Failure(None, "nothing was scored".to_owned());
        unscored.push(("run".to_owned(), Some(outcome)));
    }
    let missing_scores = unscored.len() as u64;
    let counts = [
        ("tests", tally.total() + inputs + missing_scores + cases + all_gates),
        ("failures", tally.failed - below_gates + failed_gates + missing_scores + missing_cases),
        ("errors", tally.errored + inputs),
        ("skipped", tally.not_evaluated + tally.not_run + cases - missing_cases + skipped_gates),
    ];
    element(&mut writer, "testsuites", "evaluator", &counts, |writer| {
        run(writer, report)?;
        let errors = (1..).zip(report.errors_with_causes()).map(|(number, (error, cause))| {
            let outcome = Outcome::Error("bad_input", with_cause(error, cause));
            (format!("input {number}"), Some(outcome))
        });
        suite(writer, "inputs", errors.collect())?;
        suite(writer, "gates", gates)?;
        suite(writer, "regressions", claims)?;
        suite(writer, "require_evaluated", unscored)?;
        // Golden cases without a recording.
        let outcome = || match missing_cases {
            0 => Outcome::Skipped(NO_RECORDING.to_owned()),
            _ => Outcome::Failure(None, NO_RECORDING.to_owned()),
        };
        let unrecorded = report.unrecorded_cases.iter();
        let unrecorded = unrecorded.map(|name| (name.clone(), Some(outcome())));
        suite(writer, "golden_cases", unrecorded.collect())?;
        evaluators.iter().try_for_each(|(name, sums)| evaluator(writer, report, name, sums))
    })?;
    writer.into_inner().write_all(b"\n")
}

/// Writes an element with a name and counts.
fn element(
    writer: &mut Xml<'_>,
    tag: &'static str,
    name: &str,
    counts: &[(&'static str, u64)],
    content: impl FnOnce(&mut Xml<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut element = writer.create_element(tag).with_attribute(("name", name));
    for (key, count) in counts {
        element = element.with_attribute((*key, count.to_string().as_str()));
    }
    element.write_inner_content(|writer| content(writer))?;
    Ok(())
}

/// Returns a gate as a test: its name and outcome.
fn decided(result: &GateResult, inconclusive: Inconclusive) -> (String, Option<Outcome>) {
    (result.gate.to_string(), outcome(result.verdict, inconclusive, result.to_string()))
}

/// Returns the outcome of a decision. CI systems count an undecided one as what the exit code makes of it.
fn outcome(verdict: GateVerdict, inconclusive: Inconclusive, text: String) -> Option<Outcome> {
    match (verdict, inconclusive) {
        (GateVerdict::Pass, _) => None,
        (GateVerdict::Inconclusive, Inconclusive::Pass) => Some(Outcome::Skipped(text)),
        (GateVerdict::Inconclusive, _) => Some(Outcome::Failure(Some("inconclusive"), text)),
        _ => Some(Outcome::Failure(None, text)),
    }
}

/// Returns the claims about the comparison with a baseline as tests.
fn claims(report: &Report) -> Vec<(String, Option<Outcome>)> {
    let Some(comparison) = &report.comparison else { return Vec::new() };
    let policy = report.inconclusive;
    let claims = comparison.claims().map(|(evaluator, claim)| {
        let text = format!("{evaluator}: {claim}");
        (format!("{evaluator}: {}", claim.claim), outcome(claim.verdict, policy, text))
    });
    let missing = comparison.missing_evaluators().iter().map(|evaluator| {
        let text = format!("{evaluator} is only in the baseline");
        (evaluator.clone(), outcome(GateVerdict::Inconclusive, policy, text))
    });
    claims.chain(missing).collect()
}

/// What the suite of an evaluator counts.
#[derive(Default)]
struct Sums {
    tally: Tally,
    /// Failed evaluations that fail nothing by themselves, because a gate or a claim judges them.
    below_threshold: u64,
}

/// Writes a suite of tests; nothing without tests.
fn suite(
    writer: &mut Xml<'_>,
    name: &str,
    tests: Vec<(String, Option<Outcome>)>,
) -> io::Result<()> {
    if tests.is_empty() {
        return Ok(());
    }
    let count = |is: fn(&Outcome) -> bool| {
        tests.iter().filter(|(_, outcome)| outcome.as_ref().is_some_and(is)).count() as u64
    };
    let counts = [
        ("tests", tests.len() as u64),
        ("failures", count(|it| matches!(it, Outcome::Failure(..)))),
        ("errors", count(|it| matches!(it, Outcome::Error(..)))),
        ("skipped", count(|it| matches!(it, Outcome::Skipped(_)))),
    ];
    element(writer, "testsuite", name, &counts, |writer| {
        tests.into_iter().try_for_each(|(test, outcome)| {
            case(writer, name, &test, &Case { outcome, ..Case::default() })
        })
    })
}

/// Writes facts about the whole run as a suite without tests, since only suites have properties. A complete run that
/// tolerates no errors may have none.
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
    let of_suite = report.suite.iter().flat_map(|suite| &suite.warnings);
    found.extend(of_suite.chain(&report.warnings).map(|it| ("warning", it.clone())));
    let corrections = sums::corrections(&report.evaluators(Gate::CONFIDENCE)?);
    found.extend(corrections.into_iter().map(|it| ("corrected_pass_rate", it)));
    if !report.left_out.is_empty() {
        found.push(("left_out", report.left_out.counted()));
    }
    found.extend(grouping(report).map(|grouping| ("grouping", grouping.to_string())));
    facts(writer, &found)
}

/// Writes facts about the whole run; nothing without facts.
fn facts(writer: &mut Xml<'_>, found: &[(&str, String)]) -> io::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    element(writer, "testsuite", "run", &[("tests", 0)], |writer| properties(writer, found))
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

/// Returns the evaluators in the order in which they appear, each with the counts of its evaluations.
fn evaluators(report: &Report) -> io::Result<IndexMap<String, Sums>> {
    let mut found: IndexMap<String, Sums> = IndexMap::new();
    for conversation in report.conversations.iter().outlines() {
        let conversation = conversation?;
        for evaluation in &conversation.evaluations {
            if !found.contains_key(&evaluation.name) {
                found.insert(evaluation.name.clone(), Sums::default());
            }
            let sums = &mut found[&evaluation.name];
            evaluation.count_in(&mut sums.tally);
            let is_below = fails_nothing(report, &conversation, evaluation);
            sums.below_threshold += u64::from(is_below);
        }
    }
    Ok(found)
}

/// Returns true for a failed evaluation that fails nothing by itself.
fn fails_nothing(
    report: &Report,
    conversation: &ConversationReport,
    evaluation: &EvaluationReport,
) -> bool {
    evaluation.outcome() == EvaluationOutcome::Failed
        && report.is_judged_as_a_whole(&evaluation.name, conversation.case())
}

/// Writes the suite of an evaluator.
fn evaluator(
    writer: &mut Xml<'_>,
    report: &Report,
    evaluator: &str,
    Sums { tally, below_threshold }: &Sums,
) -> io::Result<()> {
    let counts = [
        ("tests", tally.total()),
        ("failures", tally.failed - below_threshold),
        ("errors", tally.errored),
        ("skipped", tally.not_evaluated + tally.not_run),
    ];
    // All denominators; the attributes lack some of them.
    let facts = tally.named().map(|(name, count)| (name, count.to_string()));
    element(writer, "testsuite", &attribute(evaluator), &counts, |writer| {
        properties(writer, &facts)?;
        let mut names = Names::new(report);
        for conversation in report.conversations.iter().without_performance() {
            let conversation = conversation?;
            let name = names.of(&conversation);
            let of_this = conversation.evaluations.iter().filter(|it| it.name == evaluator);
            for one in of_this {
                let is_below = fails_nothing(report, &conversation, one);
                evaluation(writer, &name, &conversation, one, is_below)?;
            }
        }
        Ok(())
    })
}

/// Writes an evaluation of the conversation with this name as a test case. One that is only below a
/// threshold does not fail.
fn evaluation(
    writer: &mut Xml<'_>,
    name: &str,
    conversation: &ConversationReport,
    evaluation: &EvaluationReport,
    is_below: bool,
) -> io::Result<()> {
    let mut facts = Vec::new();
    let outcome = match evaluation.outcome() {
        EvaluationOutcome::NotRun => Some(Outcome::Skipped(error_text(evaluation))),
        EvaluationOutcome::Error => Some(Outcome::Error(kind(evaluation), error_text(evaluation))),
        EvaluationOutcome::Failed if is_below => {
            facts.push(("below_threshold", failure(evaluation)));
            None
        }
        EvaluationOutcome::Failed => Some(Outcome::Failure(None, failure(evaluation))),
        EvaluationOutcome::NotEvaluated => Some(Outcome::Skipped(reason(evaluation).into_owned())),
        _ => None,
    };
    if outcome.is_some() || !facts.is_empty() {
        facts.push(("trace_id", conversation.trace_id.to_string()));
        let golden = conversation.eval_case_id.as_deref();
        facts.extend(golden.map(|case| ("eval_case_id", case.to_owned())));
        facts.extend(conversation.case.as_deref().map(|case| ("case", case.to_owned())));
    }
    if evaluation.attempts > 1 {
        facts.push(("attempts", evaluation.attempts.to_string()));
    }
    facts.extend(conversation.failed_turns.iter().map(|failure| ("failed_turn", failure.clone())));
    let written = Case {
        outcome,
        facts,
        file: conversation.trace_file.as_deref(),
        duration: evaluation.duration.unwrap_or_default(),
        warnings: &evaluation.warnings,
        stderr: evaluation.stderr.as_deref(),
    };
    case(writer, &evaluation.name, name, &written)
}

/// Outcome of a test case that did not pass.
enum Outcome {
    /// Kind and text.
    Error(&'static str, String),
    Failure(Option<&'static str>, String),
    Skipped(String),
}

/// A test case.
#[derive(Default)]
struct Case<'c> {
    outcome: Option<Outcome>,
    /// Properties: names and values.
    facts: Vec<(&'static str, String)>,
    /// File that CI systems show with the test.
    file: Option<&'c str>,
    duration: Duration,
    warnings: &'c [String],
    stderr: Option<&'c str>,
}

/// Writes a test case, with its properties, warnings and standard error.
fn case(writer: &mut Xml<'_>, class: &str, name: &str, written: &Case<'_>) -> io::Result<()> {
    let Case { outcome, facts, file, duration, warnings, stderr } = written;
    let seconds = duration.as_secs_f64();
    let (class, name, time) = (attribute(class), attribute(name), format!("{seconds:.3}"));
    let mut element = writer
        .create_element("testcase")
        .with_attribute(("classname", class.as_str()))
        .with_attribute(("name", name.as_str()))
        .with_attribute(("time", time.as_str()));
    if let Some(file) = file {
        element = element.with_attribute(("file", attribute(file).as_str()));
    }
    if outcome.is_none() && warnings.is_empty() && facts.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|writer| {
        if !facts.is_empty() {
            properties(writer, facts)?;
        }
        if let Some(outcome) = outcome {
            let (tag, kind, text) = match outcome {
                Outcome::Error(kind, text) => ("error", Some(*kind), text),
                Outcome::Failure(kind, text) => ("failure", *kind, text),
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
        if !warnings.is_empty() {
            let lines: Vec<String> =
                warnings.iter().map(|it| format!("warning: {}", one_line(it))).collect();
            writer.create_element("system-out").write_text_content(content(&lines.join("\n")))?;
        }
        if let Some(stderr) = stderr {
            writer.create_element("system-err").write_text_content(content(stderr))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Returns the error of an evaluation without its standard error, which has a separate element.
fn error_text(evaluation: &EvaluationReport) -> String {
    let mut lines = vec![headline(evaluation)];
    lines.extend(below(evaluation).into_iter().filter(|line| !line.starts_with("stderr: ")));
    lines.join("\n")
}

/// Converts text to the value of an attribute.
fn attribute(text: &str) -> String {
    valid(&printable(&one_line(text)))
}

/// Converts text to the content of an element. Line feeds are references: in a log, no line of the text may be a line of the log.
fn content(text: &str) -> BytesText<'static> {
    let text = valid(&line_of(text));
    let escaped = quick_xml::escape::escape(&text);
    BytesText::from_escaped(escaped.replace('\n', "&#10;").replace(OLD_COMMAND, "##&#91;"))
}

/// Replaces the characters that XML cannot represent.
fn valid(text: &str) -> String {
    let is_invalid = |c: char| matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(is_invalid, "\u{fffd}")
}
