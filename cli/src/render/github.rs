//! Workflow commands that GitHub shows as annotations.

use std::{fmt::Write as _, io};

use evaluator_host::{
    report::{
        CaseChangeKind, ConversationReport, EvaluationOutcome, EvaluationReport, GateVerdict,
        Inconclusive, NotEvaluated, Partial, Report,
    },
    verdict::Verdict,
};

use super::{
    changes::scores,
    errors::{Errors, Showing, below, headline},
    plain::{line_of, one_line},
    words::{NO_RECORDING, case, counted, failure, golden_case, kind, unrecorded, with_cause},
};

/// Number of annotations of a kind that GitHub shows for a step (documented with its workflow commands).
const SHOWN: usize = 10;

/// Kinds of annotations.
#[derive(Clone, Copy)]
enum Kind {
    Error,
    Warning,
    Notice,
}

/// Annotations, as many of each kind as GitHub shows.
#[derive(Default)]
struct Annotations {
    text: String,
    shown: [usize; 3],
    left_out: [u64; 3],
}

impl Annotations {
    /// Adds an annotation with a title and, if known, a file.
    fn add(&mut self, kind: Kind, place: (&str, Option<&str>), message: &str) {
        // The last notice counts what is left out.
        let (name, most) = match kind {
            Kind::Error => ("error", SHOWN),
            Kind::Warning => ("warning", SHOWN),
            Kind::Notice => ("notice", SHOWN - 1),
        };
        if self.shown[kind as usize] < most {
            self.shown[kind as usize] += 1;
            command(&mut self.text, name, place, message);
        } else {
            self.left_out[kind as usize] += 1;
        }
    }

    /// Returns all annotations, with a last one that counts those that are left out.
    fn finish(mut self) -> String {
        let nouns = ["error", "warning", "notice"].into_iter();
        let left_out = nouns.zip(self.left_out).filter(|(_, count)| *count > 0);
        let left_out: Vec<String> = left_out.map(|(noun, count)| counted(count, noun)).collect();
        if !left_out.is_empty() {
            let message =
                format!("{} more; see the other forms of the report", left_out.join(", "));
            command(&mut self.text, "notice", ("not shown", None), &message);
        }
        self.text
    }
}

/// Writes the report as annotations. GitHub shows few of them, so broken evaluators come before failures, the worst failures
/// before others, and equal errors and reasons are one annotation. The last line on stderr counts evaluations that were not run:
/// there may be thousands.
pub(crate) fn github(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut found = Annotations::default();
    for (error, cause) in report.errors_with_causes() {
        found.add(Kind::Error, ("input", None), &with_cause(error, cause));
    }
    found.left_out[Kind::Error as usize] += report.counted_errors as u64;
    if let Some(partial) = report.partial.filter(|it| *it != Partial::Decided) {
        found.add(Kind::Error, ("partial report", None), &partial.to_string());
    }
    for result in report.decide_gates()? {
        let kind = match (result.verdict, report.inconclusive) {
            (GateVerdict::Pass, _) => continue,
            (GateVerdict::Inconclusive, Inconclusive::Pass) => Kind::Warning,
            _ => Kind::Error,
        };
        found.add(kind, ("gate", None), &result.to_string());
    }
    regressed(report, &mut found);
    for missing in report.missing_scores() {
        found.add(Kind::Error, (&missing.scores.name, None), &missing.to_string());
    }
    broken(report, &mut found)?;
    failed(report, &mut found)?;
    remarks(report, &mut found)?;
    out.write_all(found.finish().as_bytes())
}

/// Adds the claims about the baseline that do not pass, and the cases that regressed. These fail nothing by themselves.
fn regressed(report: &Report, found: &mut Annotations) {
    let Some(comparison) = &report.comparison else { return };
    let undecided = match report.inconclusive {
        Inconclusive::Pass => Kind::Warning,
        _ => Kind::Error,
    };
    for (evaluator, claim) in comparison.claims() {
        let kind = match claim.verdict {
            GateVerdict::Pass => continue,
            GateVerdict::Inconclusive => undecided,
            _ => Kind::Error,
        };
        found.add(kind, ("baseline", None), &format!("{evaluator}: {claim}"));
    }
    for evaluator in comparison.missing_evaluators() {
        found.add(undecided, ("baseline", None), &format!("{evaluator} is only in the baseline"));
    }
    for evaluator in &comparison.evaluators {
        for case in evaluator.changes.iter().filter(|it| it.change == CaseChangeKind::Regressed) {
            let title = format!("{} regressed", evaluator.name);
            found.add(Kind::Warning, (&title, None), &scores(case));
        }
    }
}

/// Adds the errors of evaluators.
fn broken(report: &Report, found: &mut Annotations) -> io::Result<()> {
    let mut broken = Errors::of(report)?;
    for conversation in report.conversations.iter().outlines() {
        let conversation = conversation?;
        for evaluation in &conversation.evaluations {
            let Some(Showing::First(extent)) = broken.showing(evaluation) else { continue };
            let ended = match evaluation.error_type {
                // The evaluator is not to blame.
                cancelled if cancelled == Verdict::Cancelled.error_type() => {
                    "not finished".to_owned()
                }
                _ => format!("broke ({})", kind(evaluation)),
            };
            let title = match extent.count {
                1 => format!("{} {ended}", title(&conversation, evaluation)),
                _ => format!("{} {ended} in {extent}", evaluation.name),
            };
            let mut lines = vec![headline(evaluation)];
            lines.extend(below(evaluation));
            let place = (&*title, conversation.trace_file.as_deref());
            found.add(Kind::Error, place, &lines.join("\n"));
        }
    }
    Ok(())
}

/// Adds the failures of the worst conversations, and counts the others. Those that a gate or a claim judges fail nothing by
/// themselves.
fn failed(report: &Report, found: &mut Annotations) -> io::Result<()> {
    let is_gated = |conversation: &ConversationReport, evaluation: &EvaluationReport| {
        report.is_judged_as_a_whole(&evaluation.name, conversation.case())
    };
    let gated = report.gated_failures();
    let all = [(Kind::Error, false, report.tally().failed - gated), (Kind::Notice, true, gated)];
    for (kind, of_gates, mut left) in all.into_iter().filter(|(.., count)| *count > 0) {
        let is_of =
            |conversation: &_, evaluation: &_| is_gated(conversation, evaluation) == of_gates;
        for conversation in report.attention(SHOWN, is_of)?.conversations {
            for evaluation in conversation.evaluations.iter().filter(|it| is_of(&conversation, it))
            {
                if evaluation.outcome() == EvaluationOutcome::Failed {
                    let title = title(&conversation, evaluation);
                    let place = (&*title, conversation.trace_file.as_deref());
                    found.add(kind, place, &failure(evaluation));
                    left -= 1;
                }
            }
        }
        found.left_out[kind as usize] += left;
    }
    Ok(())
}

fn title(conversation: &ConversationReport, evaluation: &EvaluationReport) -> String {
    let case = case(conversation).map(|(noun, id)| format!(" ({noun} {id:?})"));
    let case = case.unwrap_or_default();
    format!("{} on {}{case}", evaluation.name, conversation.trace_id)
}

/// Adds warnings and notices.
fn remarks(report: &Report, found: &mut Annotations) -> io::Result<()> {
    for warning in &report.warnings {
        found.add(Kind::Warning, ("run", None), warning);
    }
    let severity = if report.missing_cases().is_empty() { Kind::Warning } else { Kind::Error };
    for case in unrecorded(report) {
        found.add(severity, ("eval set", None), &format!("{NO_RECORDING}: {case}"));
    }
    for contradiction in report.contradictions()? {
        let case = golden_case(contradiction.eval_case_id.as_deref());
        let title = format!("{} on {}{case}", contradiction.evaluator, contradiction.trace_id);
        let place = (&*title, contradiction.trace_file.as_deref());
        found.add(Kind::Warning, place, &contradiction.message());
    }
    for NotEvaluated { evaluator, reasons, others, .. } in report.conversations.not_evaluated()? {
        let mut notice = |count: u64, reason: &str| {
            let title = format!("{evaluator} on {}", counted(count, "conversation"));
            found.add(Kind::Notice, (&title, None), &format!("not evaluated: {reason}"));
        };
        reasons.iter().for_each(|(reason, count)| notice(*count, reason));
        if others > 0 {
            notice(others, "other reasons");
        }
    }
    Ok(())
}

/// Appends an annotation with a title and, if known, a file.
pub(super) fn command(
    text: &mut String,
    kind: &str,
    (title, file): (&str, Option<&str>),
    message: &str,
) {
    // A line feed ends a message; a colon or a comma also ends a property.
    let message = line_of(message).replace('%', "%25").replace('\n', "%0A");
    let property =
        |text| one_line(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C");
    let file = file.map(|file| format!("file={},", property(file))).unwrap_or_default();
    let _ = writeln!(text, "::{kind} {file}title={}::{message}", property(title));
}
