//! Two runs compared, as text and as Markdown.

use std::fmt::Write as _;

use evaluator_host::report::{
    CaseChange, CaseChangeKind, Comparison, Estimate, EvaluatorComparison, Report, Verdict,
    run_file::Differences,
};

use super::{markdown::escaped, plain::one_line, verdict::last_line, words::counted};
use crate::exit;

/// Number of cases of each change that are named.
const NAMED: usize = 10;

/// Number of further cases of each change in Markdown, which has a limited length.
const FOLDED: usize = 100;

/// Writes what two runs measured differently although they are compared to stderr.
pub(crate) fn differences(differences: &Differences) {
    differences.said.iter().for_each(|change| super::note(&change.to_string()));
    differences.allowed.iter().for_each(|change| super::warning(&change.to_string()));
}

/// Returns a block per evaluator.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    for difference in &comparison.differences {
        let _ = writeln!(text, "differs: {}", one_line(difference));
    }
    for evaluator in &comparison.evaluators {
        let _ = writeln!(text, "{}: {}", one_line(&evaluator.name), difference(evaluator));
        for claim in &evaluator.claims {
            let _ = writeln!(text, "  {} {}", mark(claim.verdict), one_line(&claim.to_string()));
        }
        for (_, title, cases) in changes(evaluator) {
            let _ = writeln!(text, "  {title}: {}", named(&cases));
        }
        if evaluator.unchanged > 0 {
            let _ = writeln!(text, "  {} unchanged", counted(evaluator.unchanged, "case"));
        }
        text.push('\n');
    }
    for (names, run) in [(&comparison.only_in_base, "base"), (&comparison.only_in_new, "new run")] {
        if !names.is_empty() {
            let names = one_line(&names.join(", ")).into_owned();
            let _ = writeln!(text, "only in the {run}: {names}");
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// Returns what a report says about its comparison with a baseline: what differs, and per evaluator the means, the claims, and
/// the cases that changed for worse, or from failed to passed. Empty without a comparison.
pub(super) fn section(report: &Report) -> String {
    let Some(comparison) = &report.comparison else { return String::new() };
    let mut text = format!("Compared with {}:\n", one_line(&comparison.base));
    for difference in &comparison.differences {
        let _ = writeln!(text, "  differs: {}", one_line(difference));
    }
    for evaluator in &comparison.evaluators {
        let _ = writeln!(text, "  {}: {}", one_line(&evaluator.name), difference(evaluator));
        for claim in &evaluator.claims {
            let _ = writeln!(text, "    {} {}", mark(claim.verdict), one_line(&claim.to_string()));
        }
        for (_, title, cases) in changes(evaluator).filter(|(change, ..)| is_shown(*change)) {
            let _ = writeln!(text, "    {title}: {}", named(&cases));
        }
    }
    text + "\n"
}

/// Returns the same in Markdown. Cases beyond the first ones of each change are folded.
pub(super) fn section_markdown(comparison: &Comparison) -> String {
    let mut text = format!("\n#### Compared with {}\n\n", escaped(&one_line(&comparison.base)));
    for difference in &comparison.differences {
        let _ = writeln!(text, "- differs: {}", escaped(difference));
    }
    for evaluator in &comparison.evaluators {
        let name = &evaluator.name;
        let _ = writeln!(text, "- {}", escaped(&format!("{name}: {}", difference(evaluator))));
        for claim in &evaluator.claims {
            let _ = writeln!(text, "  - {}", escaped(&claim.to_string()));
        }
    }
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

/// Returns true for changes whose cases a report names: the others are counted in its last line.
fn is_shown(change: CaseChangeKind) -> bool {
    use CaseChangeKind::{Broke, Fixed, Flaky, Missing, Regressed};
    matches!(change, Regressed | Broke | Flaky | Missing | Fixed)
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "[PASS]",
        Verdict::Fail => "[FAIL]",
        Verdict::Inconclusive => "[----]",
    }
}

fn named(cases: &[&CaseChange]) -> String {
    let cases = cases.iter().take(NAMED).map(|case| one_line(&scores(case)).into_owned());
    cases.collect::<Vec<_>>().join(", ")
}

/// Returns a table of evaluators, then the cases that changed.
pub(crate) fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = format!("### {}\n\n", escaped(&sentence(comparison)));
    for difference in &comparison.differences {
        let _ = writeln!(text, "- differs: {}", escaped(difference));
    }
    text.push_str("\n| Evaluator | Cases | Base | New | Difference | p | Claims |\n");
    text.push_str("|---|---:|---:|---:|---|---:|---|\n");
    for evaluator in &comparison.evaluators {
        let score = |score: Option<f64>| score.map_or_else(String::new, |it| format!("{it:.4}"));
        let cells = [
            evaluator.name.clone(),
            evaluator.difference.map_or(0, |it| it.n).to_string(),
            score(evaluator.base),
            score(evaluator.new),
            evaluator.difference.as_ref().map_or_else(String::new, interval),
            evaluator.p.map_or_else(String::new, |p| format!("{p:.3}")),
            evaluator.claims.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        ];
        let _ = writeln!(text, "| {} |", cells.map(|cell| escaped(&cell)).join(" | "));
    }
    for evaluator in &comparison.evaluators {
        for (_, title, cases) in changes(evaluator) {
            let title = escaped(&format!("{}: {title}", evaluator.name));
            let _ = writeln!(text, "\n<details><summary>{title}</summary>\n");
            for case in cases.iter().take(NAMED) {
                let _ = writeln!(text, "- {}", escaped(&scores(case)));
            }
            text.push_str("\n</details>\n");
        }
    }
    text
}

/// Writes the last line of a comparison to stderr. `is_broken` says that something broke in one of the runs.
pub(crate) fn comparison_verdict(comparison: &Comparison, is_broken: bool, code: u8) {
    let counts = CaseChangeKind::ALL.iter().map(|change| {
        let all = comparison.evaluators.iter().flat_map(|it| &it.changes);
        (change.as_str().to_owned(), all.filter(|it| it.change == *change).count().into())
    });
    let text = match code {
        exit::ERRORED if is_broken => {
            format!("ERROR: something broke in a run that is compared; {}", sentence(comparison))
        }
        exit::ERRORED => "ERROR: the comparison could not be written".to_owned(),
        _ => sentence(comparison),
    };
    last_line(&text, code, serde_json::Value::Object(counts.collect()));
}

/// Returns the outcome in a word, and what it rests on.
fn sentence(comparison: &Comparison) -> String {
    let word = match comparison.verdict() {
        Verdict::Pass => "PASSED",
        Verdict::Fail => "FAILED",
        Verdict::Inconclusive => "INCONCLUSIVE",
    };
    let parts = match comparison.claims().next() {
        Some(_) => parts(comparison),
        None => {
            format!("compared; nothing is asked of the new run; {}", parts(comparison))
        }
    };
    format!("{word}: {parts}")
}

/// Returns what the comparison of a run with its baseline shows, for the last line of the run.
pub(super) fn compared(comparison: &Comparison) -> String {
    format!("against {}: {}", one_line(&comparison.base), parts(comparison))
}

/// Returns which claims do not pass, and how many cases changed.
fn parts(comparison: &Comparison) -> String {
    let named = |verdict| -> Vec<String> {
        let of_it = comparison.claims().filter(|(_, claim)| claim.verdict == verdict);
        of_it.map(|(evaluator, claim)| format!("{evaluator}: {}", claim.claim)).collect()
    };
    let (failed, open) = (named(Verdict::Fail), named(Verdict::Inconclusive));
    let mut parts = Vec::new();
    for (names, what) in [(failed, "fails"), (open, "undecided")] {
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
            (count > 0).then(|| format!("{count} {}", change.as_str()))
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
fn difference(evaluator: &EvaluatorComparison) -> String {
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

fn interval(Estimate { mean, interval, .. }: &Estimate) -> String {
    format!("{mean:+.4} ({:+.4} to {:+.4})", interval.lower, interval.upper)
}

/// Returns the cases by change, the worst change first, each with its title.
fn changes(
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
        Some((*change, format!("{} {}{more}", cases.len(), change.as_str()), cases))
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
