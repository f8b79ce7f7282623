//! Texts about an evaluation that several forms of the report contain.

use std::{borrow::Cow, collections::HashMap, io, sync::Arc};

use evaluator_host::report::{
    Contradictions, ConversationReport, EvaluationOutcome, EvaluationReport, Report,
};

use super::plain::one_line;

/// Names of conversations for people and CI systems. They are the same in every run over the same files, unlike trace ids.
pub(super) struct Names<'r> {
    report: &'r Report,
    /// Names so far, each with the number of its conversations.
    seen: HashMap<String, usize>,
}

impl<'r> Names<'r> {
    pub(super) fn new(report: &'r Report) -> Self {
        Self { report, seen: HashMap::new() }
    }

    /// Returns the name of the next conversation of the report: the id of its case or test, or else its file. Those that
    /// have the same one are numbered from the second on, so that each name is unique.
    pub(super) fn of(&mut self, conversation: &ConversationReport) -> String {
        let test = self.report.suite.as_ref().map(|_| &conversation.trace_id);
        let name = test.or(conversation.named_case()).or(conversation.trace_file.as_ref());
        let name = name.map_or("conversation", |name| &**name);
        let mut number = self.seen.get(name).copied().unwrap_or_default();
        let free = loop {
            number += 1;
            let next = if number == 1 { name.to_owned() } else { format!("{name} #{number}") };
            // It may be the name of another case.
            if !self.seen.contains_key(&next) {
                break next;
            }
        };
        self.seen.insert(name.to_owned(), number);
        self.seen.entry(free.clone()).or_insert(1);
        free
    }
}

/// Returns the command that runs the worst failed evaluation again; without a failure, the first one that broke. `None` if there
/// is neither, if the run was not saved, or if a name would not survive as text.
pub(super) fn repro(report: &Report) -> io::Result<Option<String>> {
    let mut worst = report.attention(1, |_, _| true)?.conversations;
    if worst.is_empty() && report.tally().errored > 0 {
        let is_broken =
            |it: &ConversationReport| it.evaluations.iter().any(|it| it.error.is_some());
        let mut all = report.conversations.iter().outlines();
        worst.extend(all.find(|it| it.as_ref().map_or(true, is_broken)).transpose()?);
    }
    let command = worst.first().and_then(|conversation| {
        let of = |outcome| conversation.evaluations.iter().find(move |it| it.outcome() == outcome);
        let evaluation = of(EvaluationOutcome::Failed).or_else(|| of(EvaluationOutcome::Error))?;
        report.repro(conversation, evaluation)
    });
    Ok(command.filter(|it| one_line(it) == **it && !it.contains('`')))
}

/// Returns the first contradiction of an evaluator with its name and the trace or test, and the number of further ones.
pub(super) fn contradiction(report: &Report, found: &Contradictions) -> String {
    let noun = if report.suite.is_some() { "test" } else { "trace" };
    let text = format!("{}, {noun} {}: {}", found.evaluator, found.trace_id, found.message());
    one_line(&text).into_owned()
}

/// Returns the name of a golden case in parentheses, with a separator before it; empty without one.
pub(super) fn golden_case(id: Option<&str>) -> String {
    id.map(|id| format!(" (golden case {id:?})")).unwrap_or_default()
}

/// Returns the noun and the id of the case of a conversation; `None` if the conversation is a case of its own.
pub(super) fn case(conversation: &ConversationReport) -> Option<(&'static str, &Arc<str>)> {
    let noun = if conversation.eval_case_id.is_some() { "golden case" } else { "case" };
    conversation.named_case().map(|id| (noun, id))
}

/// Message about a golden case that no conversation was compared with.
pub(super) const NO_RECORDING: &str = "golden case without a recording";

/// Maximum number of golden cases that are named.
const UNRECORDED: usize = 20;

/// Returns the ids of golden cases without a recording, in quotes; the last line counts those that are not named.
pub(super) fn unrecorded(report: &Report) -> Vec<String> {
    let cases = &report.unrecorded_cases;
    let shown = cases.iter().take(UNRECORDED).map(|case| format!("{case:?}"));
    let more = cases.len().saturating_sub(UNRECORDED);
    shown.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// Formats a score with four decimals, or with as many as show on which side of the threshold it is.
pub(super) fn score_text(score: f64, threshold: Option<f64>) -> String {
    if score.fract() == 0.0 {
        return format!("{score}.0000");
    }
    let Some(threshold) = threshold else { return format!("{score:.4}") };
    let is_clear = |text: &String| {
        text.parse::<f64>().is_ok_and(|shown| (shown < threshold) == (score < threshold))
    };
    (4..=17)
        .map(|decimals| format!("{score:.decimals$}"))
        .find(is_clear)
        .unwrap_or_else(|| score.to_string())
}

/// Returns the reason of a failure: what is missing, the score, the threshold, the turns below it, the reason of the evaluator
/// or its judge, and the tool calls that differ.
pub(super) fn failure(evaluation: &EvaluationReport) -> String {
    let score = score_of_failure(evaluation);
    let mut text = match &evaluation.failure_reason {
        Some(reason) if score.is_empty() => reason.clone(),
        Some(reason) => format!("{reason}; {score}"),
        None => score,
    };
    for reason in evaluation.reason().into_iter().chain(evaluation.difference().map(Cow::Owned)) {
        text.extend([": ", &reason]);
    }
    text
}

/// Returns how many of its repeats passed, e.g. `8 of 10`; `None` if an evaluation was not repeated.
pub(super) fn repeats(evaluation: &EvaluationReport) -> Option<String> {
    evaluation.passed_repeats().map(|(passed, all)| format!("{passed} of {all}"))
}

/// Returns the score of a failure, the threshold, and the turns below it; empty if the score reaches the threshold.
fn score_of_failure(evaluation: &EvaluationReport) -> String {
    let threshold = evaluation.threshold;
    if let Some(repeats) = repeats(evaluation) {
        let score = evaluation.score.map(|score| score_text(score, threshold));
        let mean =
            score.map_or_else(String::new, |score| format!(", with a mean score of {score}"));
        return format!("{repeats} repeats passed{mean}");
    }
    let mut text = match (evaluation.score, threshold) {
        (Some(score), Some(asked)) if score < asked => {
            format!("score {} is below the threshold {asked}", score_text(score, threshold))
        }
        (Some(_), _) if evaluation.failure_reason.is_some() => String::new(),
        // The evaluator itself decided, regardless of the threshold.
        (Some(score), _) => format!("failed by the evaluator itself, with score {score:.4}"),
        (None, _) => "failed without a score".to_owned(),
    };
    let below: Vec<String> = (1..)
        .zip(&evaluation.per_invocation_scores)
        .filter_map(|(turn, score)| {
            let score = score.filter(|score| threshold.is_some_and(|asked| *score < asked))?;
            Some(format!("turn {turn}: {}", score_text(score, threshold)))
        })
        .collect();
    if !below.is_empty() && !text.is_empty() {
        text.push_str(&format!(" ({})", below.join(", ")));
    }
    text
}

/// Returns the kind of an error in a word, e.g. `timeout`.
pub(super) fn kind(evaluation: &EvaluationReport) -> &'static str {
    evaluation.error_type.unwrap_or("error")
}

/// Returns a text from the details of an evaluation.
pub(super) fn detail<'a>(evaluation: &'a EvaluationReport, key: &str) -> Option<&'a str> {
    evaluation.details.as_ref()?.get(key)?.as_str()
}

/// Returns the reason why the evaluator did not judge the conversation.
pub(super) fn reason(evaluation: &EvaluationReport) -> Cow<'_, str> {
    evaluation.reason().unwrap_or("not evaluated".into())
}

/// Formats the duration of an evaluation; empty if it was not measured.
pub(super) fn time(evaluation: &EvaluationReport) -> String {
    evaluation.duration.map_or_else(String::new, |time| milliseconds(time.as_secs_f64() * 1000.0))
}

/// Formats a duration as `153ms`, `4.5s` or `2m 5s`. Halves round to even.
pub(super) fn milliseconds(milliseconds: f64) -> String {
    // Spans may end before they start. Less than half a millisecond before is zero, not "-0".
    let rounded = milliseconds.round_ties_even() + 0.0;
    if rounded < 1000.0 {
        return format!("{rounded}ms");
    }
    let seconds = rounded / 1000.0;
    if seconds < 60.0 {
        return format!("{seconds:.1}s");
    }
    format!("{}m {}s", (seconds / 60.0).floor(), (seconds % 60.0).floor())
}

/// Formats a count with its noun, e.g. `2 turns`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Cuts text after a number of characters; `...` marks the cut.
pub(super) fn cut(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// Formats an error outside of any conversation with its cause.
pub(super) fn with_cause(error: &str, cause: Option<&str>) -> String {
    match cause {
        Some(cause) => format!("{error} ({cause})"),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_shown_on_its_side_of_the_threshold() {
        for (score, threshold, text) in [
            (0.5, None, "0.5000"),
            (0.8, Some(0.8), "0.8000"),
            (0.799_999, Some(0.8), "0.799999"),
            (0.999_96, Some(1.0), "0.99996"),
            (0.3, Some(0.1 + 0.2), "0.3000"),
            (0.1 + 0.2, Some(0.3), "0.3000"),
            (1.0 / 3.0, Some(0.333_33), "0.33333"),
            (0.0, Some(f64::MIN_POSITIVE), "0.0000"),
            (0.0, Some(0.5), "0.0000"),
        ] {
            assert_eq!(score_text(score, threshold), text, "{score} {threshold:?}");
        }
    }

    #[test]
    fn units_change_with_size() {
        for (value, text) in [
            (0.0, "0ms"),
            (-0.4, "0ms"),
            (-3.0, "-3ms"),
            (0.5, "0ms"),
            (1.5, "2ms"),
            (999.4, "999ms"),
            (999.6, "1.0s"),
            (59_900.0, "59.9s"),
            (125_000.0, "2m 5s"),
        ] {
            assert_eq!(milliseconds(value), text, "{value}");
        }
    }
}
