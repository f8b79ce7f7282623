//! Verdicts on outputs and exits of evaluators.

use crate::{
    hosts::{answer_from, foreign_answer, parse_document, parse_strict_document},
    json::{self, NonFinite, Object, Value},
    process::{Ending, Outcome},
};

use super::{Answer, BadAnswer, Verdict};

/// Returns the verdict on a process that received one document and should have printed one.
///
/// Of several errors, the first of these counts: timeout, signal, non-zero exit code, leaked pipe, invalid output.
pub fn from_outcome(outcome: &Outcome) -> Verdict {
    judged(outcome, Expected::Result)
}

/// Returns the verdict on a process that should have printed an output of the expected form.
pub(crate) fn judged(outcome: &Outcome, expected: Expected) -> Verdict {
    answer_of(outcome).map_or_else(|verdict| *verdict, |text| expected.in_text(text))
}

/// Returns the whole output of a process that exited with code 0.
///
/// # Errors
///
/// The verdict on any other exit, and on an output that may be incomplete.
pub fn answer_of(outcome: &Outcome) -> Result<&[u8], Box<Verdict>> {
    let text = outcome.stdout.head();
    Err(Box::new(match from_ending(&outcome.ending) {
        Some(verdict) => verdict,
        None if outcome.leaked_pipe() => Verdict::LeakedPipe,
        None if outcome.stdout.overflowed() => {
            Verdict::BadAnswer(BadAnswer::TooLarge { limit: text.len() })
        }
        None => return Ok(text),
    }))
}

/// Returns the verdict on the exit of a process; `None` if it exited with code 0, so that its output decides.
pub(crate) fn from_ending(ending: &Ending) -> Option<Verdict> {
    match ending {
        Ending::Exited(0) => None,
        Ending::Exited(code) => Some(Verdict::Exited { code: *code }),
        Ending::Signalled(signal) => Some(Verdict::Signalled { signal: *signal }),
        Ending::TimedOut { limit } => Some(Verdict::TimedOut { limit: *limit }),
        Ending::Cancelled => Some(Verdict::Cancelled),
        Ending::SpawnFailed(error) => Some(Verdict::from(error.clone())),
        Ending::Lost { reason } => Some(Verdict::Lost { reason: reason.clone() }),
    }
}

/// The verdict on the output of an evaluator for one document, as a line of the streaming form or as its only output: a
/// result, or a report like `{"error": {"kind": "rejected", "message": "config.min: expected a number"}}`.
///
/// An `error` next to a score is a report, too, and the score is then ignored. Only `null`, `false` and `0` mean that there
/// was no error: for many exceptions, `str(e)` is an empty text, `JSON.stringify` returns an empty object, and the list of
/// arguments is empty.
pub fn from_text(text: &[u8]) -> Verdict {
    result_in(text, true)
}

/// As [`from_text`]; with `hosts`, an answer of another contract is an error that names the contract.
fn result_in(text: &[u8], hosts: bool) -> Verdict {
    let document = match parse_document(text) {
        Ok(document) => document,
        Err(bad) => return Verdict::BadAnswer(bad),
    };
    if let Some(reported) = from_report(&document) {
        return reported;
    }
    if let Some((contract, found)) = foreign_answer(&document).filter(|_| hosts) {
        return Verdict::BadAnswer(BadAnswer::Foreign { contract, found });
    }
    match answer_from(document) {
        Ok(answer) => Verdict::Answer(answer),
        Err(bad) => Verdict::BadAnswer(bad),
    }
}

/// Expected form of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// A result of the default contract.
    #[default]
    Result,
    /// The same, where the entry names the contract: keys of other contracts are ignored.
    OwnResult,
    /// An answer of another contract, which is not converted: any JSON document except `null`.
    Anything,
    /// Any text, also none.
    Output,
}

impl Expected {
    fn in_text(self, text: &[u8]) -> Verdict {
        match self {
            Self::Result => from_text(text),
            Self::OwnResult => result_in(text, false),
            Self::Output => Verdict::Answer(Answer::default()),
            Self::Anything => match parse_strict_document(text) {
                Ok(Value::Null) => Verdict::BadAnswer(BadAnswer::Invalid {
                    path: String::new(),
                    reason: "it is null".to_owned(),
                }),
                Ok(_) => Verdict::Answer(Answer::default()),
                Err(bad) => Verdict::BadAnswer(bad),
            },
        }
    }

    /// The verdict on a line of the streaming form. A program may report the exit code with which it would have exited if
    /// it had been given this document alone. The verdict is then the same as for a program that exited with this code.
    pub(crate) fn in_line(self, line: &[u8]) -> Verdict {
        let verdict = self.in_text(line);
        let may_be_report = match &verdict {
            Verdict::Reported { .. } => true,
            Verdict::Answer(_) => self == Self::Anything,
            _ => false,
        };
        match self.exit_code(line).filter(|_| may_be_report) {
            Some(code) => Verdict::Exited { code },
            None => verdict,
        }
    }

    fn exit_code(self, line: &[u8]) -> Option<i32> {
        // Few lines are reports, so most are not parsed.
        memchr::memmem::find(line, b"\"exit_code\"")?;
        let document = parse_document(line).ok()?;
        // The keys of an answer are not known here; a document with any other key is not a report.
        let is_alone = matches!(&document, Value::Object(object) if object.len() == 1);
        if self == Self::Anything && !is_alone {
            return None;
        }
        let code = document.get("error")?.get("exit_code")?.as_i128()?;
        i32::try_from(code).ok().filter(|code| *code != 0)
    }
}

/// Returns the verdict on a document that reports an error.
pub(crate) fn from_report(document: &Value) -> Option<Verdict> {
    document.get("error").filter(|error| is_report(error, document)).map(reported)
}

/// Returns the kind of the error that a line reports.
pub(super) fn reported_kind(line: &[u8]) -> Option<String> {
    parse_document(line).ok()?.get("error")?.get("kind")?.as_str().map(str::to_owned)
}

fn is_report(error: &Value, document: &Value) -> bool {
    match error {
        Value::Null => false,
        _ if document.get("score").is_none() => true,
        Value::Bool(says_so) => *says_so,
        Value::Int(code) => *code != 0,
        Value::Float(measured) => *measured != 0.0,
        _ => true,
    }
}

fn reported(report: &Value) -> Verdict {
    let text =
        |object: &Object, key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    // A report that is not of the agreed shape is shown as it came: it is a report all the same.
    let (kind, message) = match report {
        Value::Object(object) => (text(object, "kind"), text(object, "message")),
        Value::String(message) => (None, Some(message.clone())),
        _ => (None, None),
    };
    let message = message.filter(|message| !message.trim().is_empty()).unwrap_or_else(|| {
        let shown = json::to_string(report, NonFinite::Literal);
        match report {
            Value::Object(object) if !object.is_empty() => shown,
            Value::Array(items) if !items.is_empty() => shown,
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) => shown,
            _ => format!("its `error` is {shown}, which does not say what went wrong"),
        }
    });
    Verdict::Reported { kind: kind.unwrap_or_else(|| "error".to_owned()), message }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::Captured;

    fn outcome(ending: Ending, stdout: &str) -> Outcome {
        Outcome {
            ending,
            stdout: Captured::complete(stdout),
            stderr: Captured::complete(""),
            unsent: 0,
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn a_good_answer_counts_only_after_a_good_end() {
        let good = r#"{"score": 1}"#;
        for (ending, expected) in [
            (Ending::Exited(0), None),
            (Ending::Exited(3), Some("exited")),
            (Ending::Signalled(11), Some("signalled")),
            (Ending::TimedOut { limit: Duration::ZERO }, Some("timed_out")),
            (Ending::Cancelled, Some("cancelled")),
            (Ending::Lost { reason: String::new() }, Some("lost")),
        ] {
            assert_eq!(
                from_outcome(&outcome(ending.clone(), good)).error_type(),
                expected,
                "{ending:?}"
            );
        }
    }

    #[test]
    fn a_line_may_say_how_the_program_would_have_ended() {
        let line = |code: &str| {
            let body =
                format!(r#"{{"error": {{"kind": "k", "message": "m", "exit_code": {code}}}}}"#);
            Expected::Result.in_line(body.as_bytes())
        };
        assert!(matches!(line("3"), Verdict::Exited { code: 3 }));
        for nothing in ["0", "null", "\"3\"", "1.5", "99999999999"] {
            assert_eq!(line(nothing).error_type(), Some("reported"), "{nothing}");
        }
        assert_eq!(Expected::Result.in_line(br#"{"score": 1, "exit_code": 3}"#).error_type(), None);
    }

    #[test]
    fn an_open_pipe_counts_before_what_was_printed() {
        let open = |ending, stdout: &str| Outcome {
            stdout: Captured::unfinished(stdout),
            ..outcome(ending, "")
        };
        assert_eq!(
            from_outcome(&open(Ending::Exited(0), "nonsense")).error_type(),
            Some("leaked_pipe")
        );
        assert_eq!(from_outcome(&open(Ending::Exited(1), "nonsense")).error_type(), Some("exited"));
    }

    #[test]
    fn what_is_printed_is_a_result_or_a_report() {
        // Both forms of a program are read the same way.
        let forms: [fn(&str) -> Verdict; 2] = [
            |text| from_text(text.as_bytes()),
            |text| from_outcome(&outcome(Ending::Exited(0), text)),
        ];
        for form in forms {
            for result in [
                r#"{"score": 1, "error": null}"#,
                r#"{"score": 1, "error": false}"#,
                r#"{"score": 1, "error": 0}"#,
                r#"{"score": 1, "error": 0.0}"#,
                r#"{"score": 1, "details": {"error": "printed, not reported"}}"#,
            ] {
                assert_eq!(form(result).error_type(), None, "{result}");
            }
            let silent = "which does not say what went wrong";
            for report in [r#""""#, r#"" \n""#, "{}", "[]", "true"] {
                for score in ["0.0", "1", "null", "\"high\""] {
                    let line = format!(r#"{{"score": {score}, "error": {report}}}"#);
                    let Verdict::Reported { kind, message } = form(&line) else {
                        panic!("{line} is a report");
                    };
                    assert_eq!(kind, "error", "{line}");
                    assert_eq!(message, format!("its `error` is {report}, {silent}"), "{line}");
                }
            }
            let reports: [(&str, &str, &str); 12] = [
                (
                    r#"{"error": {"kind": "k", "message": ""}, "score": 1}"#,
                    "k",
                    r#"{"kind":"k","message":""}"#,
                ),
                (r#"{"score": 1, "error": {"rate": 0.1}}"#, "error", r#"{"rate":0.1}"#),
                (r#"{"score": 1, "error": ["late"]}"#, "error", r#"["late"]"#),
                (r#"{"score": 1, "error": 7}"#, "error", "7"),
                (r#"{"score": 1, "error": 0.25}"#, "error", "0.25"),
                (
                    r#"{"error": ""}"#,
                    "error",
                    r#"its `error` is "", which does not say what went wrong"#,
                ),
                (r#"{"error": {"kind": "rejected", "message": "no"}}"#, "rejected", "no"),
                (r#"{"error": {"message": "no"}, "score": 1}"#, "error", "no"),
                (r#"{"error": "no"}"#, "error", "no"),
                (r#"{"score": 0, "error": "no"}"#, "error", "no"),
                (r#"{"error": {"code": 7}}"#, "error", r#"{"code":7}"#),
                (r#"{"error": 7}"#, "error", "7"),
            ];
            for (line, expected_kind, expected_message) in reports {
                let Verdict::Reported { kind, message } = form(line) else {
                    panic!("{line} is a report");
                };
                assert_eq!((&*kind, &*message), (expected_kind, expected_message), "{line}");
            }
            assert_eq!(form("").error_type(), Some("bad_answer"));
            assert_eq!(form(r#"{"score": 2}"#).error_type(), Some("bad_answer"));
        }
    }

    #[test]
    fn of_what_is_passed_on_only_reports_are_known() {
        let in_line = |line: &str| Expected::Anything.in_line(line.as_bytes());
        for answer in [
            r#"{"overall_score": 2, "error": {"message": "none"}}"#,
            r#"{"error": 0.25, "success": true}"#,
            r#"{"error": {"exit_code": 3}, "success": true}"#,
            "0.5",
            "false",
            r#""text""#,
            "[]",
        ] {
            assert!(matches!(in_line(answer), Verdict::Answer(_)), "{answer}");
        }
        let report = r#"{"error": {"kind": "input", "message": "m", "exit_code": 3}}"#;
        assert!(matches!(in_line(report), Verdict::Exited { code: 3 }));
        for bad in ["", "null", "nothing", "NaN", "{} {}", r#"{"score": Infinity}"#] {
            assert_eq!(in_line(bad).error_type(), Some("bad_answer"), "{bad}");
        }
    }
}
