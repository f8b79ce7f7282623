//! Evaluators that were tried on damaged conversations, as text.

use std::fmt::Write as _;

use evaluator_mutation::{Counts, EvaluatorReport, Rate, Shown};
use serde_json::json;

use super::{Columns, plain::one_line, verdict::last_line, words::counted};
use crate::exit;

/// Maximum number of survivors, violations and errors that are shown of an evaluator.
const SHOWN: usize = 10;

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
    let passed = counted(undamaged.passed as u64, "conversation");
    let _ = writeln!(text, "{} ({kind}): passes {passed}", one_line(&report.evaluator));
    if let Some(refusal) = &report.refusal {
        let _ = writeln!(text, "  {}", one_line(refusal));
        return;
    }
    if !undamaged.unstable.is_empty() {
        let _ = writeln!(text, "  unstable: {}", one_line(&undamaged.unstable.join(", ")));
    }
    let mut table = Columns::new([
        "Operator", "Has to", "Mutants", "Killed", "Noticed", "Survived", "Allowed", "False alarms",
        "Broke", "Not applicable", "Kill rate",
    ]);
    for operator in &report.operators {
        let not_applicable = operator.not_applicable.to_string();
        let expected = operator.expect.to_string();
        table.row(cells(operator.operator, expected, &operator.counts, not_applicable));
    }
    table.row(cells("all", String::new(), &report.counts, String::new()));
    table.fit(width);
    text.push_str(&table.to_text());
    if !report.relations.is_empty() {
        let all: usize = report.relations.iter().map(|it| it.checked).sum();
        let violated = report.relations.iter().filter(|it| it.violations > 0);
        let violated: Vec<String> = violated
            .map(|it| format!("{} violated in {} of {}", it.relation, it.violations, it.checked))
            .collect();
        let outcome = if violated.is_empty() { "all hold".to_owned() } else { violated.join(", ") };
        let _ = writeln!(text, "Relations: {} compared, {outcome}", counted(all as u64, "score"));
    }
    for (title, all) in [
        ("Survived, the smallest difference first", &report.survivors),
        ("Violated", &report.violated),
        ("Broke", &report.broken),
    ] {
        list(text, title, all);
    }
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

fn list(text: &mut String, title: &str, all: &[Shown]) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}:");
    for shown in all.iter().take(SHOWN) {
        let score = |score: Option<f64>| score.map_or("no score".to_owned(), |it| format!("{it:.3}"));
        let Shown { mutant, case, before, after, expected, .. } = shown;
        let scores = format!("{} -> {}", score(Some(*before)), score(*after));
        let _ = writeln!(text, "  {mutant} of {} ({expected}): {scores}", one_line(case));
        if let Some(error) = &shown.error {
            let _ = writeln!(text, "    {}", one_line(error));
        }
        for line in shown.diff.lines() {
            let _ = writeln!(text, "    {line}");
        }
        let _ = writeln!(text, "    {}", one_line(&shown.again));
    }
    if all.len() > SHOWN {
        let _ = writeln!(text, "  and {} more; `-o json` has all of them", all.len() - SHOWN);
    }
}

/// Writes the last line of the command.
pub(crate) fn mutation_verdict(reports: &[EvaluatorReport], min_killed: Option<f64>, code: u8) {
    let word = match code {
        exit::OK => "PASSED",
        exit::FAILED => "FAILED",
        exit::USAGE => "NOT RUN",
        _ => "ERROR",
    };
    let parts: Vec<String> = reports.iter().map(|it| part(it, min_killed)).collect();
    let sum = |number: fn(&EvaluatorReport) -> usize| reports.iter().map(number).sum::<usize>();
    let counts = json!({
        "mutants": sum(|it| it.counts.mutants),
        "killed": sum(|it| it.counts.killed),
        "survived": sum(|it| it.counts.survived),
        "violations": sum(|it| it.violations),
        "broke": sum(|it| it.counts.broke),
    });
    last_line(&format!("{word}: {}", one_line(&parts.join("; "))), code, counts);
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
        None => counted(counts.mutants as u64, "mutant"),
    }];
    for (count, noun) in [(report.violations, "violation"), (counts.broke, "error")] {
        if count > 0 {
            parts.push(counted(count as u64, noun));
        }
    }
    format!("{name}: {}", parts.join(", "))
}
