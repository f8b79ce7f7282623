//! Error types of verdicts, and error messages in the wording of agentevals.

use super::{BadAnswer, Verdict};
use crate::report::{CANCELLED, NOT_RUN};

impl Verdict {
    /// Returns the stable name of the error, e.g. `timed_out`; `None` for an answer.
    pub fn error_type(&self) -> Option<&'static str> {
        Some(match self {
            Self::Answer(_) => return None,
            Self::Exited { .. } => "exited",
            Self::Signalled { .. } => "signalled",
            Self::TimedOut { .. } => "timed_out",
            Self::LeakedPipe => "leaked_pipe",
            Self::BadAnswer(_) => "bad_answer",
            Self::Cancelled => CANCELLED,
            Self::NotRun => NOT_RUN,
            Self::Lost { .. } => "lost",
            Self::SpawnFailed { .. } => "spawn_failed",
            Self::PrepareFailed { .. } => "prepare_failed",
            Self::MetricFailed { .. } => "metric_failed",
            Self::Reported { .. } => "reported",
        })
    }

    /// Returns the error of the evaluator `name` as a paragraph, for JSON reports; `None` for an answer.
    ///
    /// The wording is that of `agentevals` where it has the same error; [`describe`](Self::describe) returns the message for
    /// text reports. `stderr` is standard error of the evaluator, or its end.
    pub fn explain(&self, name: &str, stderr: &str) -> Option<String> {
        let stderr = stderr.trim();
        let evaluator = format!("Custom evaluator '{name}'");
        let exited = |code: i32| match stderr {
            "" => format!("{evaluator} exited with code {code}"),
            _ => format!("{evaluator} exited with code {code}: {stderr}"),
        };
        let with_stderr = |what: &str| match stderr {
            "" => format!("{evaluator} {what}"),
            _ => format!("{evaluator} {what}\nEvaluator stderr:\n{stderr}"),
        };
        Some(match self {
            Self::Answer(_) => return None,
            Self::Exited { code } => exited(*code),
            Self::Signalled { signal } => exited(signal.saturating_neg()),
            Self::TimedOut { .. } | Self::LeakedPipe | Self::Cancelled | Self::NotRun => {
                format!("{evaluator} {}", self.describe(name, "")?)
            }
            Self::BadAnswer(BadAnswer::Empty) => with_stderr("produced no output on stdout"),
            Self::BadAnswer(bad @ (BadAnswer::TooLarge { .. } | BadAnswer::Foreign { .. })) => {
                format!("{evaluator} {bad}")
            }
            Self::BadAnswer(bad) => format!("{evaluator} produced invalid JSON: {bad}"),
            Self::Lost { reason } => {
                with_stderr(&format!("exited, but its exit status is not available: {reason}"))
            }
            Self::SpawnFailed { reason, .. } => format!("{evaluator}: {reason}"),
            Self::PrepareFailed { reason } | Self::MetricFailed { reason } => reason.clone(),
            Self::Reported { kind, message } => {
                format!("{evaluator} reported an error ({kind}): {message}")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn texts_that_other_hosts_have_are_the_same() {
        let explain = |verdict: Verdict, stderr| verdict.explain("my_check", stderr).unwrap();
        let timed_out = |millis| Verdict::TimedOut { limit: Duration::from_millis(millis) };
        let text = explain(timed_out(30_000), "ignored");
        assert_eq!(text, "Custom evaluator 'my_check' timed out after 30s");
        assert_eq!(
            explain(timed_out(1500), ""),
            "Custom evaluator 'my_check' timed out after 1.5s"
        );
        assert_eq!(
            explain(Verdict::Exited { code: 3 }, "boom\n  line2\n\n"),
            "Custom evaluator 'my_check' exited with code 3: boom\n  line2"
        );
        let text = explain(Verdict::Signalled { signal: 9 }, " \n");
        assert_eq!(text, "Custom evaluator 'my_check' exited with code -9");
        assert_eq!(
            explain(Verdict::BadAnswer(BadAnswer::Empty), "some hint\n"),
            "Custom evaluator 'my_check' produced no output on stdout\nEvaluator stderr:\nsome hint"
        );
        let bad = BadAnswer::Invalid { path: "score".to_owned(), reason: "is odd".to_owned() };
        assert_eq!(
            explain(Verdict::BadAnswer(bad), "ignored"),
            "Custom evaluator 'my_check' produced invalid JSON: score: is odd"
        );
        let missing =
            Verdict::PrepareFailed { reason: "evaluator file not found: /x.py".to_owned() };
        assert_eq!(explain(missing, ""), "evaluator file not found: /x.py");
    }
}
