//! Markdown, for comments on pull requests and job summaries.

use std::{fmt::Write as _, io, sync::Arc};

use evaluator_host::report::{
    CaseChange, Comparison, EvaluationOutcome, EvaluationReport, Gate, Report,
};

use super::{
    changes::{NAMED, changes, difference, differing, is_shown, missing, scores},
    errors::{Errors, Extent, Showing, below, headline},
    plain::{one_line, printable},
    slices, sums, verdict,
    words::{
        self, NO_RECORDING, contradiction, cut, failure, kind, reason, repeats, score_text, time,
        unrecorded, with_cause,
    },
};

/// Maximum number of rows, and of bytes: GitHub and GitLab refuse comments of more than 65,536 characters.
const ROWS: usize = 500;
const ALL_BYTES: usize = 64_000;

/// Number of further cases of each change in Markdown, which has a limited length.
const FOLDED: usize = 100;

/// Number of conversations above which those that passed are counted and have no rows.
const FEW: usize = 20;

/// Maximum number of evaluators with a line about how much they vary.
const NOISE: usize = 20;

/// Maximum number of shown characters of the reason of a failure.
const REASON: usize = 400;

/// Maximum number of shown bytes of an error below its first line, and of all errors together.
const DETAIL_BYTES: usize = 1500;
const ALL_DETAIL_BYTES: usize = 15_000;

/// Writes the report as Markdown.
pub(crate) fn markdown(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(printable(&text(report)?).as_bytes())
}

/// Formats the report; its length is bounded.
fn text(report: &Report) -> io::Result<String> {
    let mut text = format!("### {}\n", escaped(&verdict::sentence(report)));
    let remarks = remarks(report)?;
    if !remarks.is_empty() {
        text.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(text, "- {}", escaped(&remark));
    }
    if report.tally().total() == 0 {
        return Ok(text);
    }
    evaluators(&mut text, report)?;
    if let Some(comparison) = &report.comparison {
        let section = section_markdown(comparison);
        match text.len() + section.len() <= ALL_BYTES / 2 {
            true => text.push_str(&section),
            false => text.push_str("\nThe comparison is too long for this form of the report.\n"),
        }
    }
    let (rows, mut more) = rows(report)?;
    if rows.is_empty() {
        return Ok(text);
    }
    text.push_str("\n| | Conversation | Metric | Score | Time | |\n|---|---|---|---:|---:|---|\n");
    let mut room = ALL_DETAIL_BYTES;
    for (shown, row) in rows.iter().enumerate() {
        let end = text.len();
        write_row(&mut text, row, &mut room);
        if text.len() > ALL_BYTES {
            text.truncate(end);
            more += rows.len() - shown;
            break;
        }
    }
    if more > 0 {
        let _ = writeln!(text, "\n... and {more} more.");
    }
    if let Some(command) = words::repro(report)? {
        let _ = writeln!(text, "\nRun the worst one again: `{command}`");
    }
    Ok(text)
}

/// Returns what a report says about its comparison with a baseline. Cases beyond the first ones of each change are folded.
fn section_markdown(comparison: &Comparison) -> String {
    let mut text = format!("\n#### Compared with {}\n\n", escaped(&one_line(&comparison.base)));
    for sentence in differing(comparison) {
        let _ = writeln!(text, "- {}", escaped(&sentence));
    }
    for evaluator in &comparison.evaluators {
        let name = &evaluator.name;
        let _ = writeln!(text, "- {}", escaped(&format!("{name}: {}", difference(evaluator))));
        for claim in &evaluator.claims {
            let _ = writeln!(text, "  - {}", escaped(&claim.to_string()));
        }
    }
    for evaluator in comparison.missing_evaluators() {
        let _ = writeln!(text, "- {}", escaped(&missing(evaluator)));
    }
    sliced_comparison(&mut text, comparison);
    for evaluator in &comparison.evaluators {
        for (_, title, cases) in changes(evaluator).filter(|(change, ..)| is_shown(*change)) {
            let _ = writeln!(text, "\n{}:\n", escaped(&format!("{}: {title}", evaluator.name)));
            let list = |text: &mut String, cases: &[&CaseChange]| {
                for case in cases {
                    let _ = writeln!(text, "- {}", escaped(&scores(case)));
                }
            };
            let (first, rest) = cases.split_at(cases.len().min(NAMED));
            list(&mut text, first);
            if !rest.is_empty() {
                let _ = writeln!(text, "\n<details><summary>{} more</summary>\n", rest.len());
                list(&mut text, &rest[..rest.len().min(FOLDED)]);
                if rest.len() > FOLDED {
                    let _ = writeln!(text, "\n... and {} more.", rest.len() - FOLDED);
                }
                text.push_str("\n</details>\n");
            }
        }
    }
    text
}

/// Appends a row per evaluator, if there are several conversations.
fn evaluators(text: &mut String, report: &Report) -> io::Result<()> {
    if report.conversations.len() < 2 {
        return Ok(());
    }
    let _ = writeln!(text, "\n| {} |", sums::COLUMNS.join(" | "));
    text.push_str("|---|---:|---:|---:|---|---|---:|---:|\n");
    let evaluators = report.evaluators(Gate::CONFIDENCE)?;
    for (shown, row) in evaluators.iter().map(sums::row).enumerate() {
        if text.len() > ALL_BYTES / 2 {
            let _ = writeln!(text, "\n... and {} more evaluators.", evaluators.len() - shown);
            break;
        }
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for line in
        sums::corrections(&evaluators).into_iter().chain(sums::clusters(report, &evaluators)?)
    {
        let _ = writeln!(text, "\n{}", escaped(&line));
    }
    let noise = report.noise()?;
    if !noise.is_empty() {
        text.push('\n');
    }
    for noise in noise.iter().take(NOISE) {
        let _ = writeln!(text, "- {}", escaped(&noise.to_string()));
    }
    if text.len() < ALL_BYTES / 2 {
        sliced(text, report)?;
    }
    Ok(())
}

/// Appends a table for each attribute by which the report is sliced.
fn sliced(text: &mut String, report: &Report) -> io::Result<()> {
    for table in slices::of_report(report)? {
        write_table(text, &table, "|---|---|---:|---:|---:|---|---:|---:|---|");
    }
    Ok(())
}

/// Appends a table for each attribute by which two runs are compared.
pub(super) fn sliced_comparison(text: &mut String, comparison: &Comparison) {
    for table in slices::of_comparison(comparison) {
        write_table(text, &table, "|---|---|---:|---:|---:|---|---:|---:|---:|---|");
    }
}

fn write_table<const N: usize>(text: &mut String, table: &slices::Table<N>, alignment: &str) {
    let row = |cells: &[String; N]| {
        let cells = cells.each_ref().map(|cell| escaped(cell));
        format!("| {} |\n", cells.join(" | "))
    };
    let _ = write!(text, "\n{}{alignment}\n", row(&table.header));
    table.rows.iter().for_each(|cells| text.push_str(&row(cells)));
    for remark in &table.remarks {
        let _ = writeln!(text, "\n{}", escaped(remark));
    }
}

/// Returns the errors and warnings outside of any evaluation.
fn remarks(report: &Report) -> io::Result<Vec<String>> {
    let mut remarks: Vec<String> =
        report.errors_with_causes().map(|(error, cause)| with_cause(error, cause)).collect();
    remarks.extend(verdict::grouping(report).map(|grouping| grouping.to_string()));
    let missing = report.missing_scores().into_iter();
    remarks.extend(missing.map(|missing| format!("{}: {missing}", missing.scores.name)));
    remarks.extend(report.warnings.iter().map(|warning| format!("warning: {warning}")));
    remarks.extend(unrecorded(report).iter().map(|case| format!("{NO_RECORDING}: {case}")));
    let contradictions = report.contradictions()?;
    remarks
        .extend(contradictions.iter().map(|it| format!("warning: {}", contradiction(report, it))));
    Ok(remarks)
}

fn write_row(text: &mut String, row: &Row, room: &mut usize) {
    let Row { trace_id, trace_file, case, evaluation, extent } = row;
    let score = evaluation
        .shown_score()
        .map_or_else(String::new, |score| score_text(score, evaluation.threshold));
    let score = repeats(evaluation).map_or(score.clone(), |it| format!("{score} ({it})"));
    let (icon, remark) = match evaluation.outcome() {
        EvaluationOutcome::NotRun => ("⏹", headline(evaluation)),
        EvaluationOutcome::Error => ("💥", headline(evaluation)),
        EvaluationOutcome::Failed => ("❌", cut(&failure(evaluation), REASON).into_owned()),
        EvaluationOutcome::NotEvaluated => ("➖", reason(evaluation).into_owned()),
        _ => ("✅", String::new()),
    };
    let label = match evaluation.outcome() {
        EvaluationOutcome::Error => format!("`{}`: ", kind(evaluation)),
        _ => String::new(),
    };
    let more = match evaluation.was_run() {
        true => folded(&below(evaluation).join("\n"), room),
        false => String::new(),
    };
    let code = |text: &str| format!("`{}`", one_line(text).replace(['`', '|'], "_"));
    let mut conversation = code(trace_id);
    // Text is limited, and files of passed evaluations do not have to be opened.
    if let Some(file) = trace_file.as_deref().filter(|_| !remark.is_empty()) {
        let _ = write!(conversation, " in {}", code(file));
    }
    if let Some((noun, case)) = case.as_ref().filter(|_| !remark.is_empty()) {
        let _ = write!(conversation, " ({noun} {})", code(case));
    }
    if let Some(extent) = extent.filter(|extent| extent.count > 1) {
        conversation = format!("{extent}, first {conversation}");
    }
    let _ = writeln!(
        text,
        "| {icon} | {conversation} | {} | {score} | {} | {label}{}{more} |",
        escaped(&evaluation.name),
        time(evaluation),
        cell(&remark)
    );
}

/// Escapes text of several lines for a cell of a table.
pub(super) fn cell(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("<br>")
}

/// A row of the table.
struct Row {
    /// The conversation, or the first of several.
    trace_id: Arc<str>,
    trace_file: Option<Arc<str>>,
    /// Kind and id of its case, if it is not a case of its own.
    case: Option<(&'static str, Arc<str>)>,
    evaluation: EvaluationReport,
    /// Conversations that have this error.
    extent: Option<Extent>,
}

/// Returns the rows of the table, and the number of rows that are left out. Errors and failures come first, then the order of
/// the run; equal errors are one row.
fn rows(report: &Report) -> io::Result<(Vec<Row>, usize)> {
    let mut rows: [Vec<Row>; RANKS] = Default::default();
    let mut broken = Errors::of(report)?;
    let is_short = report.conversations.len() <= FEW;
    let mut more = 0;
    for conversation in report.conversations.iter().without_performance() {
        let conversation = conversation?;
        let case = words::case(&conversation).map(|(noun, id)| (noun, Arc::clone(id)));
        for evaluation in conversation.evaluations {
            let extent = match broken.showing(&evaluation) {
                Some(Showing::Again) => continue,
                Some(Showing::First(extent)) => Some(extent),
                None => None,
            };
            if !is_short && evaluation.outcome() == EvaluationOutcome::Passed {
                continue;
            }
            let trace_id = Arc::clone(&conversation.trace_id);
            let trace_file = conversation.trace_file.clone();
            let case = case.clone();
            let row = Row { trace_id, trace_file, case, evaluation, extent };
            rows[rank(&row.evaluation)].push(row);
            if rows.iter().map(Vec::len).sum::<usize>() > ROWS {
                rows.iter_mut().rev().find_map(Vec::pop);
                more += 1;
            }
        }
    }
    Ok((rows.into_iter().flatten().collect(), more))
}

/// Formats the lines of an error below its headline, to be folded in its cell. Reduces `room` by their size.
fn folded(error: &str, room: &mut usize) -> String {
    let most = DETAIL_BYTES.min(*room);
    let start = error.len().saturating_sub(most);
    let start = (start..error.len()).find(|index| error.is_char_boundary(*index));
    let Some(shown) = start.map(|start| &error[start..]) else { return String::new() };
    *room -= shown.len().min(*room);
    let cut = if shown.len() < error.len() { "...<br>" } else { "" };
    let lines: Vec<String> = shown.lines().map(escaped).collect();
    format!("<details><summary>more</summary>{cut}{}</details>", lines.join("<br>"))
}

/// Number of ranks.
const RANKS: usize = 5;

/// Returns the position of an evaluation's outcome in the order of the rows.
fn rank(evaluation: &EvaluationReport) -> usize {
    match evaluation.outcome() {
        EvaluationOutcome::Error => 0,
        EvaluationOutcome::Failed => 1,
        EvaluationOutcome::NotEvaluated => 2,
        EvaluationOutcome::NotRun => 4,
        _ => 3,
    }
}

/// Character without a width, as an entity.
const BREAK: &str = "&#8203;";

/// Beginnings of text that Markdown makes a link.
const LINKS: [&str; 4] = ["://", "www.", "mailto:", "xmpp:"];

/// Escapes text for a cell of a table. Nothing in it is a link or a mention: those of an agent's text would lead readers
/// elsewhere, and call people.
pub(super) fn escaped(text: &str) -> String {
    let text = one_line(text);
    let mut escaped = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => {
                escaped.extend(['\\', character])
            }
            _ => escaped.push(character),
        }
        let rest = &text[at..];
        let follows = rest[character.len_utf8()..].chars().next();
        let is_name = match character {
            '@' => follows.is_some_and(char::is_alphanumeric),
            '#' => follows.is_some_and(|next| next.is_ascii_digit()),
            _ => false,
        };
        // Behind its first character, a break ends a beginning.
        let is_link = LINKS.iter().any(|link| {
            rest.get(..link.len()).is_some_and(|start| start.eq_ignore_ascii_case(link))
        });
        if is_name || is_link {
            escaped.push_str(BREAK);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use evaluator_host::{report::ConversationReport, verdict::Status};

    use super::*;

    #[test]
    fn nothing_of_a_text_is_a_link_or_a_mention() {
        for (text, expected) in [
            ("ask @octocat, a@b.example", "ask @&#8203;octocat, a@&#8203;b.example"),
            ("see octo/repo#12", "see octo/repo\\#&#8203;12"),
            ("https://evil.example", "https:&#8203;//evil.example"),
            ("at FTP://a WWW.evil.example", "at FTP:&#8203;//a W&#8203;WW.evil.example"),
            ("mailto:a xmpp:b", "m&#8203;ailto:a x&#8203;mpp:b"),
            ("3 @ 5, # 1: a://", "3 @ 5, \\# 1: a:&#8203;//"),
            ("@é <b>", "@&#8203;é &lt;b>"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn errors_and_failures_are_shown_first_in_the_order_of_the_run() {
        let conversations = (0..2000).map(|number| {
            let mut evaluation = EvaluationReport::new("check");
            evaluation.threshold = Some(0.5);
            // Many that passed come first, and then some that need attention.
            evaluation.status = if number % 3 == 2 { Status::Failed } else { Status::Passed };
            if number % 100 == 99 {
                // Each is another one: equal errors would be one row.
                evaluation.error = Some(format!("broke {number}"));
                evaluation.error_type = Some("exited");
            }
            let mut conversation = ConversationReport::new(format!("t{number}").into());
            conversation.turns = 1;
            conversation.evaluations = vec![evaluation];
            conversation
        });
        let mut report = Report::default();
        report.conversations = conversations.collect();
        let of = |wanted: fn(usize) -> bool| {
            (0..2000).filter(move |number| wanted(*number)).map(|number| format!("t{number}"))
        };
        let broken: fn(usize) -> bool = |number| number % 100 == 99;
        let failed: fn(usize) -> bool = |number| number % 3 == 2 && number % 100 != 99;
        let attention = of(broken).count() + of(failed).count();
        let expected: Vec<String> = of(broken).chain(of(failed)).take(ROWS).collect();
        let left_out = attention - ROWS;
        let (rows, more) = rows(&report).unwrap();
        let shown: Vec<&str> = rows.iter().map(|row| &*row.trace_id).collect();
        assert_eq!((shown, more), (expected.iter().map(String::as_str).collect(), left_out));
        assert!(text(&report).unwrap().ends_with(&format!("\n... and {left_out} more.\n")));
    }
}
