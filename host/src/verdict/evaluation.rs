//! The record of one evaluation.

use std::{borrow::Cow, time::Duration};

use crate::process::{Captured, Outcome};

use super::{
    Expected, Verdict,
    judge::{judged, reported_kind},
};

/// Bytes of standard output kept for people to look at when the verdict is not an answer.
const STDOUT_TAIL: usize = 2 << 10;

/// Bytes of standard error that a report shows of one evaluation. A run may have many that break.
const SHOWN_STDERR: usize = 4 << 10;

/// The kind of error by which programs of the SDK say that the settings of their entry are wrong.
const CONFIG: &str = "config";

/// The exit code by which they refuse a document, be it for its settings or for anything else in it.
const REJECTED: i32 = 3;

/// A verdict and the circumstances it came about in.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took, from the start of the process (or the sending of the document) on.
    pub duration: Duration,
    /// Standard error, without its middle if it was long.
    pub stderr_tail: String,
    /// The end of what was kept of standard output; empty for answers.
    pub stdout_tail: String,
    /// How many times the document was given to the evaluator: 0 when it could not be started.
    pub attempts: u32,
    /// Kinds of the errors of earlier attempts at the same evaluation, in order; empty unless it was retried. Everything
    /// else here is about the last one.
    pub earlier_errors: Vec<&'static str>,
    /// The text of an answer that is passed on as it is; empty for all others.
    pub(crate) answer: Vec<u8>,
    /// Whether it broke because of the settings of its entry, which are the same for every conversation.
    pub(crate) blames_config: bool,
}

impl Evaluation {
    /// The record of a process that was given one document.
    #[must_use]
    pub fn from_outcome(outcome: &Outcome) -> Self {
        Self::judged(outcome, Expected::Result)
    }

    pub(crate) fn judged(outcome: &Outcome, expected: Expected) -> Self {
        let verdict = judged(outcome, expected);
        let attempts = if matches!(verdict, Verdict::SpawnFailed { .. }) { 0 } else { 1 };
        let printed = outcome.stdout.head();
        Self::new(verdict, outcome.duration, &outcome.stderr, printed)
            .with_attempts(attempts)
            .with_answer(printed, expected)
            .noting_blame(printed)
    }

    /// The record for a conversation of that many turns, see [`Verdict::for_turns`].
    pub(crate) fn for_turns(self, turns: usize) -> Self {
        Self { verdict: self.verdict.for_turns(turns), ..self }
    }

    /// Keeps the text of an answer, if it is to be passed on.
    pub(crate) fn with_answer(mut self, printed: &[u8], expected: Expected) -> Self {
        if expected == Expected::Anything && matches!(self.verdict, Verdict::Answer(_)) {
            self.answer = printed.trim_ascii().to_vec();
        }
        self
    }

    /// Keeps the end of what was printed, where it turned out not to be an answer.
    pub(crate) fn keep_stdout(&mut self, printed: &[u8]) {
        self.stdout_tail = tail(printed);
    }

    /// The record of something that ended before (or without) a process.
    #[must_use]
    pub fn without_process(verdict: Verdict, duration: Duration) -> Self {
        Self::new(verdict, duration, &Captured::default(), &[]).with_attempts(0)
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
            answer: Vec::new(),
            blames_config: false,
        }
    }

    /// Notes whether a program that speaks as those of this project's SDK do says that its settings are wrong.
    pub(crate) fn noting_blame(mut self, text: &[u8]) -> Self {
        self.blames_config = match &self.verdict {
            Verdict::Answer(_) => false,
            Verdict::Reported { kind, .. } => kind == CONFIG,
            // A line has both the kind and the exit code; a process that is started for one document only says so in words.
            Verdict::Exited { code } => reported_kind(text)
                .map_or(*code == REJECTED && says_config_is_wrong(&self.stderr_tail), |kind| {
                    kind == CONFIG
                }),
            _ => false,
        };
        self
    }

    /// The end of standard error as reports show it: bounded, from the start of a line on, without blanks around it.
    #[must_use]
    pub fn end_of_stderr(&self) -> Cow<'_, str> {
        let text = self.stderr_tail.trim();
        if text.len() <= SHOWN_STDERR {
            return Cow::Borrowed(text);
        }
        let start = (text.len() - SHOWN_STDERR..).find(|index| text.is_char_boundary(*index));
        let end = &text[start.unwrap_or(text.len())..];
        // One line may be longer than all that is shown.
        let end =
            end.split_once('\n').map(|(_, lines)| lines).filter(|it| !it.is_empty()).unwrap_or(end);
        Cow::Owned(format!("[... what was before is left out ...]\n{end}"))
    }

    fn with_attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }
}

/// The end of an output.
fn tail(stdout: &[u8]) -> String {
    String::from_utf8_lossy(&stdout[stdout.len().saturating_sub(STDOUT_TAIL)..]).into_owned()
}

/// Whether a line like `error: NAME: config.max_calls: expected a number` is there.
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
