//! Sums of evaluators, as rows of tables.

use std::io;

use evaluator_host::report::{Estimate, EvaluatorSums, Gate, GateResult, Interval, Report};

use super::{plain::one_line, words::counted};

/// Columns of the table of evaluators.
pub(super) const COLUMNS: [&str; 8] =
    ["Evaluator", "Cases", "Passed", "Mean", "95 % interval", "Gate", "Not evaluated", "Errors"];

/// Returns the row of an evaluator.
pub(super) fn row(sums: &EvaluatorSums) -> [String; 8] {
    let count = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    let (rate, mean) = (&sums.pass_rate, &sums.mean);
    [
        one_line(&sums.name).into_owned(),
        sums.cases.to_string(),
        rate.as_ref().map_or_else(String::new, |rate| percentage(rate.mean)),
        mean.as_ref().map_or_else(String::new, |mean| format!("{:.4}", mean.mean)),
        mean.as_ref().map_or_else(String::new, interval),
        sums.gates.iter().map(gate).collect::<Vec<_>>().join(", "),
        count(sums.tally.not_evaluated),
        count(sums.tally.errored),
    ]
}

/// Returns what clusters leave of the cases of each evaluator, and how they were joined; nothing without clusters.
pub(super) fn clusters(report: &Report, evaluators: &[EvaluatorSums]) -> io::Result<Vec<String>> {
    let clustered = evaluators.iter().filter_map(|sums| Some((sums, sums.clustering?)));
    let mut lines: Vec<String> =
        clustered.map(|(sums, effect)| format!("{}: {effect}", one_line(&sums.name))).collect();
    let several = report.case_values()?.in_several_clusters();
    if several > 0 {
        let be = if several == 1 { "is" } else { "are" };
        lines.push(format!(
            "{} {be} in several clusters, which count as one",
            counted(several, "case")
        ));
    }
    Ok(lines)
}

/// Returns the pass rate of each certified evaluator, corrected for its errors, or why it is not.
pub(super) fn corrections(evaluators: &[EvaluatorSums]) -> Vec<String> {
    let correction = |sums: &EvaluatorSums| {
        let name = one_line(&sums.name);
        let raw = percentage(sums.pass_rate?.mean);
        Some(match (&sums.corrected_pass_rate, &sums.uncorrected) {
            (Some(corrected), _) => format!(
                "{name}: {raw} passed; corrected for its errors {} ({} with 95 % confidence)",
                percentage(corrected.mean),
                interval(corrected),
            ),
            (None, Some(reason)) => {
                format!("{name}: {raw} passed, not corrected for its errors: {}", one_line(reason))
            }
            (None, None) => return None,
        })
    };
    evaluators.iter().filter_map(correction).collect()
}

fn interval(estimate: &Estimate) -> String {
    // Cut off, so that no end seems to reach a limit that it does not reach.
    let cut = |number: f64| (number * 1000.0 + 1e-6).floor() / 1000.0;
    let Interval { lower, upper } = estimate.interval;
    format!("{:.3} to {:.3}", cut(lower), cut(upper))
}

/// Returns the gate with the interval that decides it, which may be of another measure or confidence than that of the row.
fn gate(result: &GateResult) -> String {
    let interval = result.estimate.as_ref().map(|it| format!(" ({})", interval(it)));
    let Gate { measure, limit, .. } = &result.gate;
    // The verdict first, since narrow terminals show the start of a cell.
    format!("{}: {measure} >= {limit}{}", result.verdict.label(), interval.unwrap_or_default())
}

/// Formats a share as a percentage that is 0 % and 100 % only for none and all.
fn percentage(share: f64) -> String {
    let percent = 100.0 * share;
    let rounded = format!("{percent:.1} %");
    match rounded.as_str() {
        "100.0 %" if share < 1.0 => "99.9 %".to_owned(),
        "0.0 %" if share > 0.0 => "0.1 %".to_owned(),
        _ => rounded,
    }
}
