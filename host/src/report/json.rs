//! The JSON form of a report.
//!
//! Keys are those of agentevals' `-o json`, in its order. These are additions: of an evaluation `outcome`,
//! `failure_reason`, `error_type`, `stderr`, `attempts` and `warnings`; of the run `summary`, `left_out`, `grouping`,
//! `warnings`, `unrecorded_cases`, `missing_scores`, `max_error_rate` with `errors_tolerated`, and `partial` with
//! `partial_reason`. Additions without content are left out, except `outcome`, `error_type`, `summary` and `grouping`.
//!
//! The text is valid JSON whatever evaluators answer: `NaN` and `Infinity` in `details` are strings, as are integers
//! beyond the largest double. Python's `json` would write literals that no strict reader accepts.

use std::{
    io::{self, Write},
    sync::mpsc::sync_channel,
    thread,
};

use crate::{
    json::{Object, Value, to_pretty_inside},
    report::{ConversationReport, EvaluationReport, Report},
};

/// Number of conversations that a thread serializes together.
const BATCH: usize = 32;

impl Report {
    /// Returns the report as JSON text, indented by two spaces, ASCII only, without a final line feed.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back, or a performance metric cannot be represented; the latter does not happen with
    /// metrics this crate computed.
    pub fn to_json(&self) -> io::Result<String> {
        let mut text = Vec::new();
        self.write_json(&mut text)?;
        String::from_utf8(text).map_err(io::Error::other)
    }

    /// Writes the text of [`Report::to_json`], one conversation after the other.
    ///
    /// # Errors
    ///
    /// Writing fails, a conversation cannot be read back, or a performance metric cannot be represented.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\n  \"traces\": [")?;
        self.write_conversations(out)?;
        out.write_all(if self.conversations.is_empty() { b"]" } else { b"\n  ]" })?;
        write!(out, ",\n  \"errors\": {}", to_pretty_inside(&texts(self.errors.clone()), 1))?;
        if !self.left_out.is_empty() {
            let counts = self.left_out.counts();
            let counts = counts.map(|(part, count)| (part.to_owned(), Value::Int(count as i64)));
            let counts = to_pretty_inside(&Value::Object(counts.collect()), 1);
            write!(out, ",\n  \"left_out\": {counts}")?;
        }
        if let Some(grouping) = self.grouping {
            let text = |text: String| Value::String(text);
            let grouping = Object::from_iter([
                ("by".to_owned(), text(grouping.name().to_owned())),
                ("reason".to_owned(), text(grouping.to_string())),
                (
                    "attributes".to_owned(),
                    Value::Array(grouping.attributes().map(|name| text(name.to_owned())).collect()),
                ),
            ]);
            let grouping = to_pretty_inside(&Value::Object(grouping), 1);
            write!(out, ",\n  \"grouping\": {grouping}")?;
        }
        if let Some(performance) = &self.performance {
            let performance = Value::from(serde_json::to_value(performance)?);
            write!(out, ",\n  \"performance_metrics\": {}", to_pretty_inside(&performance, 1))?;
        }
        let balance = self.balance();
        let counts = balance
            .tally
            .named()
            .into_iter()
            .filter(|(key, count)| *key != "not_run" || *count > 0);
        let counts =
            counts.map(|(key, count)| (key.to_owned(), Value::Int(count as i64))).collect();
        write!(out, ",\n  \"summary\": {}", to_pretty_inside(&Value::Object(counts), 1))?;
        for (key, list) in
            [("warnings", &self.warnings), ("unrecorded_cases", &self.unrecorded_cases)]
        {
            if !list.is_empty() {
                write!(out, ",\n  \"{key}\": {}", to_pretty_inside(&texts(list.clone()), 1))?;
            }
        }
        if self.require_evaluated {
            let missing = self.missing_scores().into_iter().map(str::to_owned).collect();
            write!(out, ",\n  \"missing_scores\": {}", to_pretty_inside(&texts(missing), 1))?;
        }
        if self.max_error_rate > 0.0 {
            let tolerated = balance.tolerates_errors();
            let rate = to_pretty_inside(&Value::Float(self.max_error_rate), 1);
            write!(out, ",\n  \"max_error_rate\": {rate},\n  \"errors_tolerated\": {tolerated}")?;
        }
        if let Some(partial) = self.partial {
            let reason = to_pretty_inside(&Value::String(partial.to_string()), 1);
            write!(out, ",\n  \"partial\": true,\n  \"partial_reason\": {reason}")?;
        }
        out.write_all(b"\n}")
    }

    /// Writes the conversations. One thread per processor serializes batches, in turn.
    fn write_conversations(&self, out: &mut dyn Write) -> io::Result<()> {
        let batches = self.conversations.len().div_ceil(BATCH);
        let threads = thread::available_parallelism().map_or(1, usize::from).min(batches);
        thread::scope(|scope| {
            let start = |first: usize| {
                let (give, take) = sync_channel(1);
                let write = move || {
                    for batch in (first..batches).step_by(threads) {
                        // The receiver is gone if writing has failed.
                        if give.send(self.batch(batch)).is_err() {
                            return;
                        }
                    }
                };
                thread::Builder::new().spawn_scoped(scope, write).map(|_| take)
            };
            let started: io::Result<Vec<_>> = match threads {
                0 | 1 => Ok(Vec::new()),
                _ => (0..threads).map(start).collect(),
            };
            // Without threads, batches are serialized here.
            let threads = started.unwrap_or_default();
            for batch in 0..batches {
                let text = match threads.get(batch % threads.len().max(1)) {
                    Some(thread) => thread.recv().map_err(io::Error::other)??,
                    None => self.batch(batch)?,
                };
                out.write_all(text.as_bytes())?;
            }
            Ok(())
        })
    }

    /// Returns the text of a batch of conversations.
    fn batch(&self, number: usize) -> io::Result<String> {
        let mut text = String::new();
        let first = number * BATCH;
        for (place, each) in (first..).zip(self.conversations.iter_from(first).take(BATCH)) {
            text.push_str(if place > 0 { ",\n    " } else { "\n    " });
            text.push_str(&to_pretty_inside(&conversation(each?)?, 2));
        }
        Ok(text)
    }
}

fn conversation(conversation: ConversationReport) -> Result<Value, serde_json::Error> {
    let mut object = Object::default();
    object.insert("trace_id".to_owned(), Value::String(conversation.trace_id.to_string()));
    object.insert("num_invocations".to_owned(), Value::Int(conversation.turns as i64));
    object.insert("conversion_warnings".to_owned(), texts(conversation.warnings));
    object.insert(
        "metrics".to_owned(),
        Value::Array(conversation.evaluations.into_iter().map(evaluation).collect()),
    );
    if let Some(performance) = &conversation.performance {
        object.insert(
            "performance_metrics".to_owned(),
            Value::from(serde_json::to_value(performance)?),
        );
    }
    Ok(Value::Object(object))
}

fn evaluation(evaluation: EvaluationReport) -> Value {
    let mut object = Object::default();
    let outcome = evaluation.outcome();
    let number = |value: Option<f64>| value.map_or(Value::Null, Value::Float);
    let text = |value: Option<String>| value.map_or(Value::Null, Value::String);
    object.insert("metric_name".to_owned(), Value::String(evaluation.name));
    object.insert("score".to_owned(), number(evaluation.score));
    object.insert("eval_status".to_owned(), Value::String(evaluation.status.as_str().to_owned()));
    let scores = evaluation.per_invocation_scores.into_iter().map(number).collect();
    object.insert("per_invocation_scores".to_owned(), Value::Array(scores));
    let milliseconds = evaluation.duration.map(|duration| duration.as_secs_f64() * 1000.0);
    object.insert("duration_ms".to_owned(), number(milliseconds));
    object.insert("error".to_owned(), text(evaluation.error));
    object.insert("error_type".to_owned(), text(evaluation.error_type.map(str::to_owned)));
    object.insert("outcome".to_owned(), Value::String(outcome.as_str().to_owned()));
    if let Some(reason) = evaluation.failure_reason {
        object.insert("failure_reason".to_owned(), Value::String(reason));
    }
    if let Some(stderr) = evaluation.stderr {
        object.insert("stderr".to_owned(), Value::String(stderr));
    }
    if evaluation.attempts > 1 {
        object.insert("attempts".to_owned(), Value::Int(evaluation.attempts.into()));
    }
    if !evaluation.warnings.is_empty() {
        object.insert("warnings".to_owned(), texts(evaluation.warnings));
    }
    if let Some(details) = evaluation.details.filter(|details| !details.is_empty()) {
        object.insert("details".to_owned(), Value::Object(details));
    }
    Value::Object(object)
}

fn texts(texts: Vec<String>) -> Value {
    Value::Array(texts.into_iter().map(Value::String).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        json::{parse_python, to_pretty},
        report::Partial,
        verdict::Status,
    };

    #[test]
    fn the_text_is_that_of_the_whole_value() {
        let evaluation = EvaluationReport {
            name: "check\n".to_owned(),
            score: Some(0.5),
            threshold: Some(0.5),
            status: Status::Passed,
            failure_reason: Some("golden".to_owned()),
            per_invocation_scores: vec![Some(0.5), None],
            duration: None,
            error: None,
            headline: None,
            error_type: None,
            stderr: Some("a\nb".to_owned()),
            attempts: 2,
            warnings: Vec::new(),
            details: Some(Object::from_iter([("a".to_owned(), Value::Object(Object::default()))])),
        };
        let conversation = |evaluations| ConversationReport {
            trace_id: "t".into(),
            turns: 1,
            warnings: vec!["odd".to_owned()],
            evaluations,
            performance: Some(Default::default()),
            events: None,
        };
        let mut report = Report::default();
        for conversations in
            [vec![], vec![conversation(vec![])], vec![conversation(vec![evaluation]); 2]]
        {
            report.conversations = conversations.into();
            let text = report.to_json().unwrap();
            assert_eq!(to_pretty(&parse_python(&text).unwrap()), text);
            report.errors.push("broken".to_owned());
            report.warnings.push("odd".to_owned());
            report.unrecorded_cases.push("case".to_owned());
            report.require_evaluated = true;
            report.max_error_rate = 0.25;
            report.partial = Some(Partial::Cancelled);
            report.performance = Some(Default::default());
        }
    }

    #[test]
    fn numbers_that_json_does_not_have_are_strings() {
        let huge = "9".repeat(5000);
        let text = format!(
            r#"{{"a": [NaN, Infinity, {{"b": -Infinity}}, 1e400], "c": {huge}, "d": -{huge}, "e": 1{:0100}}}"#,
            0
        );
        let details = parse_python(&text).unwrap();
        let report: serde_json::Value =
            serde_json::from_str(&to_pretty_inside(&details, 3)).expect("it is valid JSON");
        assert_eq!(
            report["a"],
            serde_json::json!(["NaN", "Infinity", {"b": "-Infinity"}, "Infinity"])
        );
        assert_eq!(report["c"], huge);
        assert_eq!(report["d"], format!("-{huge}"));
        assert_eq!(report["e"], 1e100);
    }
}
