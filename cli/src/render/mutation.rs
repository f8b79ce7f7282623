//! Evaluators that were tried on damaged conversations, as text.

use std::{fmt::Write as _, io};

use evaluator_html::{Subject, write_result};
use evaluator_mutation::{Counts, EvaluatorReport, MutationReport, OperatorCounts, Rate, Shown};
use serde_json::json;

use super::{
    Columns, html::page, markdown::escaped, plain::one_line, verdict::last_line, words::counted,
};
use crate::exit;

/// Returns a block per evaluator.
pub(crate) fn mutation(reports: &[EvaluatorReport], width: Option<usize>) -> String {
    let mut text = String::new();
    for report in reports {
        block(&mut text, report, width);
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

fn block(text: &mut String, report: &EvaluatorReport, width: Option<usize>) {
    let undamaged = &report.conversations;
    let kind = report.kind.map_or("kind not known".to_owned(), |kind| kind.to_string());
    let passed = counted(undamaged.passed as u64, undamaged.noun);
    let _ = writeln!(text, "{} ({kind}): passes {passed}", one_line(&report.evaluator));
    if let Some(refusal) = &report.refusal {
        let _ = writeln!(text, "  {}", one_line(refusal));
        return;
    }
    if let Some(unstable) = unstable(report) {
        let _ = writeln!(text, "  {}", one_line(&unstable));
    }
    let mut table = Columns::new(COLUMNS);
    rows(report).into_iter().for_each(|row| table.row(row));
    table.fit(width);
    text.push_str(&table.to_text());
    if let Some(sentence) = relations(report) {
        let _ = writeln!(text, "{sentence}");
    }
    for (title, all) in lists(report) {
        list(text, title, all);
    }
}

/// Names the conversations whose score changes without damage, if there are any.
fn unstable(report: &EvaluatorReport) -> Option<String> {
    let unstable = &report.conversations.unstable;
    (!unstable.is_empty()).then(|| format!("unstable: {}", unstable.join(", ")))
}

/// Columns of the table of operators.
const COLUMNS: [&str; 11] = [
    "Operator",
    "Has to",
    "Mutants",
    "Killed",
    "Noticed",
    "Survived",
    "Allowed",
    "False alarms",
    "Broke",
    "Not applicable",
    "Kill rate",
];

/// Returns the rows of the operators, and of all together.
fn rows(report: &EvaluatorReport) -> Vec<[String; 11]> {
    let row = |it: &OperatorCounts| {
        cells(it.operator, it.expect.to_string(), &it.counts, it.not_applicable.to_string())
    };
    let mut rows: Vec<_> = report.operators.iter().map(row).collect();
    rows.push(cells("all", String::new(), &report.counts, String::new()));
    rows
}

/// Returns a sentence about relations, if there are any.
fn relations(report: &EvaluatorReport) -> Option<String> {
    let all: usize = report.relations.iter().map(|it| it.checked).sum();
    let violated = report.relations.iter().filter(|it| it.violations > 0);
    let violated: Vec<String> = violated
        .map(|it| format!("{} violated in {} of {}", it.relation, it.violations, it.checked))
        .collect();
    let broke = report.relations.iter().filter(|it| it.broke > 0);
    let broke: Vec<String> = broke
        .map(|it| format!("{} broke in {} of {}", it.relation, it.broke, it.broke + it.checked))
        .collect();
    let outcomes = [violated, broke].concat();
    let outcome = if outcomes.is_empty() { "all hold".to_owned() } else { outcomes.join(", ") };
    let sentence = || format!("Relations: {} compared, {outcome}", counted(all as u64, "score"));
    (all > 0 || !outcomes.is_empty()).then(sentence)
}

/// Returns the lists of damage that is shown, with their titles.
fn lists(report: &EvaluatorReport) -> [(&'static str, &[Shown]); 3] {
    [
        ("Not killed, the smallest difference first", &report.survivors),
        ("Violated", &report.violated),
        ("Broke", &report.broken),
    ]
}

/// Returns a section per evaluator, for pages that render Markdown.
pub(crate) fn mutation_markdown(report: &MutationReport) -> String {
    let mut text = String::new();
    let min_killed = report.min_killed;
    for report in &report.evaluators {
        let _ = writeln!(text, "### {}\n", escaped(&part(report, min_killed)));
        if report.refusal.is_some() {
            continue;
        }
        if let Some(unstable) = unstable(report) {
            let _ = writeln!(text, "{}\n", escaped(&unstable));
        }
        let _ = writeln!(text, "| {} |", COLUMNS.join(" | "));
        let _ = writeln!(text, "|---|---|{}---|", "---:|".repeat(COLUMNS.len() - 3));
        for row in rows(report) {
            let _ = writeln!(text, "| {} |", row.map(|cell| escaped(&cell)).join(" | "));
        }
        if let Some(sentence) = relations(report) {
            let _ = writeln!(text, "\n{}", escaped(&sentence));
        }
        for (title, all) in lists(report).into_iter().filter(|(_, all)| !all.is_empty()) {
            let summary = format!("{title} ({})", all.len());
            let _ = writeln!(text, "\n<details><summary>{}</summary>\n", escaped(&summary));
            for (shown, others) in firsts(all) {
                let more = if others > 0 { format!("; and {others} more") } else { String::new() };
                let Shown { mutant, case, expected, .. } = shown;
                let line = format!("{mutant} of {case} ({expected}): {}{more}", scores(shown));
                let _ = writeln!(text, "- {}", escaped(&one_line(&line)));
                if let Some(error) = &shown.error {
                    let _ = writeln!(text, "  {}", escaped(&one_line(error)));
                }
                // A line of what an agent wrote cannot end the block: each begins with four blanks.
                text.push('\n');
                for line in shown.diff.lines().chain([""]).chain(shown.again.lines()) {
                    let _ = writeln!(text, "      {line}");
                }
                text.push('\n');
            }
            text.push_str("</details>\n");
        }
        text.push('\n');
    }
    text
}

fn cells(name: &str, expected: String, counts: &Counts, not_applicable: String) -> [String; 11] {
    let Counts { mutants, killed, noticed, survived, allowed, false_alarms, broke, kill_rate } =
        counts;
    let numbers = [mutants, killed, noticed, survived, allowed, false_alarms, broke];
    let [mutants, killed, noticed, survived, allowed, false_alarms, broke] =
        numbers.map(|number| if *number == 0 { String::new() } else { number.to_string() });
    let rate = kill_rate.as_ref().map(rate).unwrap_or_default();
    [
        name.to_owned(),
        expected,
        mutants,
        killed,
        noticed,
        survived,
        allowed,
        false_alarms,
        broke,
        not_applicable,
        rate,
    ]
}

/// Returns a rate with its interval.
pub(super) fn rate(rate: &Rate) -> String {
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let Rate { rate, lower, upper, .. } = rate;
    format!("{} % ({} to {})", percent(*rate), percent(*lower), percent(*upper))
}

/// Lists damage: of each operator the first one, which differs least.
fn list(text: &mut String, title: &str, all: &[Shown]) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}:");
    for (shown, others) in firsts(all) {
        let Shown { mutant, case, expected, .. } = shown;
        let scores = scores(shown);
        let more = if others > 0 { format!("; and {others} more") } else { String::new() };
        let _ = writeln!(text, "  {mutant} of {} ({expected}): {scores}{more}", one_line(case));
        if let Some(error) = &shown.error {
            let _ = writeln!(text, "    {}", one_line(error));
        }
        for line in shown.diff.lines() {
            let _ = writeln!(text, "    {line}");
        }
        let _ = writeln!(text, "    {}", one_line(&shown.again));
    }
}

/// Returns the scores before and after.
fn scores(shown: &Shown) -> String {
    let score = |score: Option<f64>| score.map_or("no score".to_owned(), |it| format!("{it:.3}"));
    format!("{} -> {}", score(Some(shown.before)), score(shown.after))
}

/// Returns the first one of each operator and expectation, with the number of the others.
fn firsts(all: &[Shown]) -> Vec<(&Shown, usize)> {
    let mut firsts: Vec<(&Shown, usize)> = Vec::new();
    let key = |shown: &Shown| {
        let (operator, _) = shown.mutant.split_once('@').unwrap_or((&shown.mutant, ""));
        (operator.to_owned(), shown.expected.clone())
    };
    for shown in all {
        match firsts.iter_mut().find(|(first, _)| key(first) == key(shown)) {
            Some((_, others)) => *others += 1,
            None => firsts.push((shown, 0)),
        }
    }
    firsts
}

/// Returns a page. `code` is the exit code of what was found.
pub(crate) fn mutation_html(report: &MutationReport, code: u8) -> io::Result<String> {
    let (word, what) = sentence(&report.evaluators, report.min_killed, code);
    page(|out| write_result(Subject::Mutation, (word, &what), report, out))
}

/// Returns the outcome in a word, and what it rests on.
fn sentence(
    reports: &[EvaluatorReport],
    min_killed: Option<f64>,
    code: u8,
) -> (&'static str, String) {
    let word = match code {
        exit::OK => "PASSED",
        exit::FAILED => "FAILED",
        exit::USAGE => "NOT RUN",
        _ => "ERROR",
    };
    let parts: Vec<String> = reports.iter().map(|it| part(it, min_killed)).collect();
    (word, one_line(&parts.join("; ")).into_owned())
}

/// Writes the last line of the command.
pub(crate) fn mutation_verdict(reports: &[EvaluatorReport], min_killed: Option<f64>, code: u8) {
    let (word, what) = sentence(reports, min_killed, code);
    let sum = |number: fn(&EvaluatorReport) -> usize| reports.iter().map(number).sum::<usize>();
    let counts = json!({
        "mutants": sum(|it| it.counts.mutants),
        "killed": sum(|it| it.counts.killed),
        "survived": sum(|it| it.counts.survived),
        "violations": sum(|it| it.violations),
        "broke": sum(|it| it.broken.len()),
    });
    last_line(&format!("{word}: {what}"), code, counts);
}

/// Returns what an evaluator came to.
fn part(report: &EvaluatorReport, min_killed: Option<f64>) -> String {
    let name = &report.evaluator;
    if let Some(refusal) = &report.refusal {
        return format!("{name}: {refusal}");
    }
    let counts = &report.counts;
    let mut parts = vec![match &counts.kill_rate {
        Some(it) => {
            let limit = min_killed.filter(|limit| it.rate < *limit);
            let limit = limit.map(|limit| format!(", and {:.0} % are required", limit * 100.0));
            format!("{} of {} killed, {}{}", it.killed, it.of, rate(it), limit.unwrap_or_default())
        }
        None if min_killed.is_some() => {
            format!("nothing has to be killed among {}", counted(counts.mutants as u64, "mutant"))
        }
        None => {
            format!("{}, none of which has to be noticed", counted(counts.mutants as u64, "mutant"))
        }
    }];
    for (count, noun) in [(report.violations, "violation"), (report.broken.len(), "error")] {
        if count > 0 {
            parts.push(counted(count as u64, noun));
        }
    }
    format!("{name}: {}", parts.join(", "))
}
