//! Two runs compared, as text and as Markdown.

use std::fmt::Write as _;

use evaluator_host::report::{
    CaseChange, CaseChangeKind, Comparison, Estimate, EvaluatorComparison, Verdict,
};

use super::{markdown::escaped, plain::one_line, verdict::last_line, words::counted};
use crate::exit;

/// Number of cases of each change that are named.
const NAMED: usize = 10;

/// Returns a block per evaluator.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    for evaluator in &comparison.evaluators {
        let _ = writeln!(text, "{}: {}", one_line(&evaluator.name), difference(evaluator));
        for claim in &evaluator.claims {
            let mark = match claim.verdict {
                Verdict::Pass => "[PASS]",
                Verdict::Fail => "[FAIL]",
                Verdict::Inconclusive => "[----]",
            };
            let _ = writeln!(text, "  {mark} {claim}");
        }
        for (change, cases) in changes(evaluator) {
            let cases: Vec<String> =
                cases.iter().take(NAMED).map(|case| one_line(&scores(case)).into_owned()).collect();
            let _ = writeln!(text, "  {change}: {}", cases.join(", "));
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

/// Returns a table of evaluators, then the cases that changed.
pub(crate) fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = format!("### {}\n\n", escaped(&sentence(comparison)));
    text.push_str("| Evaluator | Cases | Base | New | Difference | p | Claims |\n");
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
        for (change, cases) in changes(evaluator) {
            let title = escaped(&format!("{}: {change}", evaluator.name));
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
    let claims = || {
        comparison.evaluators.iter().flat_map(|it| it.claims.iter().map(move |claim| (it, claim)))
    };
    let named = |verdict| {
        let of_it = claims().filter(|(_, claim)| claim.verdict == verdict);
        of_it.map(|(it, claim)| format!("{}: {}", it.name, claim.claim)).collect::<Vec<_>>()
    };
    let (failed, open) = (named(Verdict::Fail), named(Verdict::Inconclusive));
    let word = match comparison.verdict() {
        Verdict::Pass => "PASSED",
        Verdict::Fail => "FAILED",
        Verdict::Inconclusive => "INCONCLUSIVE",
    };
    let mut parts = Vec::new();
    if claims().count() == 0 {
        parts.push("compared; nothing is asked of the new run".to_owned());
    }
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
    parts.push(if total.is_empty() { "no case changed".to_owned() } else { total.join(", ") });
    one_line(&format!("{word}: {}", parts.join("; "))).into_owned()
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
fn changes(evaluator: &EvaluatorComparison) -> impl Iterator<Item = (String, Vec<&CaseChange>)> {
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
        Some((format!("{} {}{more}", cases.len(), change.as_str()), cases))
    })
}

fn scores(change: &CaseChange) -> String {
    let score =
        |score: Option<f64>| score.map_or_else(|| "none".to_owned(), |it| format!("{it:.4}"));
    match change.change {
        CaseChangeKind::New => format!("{} ({})", change.case, score(change.new)),
        CaseChangeKind::Missing => format!("{} ({})", change.case, score(change.base)),
        _ => format!("{} ({} -> {})", change.case, score(change.base), score(change.new)),
    }
}
