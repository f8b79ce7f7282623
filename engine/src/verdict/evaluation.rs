//! Records of evaluations.

use std::{borrow::Cow, time::Duration};

use crate::{
    json::{Object, Value},
    models::ProxyUsage,
    process::{Captured, Outcome},
};

use super::{
    Expected, Verdict,
    judge::{judged, reported_kind},
};

/// Bytes of standard output that are kept if the verdict is not an answer.
const STDOUT_TAIL: usize = 2 << 10;

/// Bytes of standard error in the report of one evaluation. A run may have many errors.
const SHOWN_STDERR: usize = 4 << 10;

/// Kind of errors by which programs of the SDK reject their settings.
const CONFIG: &str = "config";

/// Exit code by which programs of the SDK reject a document, including its settings.
const REJECTED: i32 = 3;

/// A verdict with the duration, output and attempts of its evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Verdict.
    pub verdict: Verdict,
    /// Duration from the start of the process, or from the moment the worker received the document.
    pub duration: Duration,
    /// Standard error; long text lacks its middle.
    pub stderr_tail: String,
    /// End of standard output; empty for answers.
    pub stdout_tail: String,
    /// Number of times the evaluator received the document; 0 if it was not started.
    pub attempts: u32,
    /// Error types of earlier attempts, in order; empty unless it was retried. All other fields are those of the last attempt.
    pub earlier_errors: Vec<&'static str>,
    /// Calls of the program to models through its proxy; `None` if it was offered no models.
    pub(crate) asked: Option<ProxyUsage>,
    /// Whether calls to models failed that are not in `asked`.
    pub(crate) calls_failed: bool,
    /// Details of an evaluation without an answer, such as the calls of a judge.
    pub details: Option<Object>,
    /// Warnings of a judge.
    pub warnings: Vec<String>,
    /// What a judge was asked, a JSON object for each question.
    pub(crate) prompts: Vec<Value>,
    /// Reason of a judge why the evaluation fails although its score reaches the threshold.
    pub(crate) failure_reason: Option<String>,
    /// Text of an answer of a foreign contract; empty for others.
    pub answer: Vec<u8>,
    /// Whether the error is about the settings of its entry, which are the same for every conversation.
    pub(crate) blames_config: bool,
}

impl Evaluation {
    /// Creates the record of a process that received one document.
    pub fn from_outcome(outcome: &Outcome) -> Self {
        Self::judged(outcome, Expected::Result)
    }

    pub(crate) fn judged(outcome: &Outcome, expected: Expected) -> Self {
        let verdict = judged(outcome, expected);
        let attempts = if matches!(verdict, Verdict::SpawnFailed { .. }) { 0 } else { 1 };
        let printed = outcome.stdout.head();
        let new = Self::new(verdict, outcome.duration, &outcome.stderr, printed);
        Self { attempts, ..new }.with_answer(printed, expected).noting_blame(printed)
    }

    /// Checks the record for a conversation with this number of turns, see [`Verdict::for_turns`].
    #[must_use]
    pub fn for_turns(self, turns: usize) -> Self {
        Self { verdict: self.verdict.for_turns(turns), ..self }
    }

    /// Sets the calls of the program to models.
    pub(crate) fn asked(self, asked: Option<ProxyUsage>) -> Self {
        Self { asked, ..self }
    }

    /// Makes it an error if a cassette lacked the reply to a call: a result without that reply says nothing, and an error of the
    /// program has its cause there.
    pub(crate) fn without_recording(mut self) -> Self {
        let missing = self.asked.as_ref().and_then(|asked| asked.not_recorded.clone());
        match (&self.verdict, missing) {
            (Verdict::Cancelled | Verdict::NotRun, _) | (_, None) => {}
            (_, Some(reason)) => self.verdict = Verdict::MetricFailed { reason },
        }
        self
    }

    /// Returns true if calls to models failed. Another evaluation may have another result.
    pub(crate) fn has_failed_calls(&self) -> bool {
        let asked = self.asked.as_ref();
        self.calls_failed || asked.is_some_and(|asked| asked.warning().is_some())
    }

    /// Keeps the text of an answer of a foreign contract.
    pub(crate) fn with_answer(mut self, printed: &[u8], expected: Expected) -> Self {
        let is_kept = matches!(expected, Expected::Anything | Expected::Output);
        if is_kept && matches!(self.verdict, Verdict::Answer(_)) {
            self.answer = printed.trim_ascii().to_vec();
        }
        self
    }

    /// Keeps the end of an output that is not an answer.
    pub(crate) fn keep_stdout(&mut self, printed: &[u8]) {
        self.stdout_tail = tail(printed);
    }

    /// Creates the record of an evaluation without a process.
    pub fn without_process(verdict: Verdict, duration: Duration) -> Self {
        Self { attempts: 0, ..Self::new(verdict, duration, &Captured::default(), &[]) }
    }

    pub(crate) fn new(
        verdict: Verdict,
        duration: Duration,
        stderr: &Captured,
        stdout: &[u8],
    ) -> Self {
        let stdout_tail = match verdict {
            Verdict::Answer(_) => String::new(),
            _ => tail(stdout),
        };
        Self {
            verdict,
            duration,
            stderr_tail: stderr.text(),
            stdout_tail,
            attempts: 1,
            earlier_errors: Vec::new(),
            asked: None,
            calls_failed: false,
            details: None,
            warnings: Vec::new(),
            prompts: Vec::new(),
            failure_reason: None,
            answer: Vec::new(),
            blames_config: false,
        }
    }

    /// Sets `blames_config`, by the error formats of this project's SDK.
    pub(crate) fn noting_blame(mut self, text: &[u8]) -> Self {
        self.blames_config = match &self.verdict {
            Verdict::Answer(_) => false,
            Verdict::Reported { kind, .. } => kind == CONFIG,
            // A worker's line has the kind and the exit code; a process for one document has only the message.
            Verdict::Exited { code } => reported_kind(text)
                .map_or(*code == REJECTED && says_config_is_wrong(&self.stderr_tail), |kind| {
                    kind == CONFIG
                }),
            _ => false,
        };
        self
    }

    /// Returns the end of standard error for reports: bounded, from the start of a line, trimmed.
    pub fn end_of_stderr(&self) -> Cow<'_, str> {
        let text = self.stderr_tail.trim();
        if text.len() <= SHOWN_STDERR {
            return Cow::Borrowed(text);
        }
        let start = (text.len() - SHOWN_STDERR..).find(|index| text.is_char_boundary(*index));
        let end = &text[start.unwrap_or(text.len())..];
        // A single line may exceed the limit.
        let end =
            end.split_once('\n').map(|(_, lines)| lines).filter(|it| !it.is_empty()).unwrap_or(end);
        Cow::Owned(format!("[... what was before is left out ...]\n{end}"))
    }
}

/// Returns the end of an output.
fn tail(stdout: &[u8]) -> String {
    String::from_utf8_lossy(&stdout[stdout.len().saturating_sub(STDOUT_TAIL)..]).into_owned()
}

/// Returns true if there is a line like `error: NAME: config.max_calls: expected a number`.
fn says_config_is_wrong(stderr: &str) -> bool {
    let is_path = |text: &str| {
        let rest = text.strip_prefix(CONFIG);
        rest.is_some_and(|rest| rest.starts_with([':', '.', '[']))
    };
    stderr
        .lines()
        .filter_map(|line| line.strip_prefix("error: "))
        .any(|text| is_path(text) || text.split_once(": ").is_some_and(|(_, text)| is_path(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_stderr_the_last_whole_lines_are_shown() {
        let end = |stderr: &str| {
            let stderr = Captured::complete(stderr);
            Evaluation::new(Verdict::LeakedPipe, Duration::ZERO, &stderr, &[])
                .end_of_stderr()
                .into_owned()
        };
        assert_eq!(end("\n  a\nb \n"), "a\nb");
        let lines: Vec<String> = (0..1000).map(|number| format!("line {number} \u{e9}")).collect();
        let shown = end(&lines.join("\n"));
        let (note, rest) = shown.split_once('\n').unwrap();
        assert_eq!(note, "[... what was before is left out ...]");
        assert!(rest.starts_with("line ") && rest.ends_with("\nline 999 \u{e9}"), "{rest}");
        assert!((SHOWN_STDERR - 20..=SHOWN_STDERR).contains(&rest.len()), "{}", rest.len());
        let one_line = end(&"\u{e9}".repeat(9000));
        assert!(
            one_line.ends_with('\u{e9}') && one_line.len() > SHOWN_STDERR,
            "{}",
            one_line.len()
        );
    }
}
