//! A run at a glance: a row per evaluator, then what needs attention, worst first. Conversations that passed are only counted.

use std::{fmt::Write as _, io};

use evaluator_host::report::{ConversationReport, EvaluationOutcome, Gate, Report};

use super::{
    Columns,
    plain::one_line,
    slices, sums,
    tables::{errors_of_summary, notes},
    words::{Names, counted, cut, failure, repro, score_text},
};

/// Maximum number of lines, unless evaluators, errors and notes need more.
const LINES: usize = 60;

/// Number of rows of all tables by the values of attributes.
const ROWS: usize = 20;

/// Number of conversations that are named, and of those that are named although there are more than [`LINES`].
const NAMED: usize = 10;
const ALWAYS_NAMED: usize = 3;

/// Number of failed evaluations of a conversation that are shown.
const SHOWN: usize = 2;

/// Number of kinds of errors that are shown.
const ERRORS: usize = 5;

/// Maximum number of shown characters of a reason, of an error, and of the user's words.
const REASON: usize = 240;
const WORDS: usize = 60;

/// Writes the overview; its length does not depend on the number of conversations.
pub(crate) fn overview(
    report: &Report,
    width: Option<usize>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut text = String::new();
    for error in report.errors.iter().take(NAMED) {
        let _ = writeln!(text, "error: {}", one_line(error));
    }
    let more = report.error_count().saturating_sub(NAMED) as u64;
    if more > 0 {
        let _ = writeln!(text, "and {}: see -o table", counted(more, "more error"));
    }
    if !report.errors.is_empty() {
        text.push('\n');
    }
    let mut table = Columns::new(sums::COLUMNS);
    let evaluators = report.evaluators(Gate::CONFIDENCE)?;
    evaluators.iter().map(sums::row).for_each(|row| table.row(row));
    let names: Vec<&String> = evaluators.iter().map(|it| &it.name).collect();
    table.fit(width);
    text.push_str(&table.to_text());
    for result in report.decide_gates()?.iter().filter(|it| !names.contains(&&it.gate.evaluator)) {
        let _ = writeln!(text, "gate {}", one_line(&result.to_string()));
    }
    for noise in report.noise()? {
        let _ = writeln!(text, "{}", one_line(&noise.to_string()));
    }
    for line in sums::corrections(&evaluators) {
        let _ = writeln!(text, "{line}");
    }
    let clusters = sums::clusters(report, &evaluators)?;
    if !clusters.is_empty() {
        let _ = writeln!(text, "\n{}", clusters.join("\n"));
    }
    slices::text(report, width, Some(ROWS), &mut text)?;
    let mut rest = String::new();
    errors(report, &mut rest)?;
    if let Some(command) = repro(report)? {
        let _ = writeln!(rest, "\nRun the worst one again: {command}");
    }
    let notes = notes(report);
    if !notes.is_empty() {
        let _ = writeln!(rest, "\n{}", notes.trim_end());
    }
    let used = text.lines().count() + rest.lines().count();
    attention(report, LINES.saturating_sub(used), &mut text)?;
    text.push_str(&rest);
    out.write_all(text.as_bytes())
}

/// Appends the worst conversations: who, which evaluator, why. `room` is the number of lines for all of them.
fn attention(report: &Report, room: usize, text: &mut String) -> io::Result<()> {
    let attention = report.attention(NAMED, |_, _| true)?;
    if attention.failed == 0 {
        return Ok(());
    }
    let all = report.conversations.len() as u64;
    let noun = if report.suite.is_some() { "test" } else { "conversation" };
    let _ = writeln!(
        text,
        "\nWhat needs attention, worst first ({} of {} failed):\n",
        attention.failed,
        counted(all, noun)
    );
    // The title, and what is left out.
    let mut room = room.saturating_sub(5);
    let mut named = 0;
    let names = names(report, &attention.conversations)?;
    for (conversation, name) in attention.conversations.iter().zip(names) {
        let block = failures(conversation, &name);
        let lines = block.lines().count();
        if lines > room && named >= ALWAYS_NAMED {
            break;
        }
        text.push_str(&block);
        room = room.saturating_sub(lines);
        named += 1;
    }
    let more = attention.failed - named;
    if more > 0 {
        let _ =
            writeln!(text, "\n  and {more} more: -o csv=FILE and -o json=FILE have all of them");
    }
    Ok(())
}

/// Returns who a conversation is of, and its failed evaluations.
fn failures(conversation: &ConversationReport, name: &str) -> String {
    let mut text = who(conversation, name) + "\n";
    let failed = conversation
        .evaluations
        .iter()
        .filter(|evaluation| evaluation.outcome() == EvaluationOutcome::Failed);
    for evaluation in failed.clone().take(SHOWN) {
        let score = evaluation.shown_score();
        let score = score.map_or_else(String::new, |score| {
            format!(" {}", score_text(score, evaluation.threshold))
        });
        let why = failure(evaluation);
        let why = one_line(&why);
        let name = one_line(&evaluation.name);
        let _ = writeln!(text, "  [FAIL] {name}{score}: {}", cut(&why, REASON));
    }
    let more = failed.count().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "         and {} more", counted(more as u64, "evaluator"));
    }
    text
}

/// Returns the names of some conversations of a report.
fn names(report: &Report, wanted: &[ConversationReport]) -> io::Result<Vec<String>> {
    let mut found = vec![String::new(); wanted.len()];
    let mut names = Names::new(report);
    for conversation in report.conversations.iter().outlines() {
        let conversation = conversation?;
        let name = names.of(&conversation);
        let at = wanted.iter().position(|it| it.trace_id == conversation.trace_id);
        if let Some(at) = at {
            found[at] = name;
        }
    }
    Ok(found)
}

/// Returns the case or file of a conversation, and the first words of its user.
fn who(conversation: &ConversationReport, name: &str) -> String {
    let mut text = one_line(name).into_owned();
    let file = conversation.trace_file.as_deref();
    if let Some(file) = file.filter(|file| !name.starts_with(file)) {
        let _ = write!(text, " in {}", one_line(file));
    }
    if let Some(prompt) = conversation.prompt.as_deref().map(str::trim).filter(|it| !it.is_empty())
    {
        let _ = write!(text, ": \"{}\"", one_line(&cut(prompt, WORDS)));
    }
    text
}

/// Appends the kinds of errors, each with its number and the first one.
fn errors(report: &Report, text: &mut String) -> io::Result<()> {
    let errors = errors_of_summary(report)?;
    for error in errors.iter().take(ERRORS) {
        let first = error.lines().take(3).collect::<Vec<_>>().join("\n");
        let _ = writeln!(text, "\n[ERR ] {first}");
    }
    let more = errors.len().saturating_sub(ERRORS);
    if more > 0 {
        let _ = writeln!(text, "\n[ERR ] and {} of errors", counted(more as u64, "more kind"));
    }
    Ok(())
}
