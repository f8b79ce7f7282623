//! What changed between two runs, as text for several forms of reports and comparisons.

use std::fmt::Write as _;

use evaluator_host::report::{
    CaseChange, CaseChangeKind, Comparison, Estimate, EvaluatorComparison, GateVerdict, Report,
};

use super::{plain::one_line, words::counted};

/// Number of cases of each change that are named.
pub(super) const NAMED: usize = 10;

/// Claim that is undecided as long as a run lacks an evaluator of its baseline.
pub(super) const IS_THERE: &str = "evaluator is in both runs";

/// Returns what differs between the runs, and whether the recordings are the same.
pub(super) fn differing(comparison: &Comparison) -> impl Iterator<Item = String> {
    let sentence = match comparison.differences.is_empty() {
        true => "the recordings are the same, and no change of an evaluator is known",
        false => "the recordings are the same: what differs is how they were evaluated",
    };
    let differences = comparison.differences.iter().map(|it| format!("differs: {it}"));
    differences.chain(comparison.same_recordings.then(|| sentence.to_owned()))
}

/// Returns what a report says about an evaluator that only the baseline has.
pub(super) fn missing(evaluator: &str) -> String {
    format!(
        "{evaluator}: only in the baseline, which leaves the claims undecided (--allow-missing)"
    )
}

/// Returns what a report says about its comparison with a baseline: what differs, and per evaluator the means, the claims, and
/// the cases that changed for worse, or from failed to passed. Empty without a comparison.
pub(super) fn section(report: &Report) -> String {
    let Some(comparison) = &report.comparison else { return String::new() };
    let mut text = format!("Compared with {}:\n", one_line(&comparison.base));
    for sentence in differing(comparison) {
        let _ = writeln!(text, "  {}", one_line(&sentence));
    }
    for evaluator in &comparison.evaluators {
        for row in rows(evaluator, is_shown) {
            let _ = writeln!(text, "  {row}");
        }
    }
    for evaluator in comparison.missing_evaluators() {
        let mark = mark(GateVerdict::Inconclusive);
        let _ = writeln!(text, "  {mark} {}", one_line(&missing(evaluator)));
    }
    text + "\n"
}

/// Returns the means of an evaluator, its claims, and the cases that changed in a way that is shown, a row each.
pub(super) fn rows(
    evaluator: &EvaluatorComparison,
    is_shown: impl Fn(CaseChangeKind) -> bool,
) -> Vec<String> {
    let mut rows = vec![format!("{}: {}", one_line(&evaluator.name), difference(evaluator))];
    rows.extend(
        evaluator
            .claims
            .iter()
            .map(|claim| format!("  {} {}", mark(claim.verdict), one_line(&claim.to_string()))),
    );
    let shown = changes(evaluator).filter(|(change, ..)| is_shown(*change));
    rows.extend(shown.map(|(_, title, cases)| format!("  {title}: {}", named(&cases))));
    rows
}

/// Returns true for changes whose cases a report names: the others are counted in its last line.
pub(super) fn is_shown(change: CaseChangeKind) -> bool {
    use CaseChangeKind::{Broke, Fixed, Flaky, Missing, Regressed};
    matches!(change, Regressed | Broke | Flaky | Missing | Fixed)
}

pub(super) fn mark(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Pass => "[PASS]",
        GateVerdict::Fail => "[FAIL]",
        GateVerdict::Inconclusive => "[----]",
    }
}

/// Returns the outcome of a whole comparison in a word.
pub(super) fn word(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Pass => "PASSED",
        GateVerdict::Fail => "FAILED",
        GateVerdict::Inconclusive => "INCONCLUSIVE",
    }
}

pub(super) fn named(cases: &[&CaseChange]) -> String {
    let cases = cases.iter().take(NAMED).map(|case| one_line(&scores(case)).into_owned());
    cases.collect::<Vec<_>>().join(", ")
}

/// Returns what the comparison of a run with its baseline shows, for the last line of the run.
pub(super) fn compared(comparison: &Comparison) -> String {
    format!("against {}: {}", one_line(&comparison.base), parts(comparison))
}

/// Returns which claims do not pass, and how many cases changed.
pub(super) fn parts(comparison: &Comparison) -> String {
    let named = |verdict| -> Vec<String> {
        let of_it = comparison.claims().filter(|(_, claim)| claim.verdict == verdict);
        of_it.map(|(evaluator, claim)| format!("{evaluator}: {}", claim.claim)).collect()
    };
    let (failed, open) = (named(GateVerdict::Fail), named(GateVerdict::Inconclusive));
    let mut parts = Vec::new();
    let fails = if failed.len() == 1 { "fails" } else { "fail" };
    for (names, what) in [(failed, fails), (open, "undecided")] {
        if !names.is_empty() {
            let count = counted(names.len() as u64, "claim");
            parts.push(format!("{count} {what} ({})", names.join(", ")));
        }
    }
    let total: Vec<String> = CaseChangeKind::ALL
        .iter()
        .filter_map(|change| {
            let all = comparison.evaluators.iter().flat_map(|it| &it.changes);
            let count = all.filter(|it| it.change == *change).count();
            (count > 0).then(|| format!("{count} {change}"))
        })
        .collect();
    let missing = comparison.missing_evaluators();
    if !missing.is_empty() {
        parts.push(format!("only in the base: {} (--allow-missing)", missing.join(", ")));
    }
    parts.push(if total.is_empty() { "no case changed".to_owned() } else { total.join(", ") });
    one_line(&parts.join("; ")).into_owned()
}

/// Returns the means, their difference, and what it shows.
pub(super) fn difference(evaluator: &EvaluatorComparison) -> String {
    let (Some(base), Some(new), Some(estimate)) =
        (evaluator.base, evaluator.new, &evaluator.difference)
    else {
        return "no case has a score in both runs".to_owned();
    };
    let cases = counted(estimate.n as u64, "case");
    let mut text = format!("{base:.4} -> {new:.4}, {} over {cases}", interval(estimate));
    if let Some(p) = evaluator.p {
        let _ = write!(text, ", p = {p:.3}");
    }
    if let Some(detectable) = evaluator.detectable {
        let _ = write!(
            text,
            "; a difference of {detectable:.3} would have been found with a chance of 80 %"
        );
    }
    text
}

pub(super) fn interval(Estimate { mean, interval, .. }: &Estimate) -> String {
    format!("{mean:+.4} ({:+.4} to {:+.4})", interval.lower, interval.upper)
}

/// Returns the cases by change, the worst change first, each with its title.
pub(super) fn changes(
    evaluator: &EvaluatorComparison,
) -> impl Iterator<Item = (CaseChangeKind, String, Vec<&CaseChange>)> {
    CaseChangeKind::ALL.iter().filter_map(|change| {
        let mut cases: Vec<&CaseChange> =
            evaluator.changes.iter().filter(|it| it.change == *change).collect();
        let moved = |it: &CaseChange| match (it.base, it.new) {
            (Some(base), Some(new)) => (new - base).abs(),
            _ => 1.0,
        };
        cases.sort_by(|one, other| moved(other).total_cmp(&moved(one)));
        let more = match cases.len() {
            0 => return None,
            count if count > NAMED => format!(", {NAMED} of them"),
            _ => String::new(),
        };
        Some((*change, format!("{} {change}{more}", cases.len()), cases))
    })
}

pub(super) fn scores(change: &CaseChange) -> String {
    let score =
        |score: Option<f64>| score.map_or_else(|| "none".to_owned(), |it| format!("{it:.4}"));
    match change.change {
        CaseChangeKind::New => format!("{} ({})", change.case, score(change.new)),
        CaseChangeKind::Missing => format!("{} ({})", change.case, score(change.base)),
        _ => format!("{} ({} -> {})", change.case, score(change.base), score(change.new)),
    }
}
