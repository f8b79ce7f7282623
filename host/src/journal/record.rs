//! What a journal says of one evaluation.

use std::time::Duration;

use super::{Key, verdict};
use crate::{
    json::{self, NonFinite, Object, Value},
    verdict::Evaluation,
};

/// The text of a record: a JSON object that begins with its key. It says everything of the evaluation.
///
/// All members stand in one object, so that the details of an answer are nested no deeper than where they came from.
pub(super) fn text(key: &Key, evaluator: &str, trace_id: &str, evaluation: &Evaluation) -> String {
    // Whoever adds a field decides here what becomes of it. Only a server passes answers on, and it keeps no journal.
    let Evaluation {
        verdict,
        duration,
        stderr_tail,
        stdout_tail,
        attempts,
        earlier_errors,
        answer: _,
        // Whoever resumes has this error for one conversation, and asks the evaluator about the next one.
        blames_config: _,
    } = evaluation;
    let text = |text: &str| Value::String(text.to_owned());
    let mut record = Object::default();
    record.insert("key".to_owned(), Value::String(key.to_string()));
    record.insert("evaluator".to_owned(), text(evaluator));
    record.insert("trace_id".to_owned(), text(trace_id));
    verdict::write(verdict, &mut record);
    record.insert("duration_ns".to_owned(), nanoseconds(*duration));
    record.insert("attempts".to_owned(), Value::Int(i64::from(*attempts)));
    let earlier = earlier_errors.iter().map(|kind| text(kind)).collect();
    record.insert("earlier_errors".to_owned(), Value::Array(earlier));
    record.insert("stderr".to_owned(), text(stderr_tail));
    record.insert("stdout".to_owned(), text(stdout_tail));
    json::to_string(&Value::Object(record), NonFinite::Literal)
}

/// How every record begins after its checksum, up to the key.
const KEY: &[u8] = b"\"key\":\"";

/// The key of a record, if this is one. `rest` is what follows the checksum.
pub(super) fn key(rest: &[u8]) -> Option<Key> {
    let text = rest.strip_prefix(KEY)?;
    let (key, rest) = text.split_at_checked(64)?;
    rest.starts_with(b"\"").then(|| Key::parse(key)).flatten()
}

/// The evaluation of a record; `None` when it is not of a kind that this version writes. `rest` is what follows the
/// checksum.
pub(super) fn read(rest: &[u8]) -> Option<Evaluation> {
    let record = json::parse_python(&format!("{{{}", std::str::from_utf8(rest).ok()?))?;
    let text = |name: &str| record.get(name)?.as_str().map(str::to_owned);
    let earlier = record.get("earlier_errors")?.as_array()?.iter();
    Some(Evaluation {
        verdict: verdict::read(&record)?,
        duration: duration(record.get("duration_ns")?)?,
        stderr_tail: text("stderr")?,
        stdout_tail: text("stdout")?,
        attempts: u32::try_from(record.get("attempts")?.as_i128()?).ok()?,
        earlier_errors: earlier
            .map(|kind| verdict::known_error(kind.as_str()?))
            .collect::<Option<_>>()?,
        answer: Vec::new(),
        blames_config: false,
    })
}

pub(super) fn nanoseconds(duration: Duration) -> Value {
    // Half a millennium fits.
    Value::Int(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}

pub(super) fn duration(value: &Value) -> Option<Duration> {
    u64::try_from(value.as_i128()?).ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        journal::line::{opened, sealed},
        verdict::{Answer, BadAnswer, Status, Verdict},
    };

    fn evaluation(verdict: Verdict) -> Evaluation {
        Evaluation {
            verdict,
            duration: Duration::new(3, 141_592_653),
            stderr_tail: "one\ntwo \u{1b}[0m \"q\" \u{fffd}".to_owned(),
            stdout_tail: "\r\n\0".to_owned(),
            attempts: 2,
            earlier_errors: vec!["timed_out", "lost"],
            answer: Vec::new(),
            blames_config: false,
        }
    }

    /// The evaluation, after it was written and read.
    fn kept(evaluation: &Evaluation) -> Option<Evaluation> {
        let key = Key::new(&[7; 32], &[9; 32]);
        let line = sealed(&text(&key, "check \"1\"", "t\n1", evaluation));
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        let rest = opened(line.trim_end_matches('\n').as_bytes()).unwrap();
        assert_eq!(super::key(rest), Some(key));
        read(rest)
    }

    #[test]
    fn every_verdict_comes_back_as_it_was() {
        let details = json::parse_python(
            r#"{"n": NaN, "i": -Infinity, "z": -0.0, "big": 123456789012345678901234567890, "deep": [[{"a": null}]],
               "f": 5e-324, "é\u0000": "\ud83d\ude00", "int": 1, "float": 1.0, "last": true}"#,
        );
        let answer = Answer {
            score: Some(0.1 + 0.2),
            status: Some(Status::NotEvaluated),
            per_invocation_scores: vec![None, Some(-0.0), Some(1.0), Some(f64::MIN_POSITIVE)],
            details: details.unwrap().as_object().cloned(),
        };
        let reason = || "why:\n\u{7}".to_owned();
        let verdicts = [
            Verdict::Answer(answer),
            Verdict::Answer(Answer::default()),
            Verdict::Answer(Answer { details: Some(Object::default()), ..Answer::default() }),
            Verdict::Exited { code: -7 },
            Verdict::Signalled { signal: 11 },
            Verdict::TimedOut { limit: Duration::from_millis(1500) },
            Verdict::LeakedPipe,
            Verdict::BadAnswer(BadAnswer::Empty),
            Verdict::BadAnswer(BadAnswer::NotJson { reason: reason() }),
            Verdict::BadAnswer(BadAnswer::Invalid { path: "score".to_owned(), reason: reason() }),
            Verdict::BadAnswer(BadAnswer::TooLarge { limit: 64 << 20 }),
            Verdict::Cancelled,
            Verdict::Lost { reason: reason() },
            Verdict::SpawnFailed { reason: reason(), transient: true },
            Verdict::SpawnFailed { reason: reason(), transient: false },
            Verdict::NotRun,
            Verdict::PrepareFailed { reason: reason() },
            Verdict::MetricFailed { reason: reason() },
            Verdict::Reported { kind: "rejected".to_owned(), message: reason() },
        ];
        for verdict in verdicts {
            let mut evaluation = evaluation(verdict);
            evaluation.earlier_errors.extend(evaluation.verdict.error_type());
            let kept = kept(&evaluation).unwrap();
            // `Debug` tells 1 from 1.0 and 0.0 from -0.0, and NaN is NaN there.
            assert_eq!(format!("{kept:?}"), format!("{evaluation:?}"));
        }
    }

    #[test]
    fn what_another_version_wrote_is_not_guessed_at() {
        for rest in [
            r#""key":"00","verdict":"answer"}"#,
            r#""verdict":"foretold","duration_ns":1,"attempts":1,"earlier_errors":[],"stderr":"","stdout":""}"#,
            r#""verdict":"exited","duration_ns":1,"attempts":1,"earlier_errors":[],"stderr":"","stdout":""}"#,
            r#""verdict":"leaked_pipe","duration_ns":-1,"attempts":1,"earlier_errors":[],"stderr":"","stdout":""}"#,
            r#""verdict":"leaked_pipe","duration_ns":1,"attempts":1,"earlier_errors":[],"stderr":""}"#,
            "",
            "\u{0}",
        ] {
            assert!(read(rest.as_bytes()).is_none(), "{rest}");
            assert!(key(rest.as_bytes()).is_none(), "{rest}");
        }
    }
}
