//! Evaluators against labels and against each other, as text and as Markdown.

use std::{fmt::Write as _, io};

use evaluator_host::report::{
    Agreement, Disagreement, Estimate, EvaluatorAgreement, LabelCounts, without_minus_zero,
};
use evaluator_html::{Subject, write_result};
use serde_json::{Value, json};

use super::{
    changes::{NAMED, mark, word},
    html::page,
    markdown::escaped,
    plain::one_line,
    verdict::last_line,
    words::{counted, cut},
};
use crate::exit;

/// Number of disagreements in Markdown.
const FOLDED: usize = 50;

/// Maximum number of shown characters of a reason, a comment or a prompt.
const TEXT: usize = 160;

/// Returns a block per evaluator.
pub(crate) fn agreement(agreement: &Agreement) -> String {
    let mut text = String::new();
    for row in remarks(agreement) {
        let _ = writeln!(text, "{row}");
    }
    for evaluator in &agreement.evaluators {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", title(evaluator));
        for row in rows(evaluator) {
            let _ = writeln!(text, "  {row}");
        }
        table(&mut text, evaluator);
        let all = &evaluator.disagreements;
        if !all.is_empty() {
            let _ = writeln!(text, "  {}", disagreements(all.len(), NAMED));
        }
        for it in all.iter().take(NAMED) {
            let _ = writeln!(text, "    {}", one_line(&disagreement(it)));
        }
    }
    text
}

/// Returns a table of evaluators, then what each disagrees about.
pub(crate) fn agreement_markdown(agreement: &Agreement) -> String {
    let mut text = format!("### {}\n\n", escaped(&sentence(agreement, false)));
    for row in remarks(agreement) {
        let _ = writeln!(text, "- {}", escaped(&row));
    }
    for evaluator in &agreement.evaluators {
        let _ = writeln!(text, "\n#### {}\n", escaped(&title(evaluator)));
        if let Some(counts) = &evaluator.confusion {
            let [pass, fail] = ["pass", "fail"].map(|word| escaped(&says(evaluator, word)));
            let _ = writeln!(text, "| | {pass} | {fail} |\n|---|---:|---:|");
            let (tp, fp) = (counts.true_positives, counts.false_positives);
            let _ = writeln!(text, "| evaluator passes | {tp} | {fp} |");
            let (fail, tn) = (counts.false_negatives, counts.true_negatives);
            let _ = writeln!(text, "| evaluator fails | {fail} | {tn} |\n");
        }
        for row in rows(evaluator) {
            let _ = writeln!(text, "- {}", escaped(&row));
        }
        let all = &evaluator.disagreements;
        if !all.is_empty() {
            let title = escaped(&disagreements(all.len(), FOLDED));
            let _ = writeln!(text, "\n<details><summary>{title}</summary>\n");
            for it in all.iter().take(FOLDED) {
                let _ = writeln!(text, "- {}", escaped(&disagreement(it)));
            }
            text.push_str("\n</details>\n");
        }
    }
    text
}

/// Returns a page.
pub(crate) fn agreement_html(agreement: &Agreement, is_broken: bool) -> io::Result<String> {
    let sentence = sentence(agreement, is_broken);
    let verdict = sentence.split_once(": ").unwrap_or(("ERROR", &sentence));
    let result = Value::from(&agreement.to_json()?);
    page(|out| write_result(Subject::Agreement, verdict, &result, out))
}

/// Writes the last line to stderr. `is_broken` says that something broke in the run.
pub(crate) fn agreement_verdict(agreement: &Agreement, is_broken: bool, code: u8) {
    let text = match (code, is_broken) {
        (exit::ERRORED, false) => "ERROR: the agreement could not be written".to_owned(),
        _ => sentence(agreement, is_broken),
    };
    let sum = |count: fn(&EvaluatorAgreement) -> u64| -> u64 {
        agreement.evaluators.iter().map(count).sum()
    };
    let counts = json!({
        "compared": sum(|it| it.compared),
        "disagreements": sum(|it| it.disagreements.len() as u64),
        "errors": sum(|it| it.errors),
    });
    last_line(&text, code, counts);
}

/// Returns the outcome in a word, and what it rests on.
fn sentence(agreement: &Agreement, is_broken: bool) -> String {
    if is_broken {
        return format!("ERROR: something broke in the run; {}", summary(agreement));
    }
    let word = word(agreement.verdict());
    let is_asked = agreement.evaluators.iter().any(|it| it.min_kappa.is_some());
    let asked = if is_asked { "" } else { "compared; nothing is asked of the evaluators; " };
    format!("{word}: {asked}{}", summary(agreement))
}

fn summary(agreement: &Agreement) -> String {
    let parts = agreement.evaluators.iter().map(|it| {
        let name = one_line(&it.name);
        let figure = match (&it.min_kappa, it.kappa.as_ref().or(it.weighted_kappa.as_ref())) {
            (Some(min), _) => format!("kappa >= {}: {}", min.limit, min.reason),
            (None, Some(kappa)) => format!("kappa {}", kappa),
            (None, None) => "kappa is not defined".to_owned(),
        };
        let disagreements = counted(it.disagreements.len() as u64, "disagreement");
        match it.confusion {
            Some(_) => format!("{name} {figure}, {disagreements} in {}", it.compared),
            None => format!("{name} {figure}, {} compared", it.compared),
        }
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns what is true of all evaluators: labels that count for none, and limits of what the numbers say.
fn remarks(agreement: &Agreement) -> Vec<String> {
    let mut rows = Vec::new();
    if let Some(labels) = &agreement.labels {
        let LabelCounts { unmatched, unmatched_labels, about_others, others, .. } = labels;
        if *unmatched > 0 {
            let named = unmatched_labels.iter().map(|it| format!("{} ({})", it.name, it.place));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = if *unmatched > unmatched_labels.len() as u64 { ", .." } else { "" };
            let labels = counted(*unmatched, "label");
            rows.push(format!("{labels} without a conversation in the run: {named}{more}"));
        }
        if *about_others > 0 {
            let names = match others.as_slice() {
                [] => "no evaluator".to_owned(),
                names => names.join(", "),
            };
            rows.push(format!("{} about {names}, not compared", counted(*about_others, "label")));
        }
        let left_out = [
            (labels.other_splits, "label", "of another split"),
            (labels.not_labelled, "row", "without a label"),
            (labels.cancelled, "annotation", "cancelled"),
            (labels.not_by_people, "score", "not by people"),
            (labels.not_about_conversations, "score", "not about a conversation"),
        ];
        let left_out = left_out.iter().filter(|(count, ..)| *count > 0);
        rows.extend(
            left_out.map(|(count, noun, what)| format!("{} {what}", counted(*count, noun))),
        );
    }
    rows.extend(agreement.notes.iter().cloned());
    rows.into_iter().map(|row| one_line(&row).into_owned()).collect()
}

fn title(evaluator: &EvaluatorAgreement) -> String {
    let against = match (&evaluator.with, &evaluator.raters) {
        (Some(with), _) => with.clone(),
        (None, Some(raters)) if raters.raters > 1 => format!("{} people", raters.raters),
        _ => "labels".to_owned(),
    };
    let compared = counted(evaluator.compared, "conversation");
    one_line(&format!("{} against {against}: {compared}", evaluator.name)).into_owned()
}

/// Returns what the reference says of a column of the table.
fn says(evaluator: &EvaluatorAgreement, word: &str) -> String {
    match &evaluator.with {
        Some(with) if word == "pass" => format!("{} passes", one_line(with)),
        Some(with) => format!("{} {word}s", one_line(with)),
        None => format!("people {word}"),
    }
}

fn table(text: &mut String, evaluator: &EvaluatorAgreement) {
    let Some(counts) = &evaluator.confusion else { return };
    let [pass, fail] = ["pass", "fail"].map(|word| says(evaluator, word));
    let (left, right) = (pass.chars().count().max(8), fail.chars().count().max(8));
    let _ = writeln!(text, "  {:16}  {pass:>left$}  {fail:>right$}", "");
    for (name, one, other) in [
        ("evaluator passes", counts.true_positives, counts.false_positives),
        ("evaluator fails", counts.false_negatives, counts.true_negatives),
    ] {
        let _ = writeln!(text, "  {name:16}  {one:>left$}  {other:>right$}");
    }
}

/// Returns the figures of an evaluator.
fn rows(evaluator: &EvaluatorAgreement) -> Vec<String> {
    let mut rows = Vec::new();
    if let Some(min) = &evaluator.min_kappa {
        rows.push(format!("{} kappa >= {}: {}", mark(min.verdict), min.limit, min.reason));
    }
    if let Some(kappa) = &evaluator.kappa {
        let raw = evaluator.agreement.as_ref().map(share).unwrap_or_default();
        rows.push(format!("kappa {}; both say the same in {raw}", kappa));
    } else if let Some(raw) = &evaluator.agreement {
        rows.push(format!("kappa is not defined; both say the same in {}", share(raw)));
    }
    if let Some(kappa) = &evaluator.weighted_kappa {
        rows.push(format!("kappa of the grades (quadratic weights) {}", kappa));
    }
    rows.extend(people(evaluator));
    let rates = [
        (
            &evaluator.true_positive_rate,
            "true positive rate",
            format!("that {}", says(evaluator, "pass")),
        ),
        (
            &evaluator.true_negative_rate,
            "true negative rate",
            format!("that {}", says(evaluator, "fail")),
        ),
        (&evaluator.precision, "precision", "that the evaluator passes".to_owned()),
    ];
    for (rate, name, what) in rates {
        rows.extend(rate.map(|rate| format!("{name} {}, of the {} {what}", share(&rate), rate.n)));
    }
    if let Some(area) = &evaluator.auroc {
        let ends = area.interval.map(|it| format!(" ({:.2} to {:.2})", it.lower, it.upper));
        rows.push(format!("area under the curve {:.2}{}", area.auroc, ends.unwrap_or_default()));
    }
    if let Some(best) = &evaluator.best_threshold {
        let ends = best.interval.map(|it| format!(" ({:.2} to {:.2})", it.lower, it.upper));
        let now = evaluator.threshold.map(|it| format!("; it is {it}")).unwrap_or_default();
        let ends = ends.unwrap_or_default();
        rows.push(format!("best threshold {:.2}{ends}{now}", best.threshold));
    }
    if let Some(it) = &evaluator.correlation {
        let coefficient = |value: Option<f64>| {
            value.map(without_minus_zero).map_or("undefined".to_owned(), |it| format!("{it:.2}"))
        };
        let [spearman, kendall, pearson] =
            [it.spearman, it.kendall_tau_b, it.pearson].map(coefficient);
        rows.push(format!(
            "correlation with the grades: Spearman {spearman}, Kendall {kendall}, Pearson {pearson}"
        ));
    }
    rows.extend(left_out(evaluator));
    rows
}

/// Returns how much people agree with each other, next to how much the evaluator agrees with them.
fn people(evaluator: &EvaluatorAgreement) -> Vec<String> {
    let Some(raters) = evaluator.raters.as_ref().filter(|it| it.shared > 0) else {
        return Vec::new();
    };
    let shared = counted(raters.shared, "conversation");
    let Some(alpha) = raters.alpha.map(without_minus_zero) else {
        return vec![format!("people say the same of all of the {shared} that several labelled")];
    };
    let mut rows = vec![format!(
        "people agree with each other: alpha {alpha:.2} over {shared} that several labelled"
    )];
    if let Some(kappa) = raters.evaluator {
        let (kappa, name) = (without_minus_zero(kappa), one_line(&evaluator.name));
        rows.push(format!(
            "{name} with each of them: kappa about {kappa:.2}; they with each other: about {alpha:.2}"
        ));
    }
    rows
}

fn left_out(evaluator: &EvaluatorAgreement) -> Option<String> {
    let without = match evaluator.with {
        Some(_) => "without a verdict of the other",
        None => "without a label",
    };
    let parts = [
        (evaluator.errors, "with a label and an error"),
        (evaluator.not_evaluated, "not evaluated"),
        (evaluator.not_run, "not run"),
        (evaluator.ties, "about which as many people say one as the other"),
        (evaluator.without_reference, without),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    (!parts.is_empty()).then(|| format!("conversations left out: {}", parts.join(", ")))
}

fn disagreements(all: usize, shown: usize) -> String {
    let more = if all > shown { format!("; {shown} of them") } else { String::new() };
    format!("{}, worst first{more}:", counted(all as u64, "disagreement"))
}

/// Returns a disagreement with what both say about it.
fn disagreement(it: &Disagreement) -> String {
    let verdict = if it.passed { "passes" } else { "fails" };
    let mut text = format!("{} {verdict} with {:.2}", it.case, it.score);
    if let Some(reason) = &it.reason {
        let _ = write!(text, ", {:?}", cut(reason.trim(), TEXT));
    }
    for said in &it.comments {
        let who = said.rater.as_deref().unwrap_or("label");
        let _ = write!(text, "; {who}: {}", said.label);
        if let Some(comment) = &said.comment {
            let _ = write!(text, ", {:?}", cut(comment.trim(), TEXT));
        }
    }
    if let Some(prompt) = &it.prompt {
        let _ = write!(text, "; asked {:?}", cut(prompt.trim(), TEXT));
    }
    text
}

fn share(estimate: &Estimate) -> String {
    let Estimate { mean, interval, .. } = estimate;
    format!("{mean:.2} ({:.2} to {:.2})", interval.lower, interval.upper)
}
