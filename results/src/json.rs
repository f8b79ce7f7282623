//! The JSON form of a report.
//!
//! Keys are those of agentevals' `-o json`, in its order. These are additions: of a conversation `trace_file`, `eval_case_id`, `case`,
//! `cluster`, `prompt` and `failed_turns`; of an evaluation `outcome`, `failure_reason`, `error_type`, `stderr`, `attempts`, `warnings`, `target_proxy`,
//! `containment` and `repeats`; of the run `summary`, `evaluators`, `gates`, `comparison`, `slices`, `left_out`, `grouping`, `warnings`, `unrecorded_cases`, `missing_scores`,
//! `max_error_rate` with `errors_tolerated`, and `partial` with `partial_reason`. Additions without content are left out, except
//! `outcome`, `error_type`, `summary` and `grouping`.
//!
//! The text is valid JSON whatever evaluators answer: `NaN` and `Infinity` in `details` are strings, as are integers
//! beyond the largest double. Python's `json` would write literals that no strict reader accepts.

use std::{
    io::{self, Write},
    sync::mpsc::sync_channel,
    thread,
};

use evaluator_json::{Value, reindent_inside, to_pretty_inside, write_pretty_inside};
use evaluator_statistics::Estimate;
use serde::Serialize;

use super::{
    Comparison, Contained, ConversationReport, EvaluationReport, EvaluatorSums, Gate, GateResult,
    Report, Slice, Slices, TargetProxyReport, TargetTokens,
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
        let Value::Object(members) = self.members()? else { return Ok(()) };
        for (key, value) in &members {
            write!(out, ",\n  \"{key}\": {}", to_pretty_inside(value, 1))?;
        }
        out.write_all(b"\n}")
    }

    /// Returns everything but the conversations, which have to be read before: results that cannot be read are counted.
    fn members(&self) -> io::Result<Value> {
        let balance = self.balance();
        let tally = balance.tally.named().into_iter();
        let tally = tally.filter(|(key, count)| *key != "not_run" || *count > 0);
        let tolerance = Some(self.max_error_rate).filter(|rate| *rate > 0.0);
        let missing = self.missing_scores().iter().map(|it| it.scores.name.clone()).collect();
        let evaluators =
            list(self.evaluators(Gate::CONFIDENCE)?.iter().map(EvaluatorSums::to_json));
        let [gates, comparison] = self.decisions()?;
        let performance = self.conversations.performance().map(serde_json::to_value).transpose()?;
        Ok(object([
            ("errors", Some(texts(self.errors.clone()))),
            ("left_out", (!self.left_out.is_empty()).then(|| counts(self.left_out.counts()))),
            (
                "grouping",
                self.grouping.map(|grouping| {
                    let reason = Value::from(grouping.to_string());
                    let attributes = grouping.attributes().map(Value::from).collect();
                    object([
                        ("by", Some(grouping.name().into())),
                        ("reason", Some(reason)),
                        ("attributes", Some(Value::Array(attributes))),
                    ])
                }),
            ),
            ("performance_metrics", performance.map(Value::from)),
            ("summary", Some(counts(tally))),
            ("evaluators", evaluators),
            gates,
            comparison,
            ("slices", self.slices_json()?),
            ("warnings", some(self.warnings.clone())),
            ("unrecorded_cases", some(self.unrecorded_cases.clone())),
            ("missing_scores", self.require_evaluated.then(|| texts(missing))),
            ("max_error_rate", tolerance.map(Value::Float)),
            ("errors_tolerated", tolerance.map(|_| Value::Bool(balance.tolerates_errors()))),
            ("partial", self.partial.map(|_| Value::Bool(true))),
            ("partial_reason", self.partial.map(|partial| partial.to_string().into())),
        ]))
    }

    /// Returns the slices of the report in their JSON form; `None` if it is not sliced.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn slices_json(&self) -> io::Result<Option<Value>> {
        Ok(list(self.slices(Gate::CONFIDENCE)?.iter().map(sliced)))
    }

    /// Returns what gates and the comparison with a baseline decide, as members of a report.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back, or a number cannot be represented.
    pub fn decisions(&self) -> io::Result<[(&'static str, Option<Value>); 2]> {
        let gates = list(self.decide_gates()?.iter().map(GateResult::to_json));
        let comparison = self.comparison.as_ref().map(Comparison::to_json).transpose()?;
        Ok([("gates", gates), ("comparison", comparison)])
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
        let mut reports = self.conversations.iter_from(first);
        for place in first..first + BATCH {
            let Some(next) = reports.next_with_text() else { break };
            let (report, performance) = next?;
            text.push_str(if place > 0 { ",\n    " } else { "\n    " });
            write_pretty_inside(&conversation(report), 2, &mut text);
            if let Some(performance) = performance {
                // It is the last member.
                text.truncate(text.len() - "\n    }".len());
                text.push_str(",\n      \"performance_metrics\": ");
                reindent_inside(&performance, 3, &mut text);
                text.push_str("\n    }");
            }
        }
        Ok(text)
    }
}

impl Comparison {
    /// Returns the JSON form, with six decimals: the digits behind them may differ between machines.
    ///
    /// # Errors
    ///
    /// A number cannot be represented.
    pub fn to_json(&self) -> io::Result<Value> {
        to_rounded(self)
    }
}

/// Returns the JSON form of a value with six decimals.
///
/// # Errors
///
/// A number cannot be represented.
pub(crate) fn to_rounded(value: &impl Serialize) -> io::Result<Value> {
    fn round(value: &mut Value) {
        match value {
            Value::Float(number) => *number = (*number * 1e6).round() / 1e6,
            Value::Array(items) => items.iter_mut().for_each(round),
            Value::Object(members) => members.values_mut().for_each(round),
            _ => {}
        }
    }
    let mut value = Value::from(serde_json::to_value(value)?);
    round(&mut value);
    Ok(value)
}

/// Returns a conversation without its performance, which is the last member.
fn conversation(conversation: ConversationReport) -> Value {
    let evaluations = conversation.evaluations.into_iter().map(evaluation).collect();
    object([
        ("trace_id", Some(conversation.trace_id.to_string().into())),
        ("num_invocations", Some(Value::Int(conversation.turns as i64))),
        ("trace_file", conversation.trace_file.map(|file| file.to_string().into())),
        ("eval_case_id", conversation.eval_case_id.map(|case| case.to_string().into())),
        ("case", conversation.case.map(|case| case.to_string().into())),
        ("cluster", conversation.cluster.map(|cluster| cluster.to_string().into())),
        ("prompt", conversation.prompt.map(|prompt| prompt.to_string().into())),
        ("conversion_warnings", Some(texts(conversation.warnings))),
        ("failed_turns", some(conversation.failed_turns)),
        ("metrics", Some(Value::Array(evaluations))),
    ])
}

fn sliced(slices: &Slices<EvaluatorSums>) -> Value {
    let slice = |slice: &Slice<EvaluatorSums>| {
        let evaluators = slice.evaluators.iter().map(|sums| {
            let Value::Object(mut members) = sums.to_json() else { return Value::Null };
            let is_small = Value::Bool(sums.has_too_few_cases());
            members.insert("too_few_cases".to_owned(), is_small);
            Value::Object(members)
        });
        object([
            ("value", Some(slice.value.as_deref().map_or(Value::Null, Value::from))),
            ("conversations", Some(count(slice.conversations))),
            ("evaluators", Some(Value::Array(evaluators.collect()))),
        ])
    };
    object([
        ("by", Some(slices.by.as_str().into())),
        ("values", Some(Value::Array(slices.slices.iter().map(slice).collect()))),
        ("overlapping", some_count(slices.overlapping)),
        ("left_out", some_count(slices.left_out)),
    ])
}

impl EvaluatorSums {
    /// Returns the JSON form in reports.
    pub fn to_json(&self) -> Value {
        let clusters = self.clustering;
        let estimate = |it: Option<Estimate>| {
            it.map_or(Value::Null, |it| object(estimate(it, Gate::CONFIDENCE)))
        };
        object([
            ("name", Some(self.name.as_str().into())),
            ("cases", Some(count(self.cases))),
            ("clusters", clusters.map(|it| count(it.clusters))),
            ("worth_cases", clusters.and_then(|it| it.worth).map(|it| Value::Float(it.round()))),
            ("passed", Some(count(self.tally.passed))),
            ("failed", Some(count(self.tally.failed))),
            ("counted_as_zero", some_count(self.counted_as_zero)),
            ("errors", Some(count(self.tally.errored))),
            ("not_evaluated", Some(count(self.tally.not_evaluated))),
            ("not_run", some_count(self.tally.not_run)),
            ("mean", Some(estimate(self.mean))),
            ("pass_rate", Some(estimate(self.pass_rate))),
            ("corrected_pass_rate", self.corrected_pass_rate.map(|it| estimate(Some(it)))),
            ("uncorrected", self.uncorrected.as_deref().map(Value::from)),
        ])
    }
}

impl GateResult {
    /// Returns the JSON form in reports.
    pub fn to_json(&self) -> Value {
        let GateResult { gate, estimate: found, taken, .. } = self;
        let own = [
            ("evaluator", Some(gate.evaluator.as_str().into())),
            ("measure", Some(gate.measure.to_string().into())),
            ("limit", Some(Value::Float(gate.limit))),
            ("verdict", Some(self.verdict.as_str().into())),
            (
                "cases",
                Some(count(found.map_or_else(|| taken.map_or(0, |it| it.0), |it| it.n as u64))),
            ),
            ("clusters", found.filter(|it| it.units != it.n).map(|it| count(it.units as u64))),
            ("certified", gate.certified.then_some(Value::Bool(true))),
            ("raw", self.raw.map(|it| object(estimate(it, gate.confidence)))),
        ];
        let rest = [
            ("value", taken.map(|(_, mean)| rounded(mean))),
            ("counted_as_zero", some_count(self.counted_as_zero)),
            ("errors", Some(count(self.tally.errored))),
            ("not_evaluated", Some(count(self.tally.not_evaluated))),
            ("not_run", some_count(self.tally.not_run)),
            ("left_out", some_count(self.left_out)),
            ("undecided", self.undecided.as_ref().map(|it| it.to_string().into())),
            ("needed", self.needed().map(count)),
        ];
        let estimate = found.map(|found| estimate(found, gate.confidence));
        object(own.into_iter().chain(estimate.into_iter().flatten()).chain(rest))
    }
}

/// Returns an estimate with six decimals: the digits behind them may differ between machines.
fn estimate(estimate: Estimate, confidence: f64) -> [(&'static str, Option<Value>); 4] {
    let rounded = |number| Some(rounded(number));
    [
        ("value", rounded(estimate.mean)),
        ("lower", rounded(estimate.interval.lower)),
        ("upper", rounded(estimate.interval.upper)),
        ("confidence", Some(Value::Float(confidence))),
    ]
}

fn rounded(number: f64) -> Value {
    Value::Float((number * 1e6).round() / 1e6)
}

/// Returns a list; `None` if it is empty.
fn list(values: impl Iterator<Item = Value>) -> Option<Value> {
    Some(values.collect::<Vec<_>>()).filter(|values| !values.is_empty()).map(Value::Array)
}

fn count(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn some_count(number: u64) -> Option<Value> {
    (number > 0).then(|| count(number))
}

fn evaluation(evaluation: EvaluationReport) -> Value {
    let number = |value: Option<f64>| value.map_or(Value::Null, Value::Float);
    let text = |value: Option<String>| value.map_or(Value::Null, Value::String);
    let outcome = evaluation.outcome();
    let scores = evaluation.per_invocation_scores.into_iter().map(number).collect();
    let milliseconds = evaluation.duration.map(|duration| duration.as_secs_f64() * 1000.0);
    let attempts = (evaluation.attempts > 1).then(|| Value::Int(evaluation.attempts.into()));
    let details = evaluation.details.filter(|details| !details.is_empty());
    object([
        ("metric_name", Some(evaluation.name.into())),
        ("score", Some(number(evaluation.score))),
        ("eval_status", Some(evaluation.status.as_str().into())),
        ("per_invocation_scores", Some(Value::Array(scores))),
        ("duration_ms", Some(number(milliseconds))),
        ("error", Some(text(evaluation.error))),
        ("error_type", Some(text(evaluation.error_type.map(str::to_owned)))),
        ("outcome", Some(outcome.as_str().into())),
        ("failure_reason", evaluation.failure_reason.map(Value::String)),
        ("stderr", evaluation.stderr.map(Value::String)),
        ("attempts", attempts),
        ("warnings", some(evaluation.warnings)),
        ("details", details.map(Value::Object)),
        ("target_proxy", evaluation.target_proxy.map(TargetProxyReport::into_json)),
        ("containment", evaluation.containment.as_deref().map(containment)),
        ("repeats", list(evaluation.repeats.into_iter().map(self::evaluation))),
    ])
}

fn containment(contained: &Contained) -> Value {
    let Contained { executor, level, landlock_abi, namespaces, network, proxy, image } = contained;
    let text = |text: &Option<String>| text.clone().map(Value::String);
    object([
        ("executor", Some(executor.as_str().into())),
        ("level", text(level)),
        ("landlock_abi", landlock_abi.map(|version| Value::Int(version.into()))),
        ("namespaces", some(namespaces.clone())),
        ("network", Some(Value::Bool(*network))),
        ("proxy", proxy.then_some(Value::Bool(true))),
        ("image", text(image)),
    ])
}

impl TargetProxyReport {
    /// Returns the JSON form in reports.
    pub fn into_json(self) -> Value {
        let TargetTokens { input, output, cached, reasoning } = self.tokens;
        let tokens = object([
            ("input", Some(count(input))),
            ("output", Some(count(output))),
            ("cached", some_count(cached)),
            ("reasoning", some_count(reasoning)),
        ]);
        // The digits are those of the decimal number.
        let cost = self.cost.and_then(|cost| cost.parse().ok()).map(Value::Float);
        object([
            ("call_count", Some(count(self.call_count))),
            ("max_calls", Some(count(self.max_calls))),
            ("failed_calls", some_count(self.failed_calls)),
            ("refused_requests", some_count(self.refused_requests)),
            ("tokens", Some(tokens)),
            ("cost", cost),
            ("models", Some(texts(self.models))),
        ])
    }
}

/// Returns an object of the members that have a value.
fn object<'k>(members: impl IntoIterator<Item = (&'k str, Option<Value>)>) -> Value {
    let members = members.into_iter();
    Value::Object(members.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

fn counts<'k>(counts: impl Iterator<Item = (&'k str, u64)>) -> Value {
    Value::Object(counts.map(|(key, count)| (key.to_owned(), Value::Int(count as i64))).collect())
}

fn texts(texts: Vec<String>) -> Value {
    Value::Array(texts.into_iter().map(Value::String).collect())
}

fn some(list: Vec<String>) -> Option<Value> {
    (!list.is_empty()).then(|| texts(list))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evaluator_json::{Object, parse_python, to_pretty};

    use super::*;
    use crate::{Partial, Status};

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
            prompts: Vec::new(),
            target_proxy: Some(TargetProxyReport {
                call_count: 3,
                max_calls: 5,
                failed_calls: 1,
                tokens: TargetTokens { input: 7, output: 2, ..TargetTokens::default() },
                cost: Some("0.0015".to_owned()),
                models: vec!["openai/m".to_owned()],
                ..TargetProxyReport::default()
            }),
            containment: Some(Arc::new(Contained {
                executor: "sandbox".to_owned(),
                landlock_abi: Some(7),
                ..Contained::default()
            })),
            repeats: vec![EvaluationReport::new("check")],
        };
        let conversation = |evaluations| ConversationReport {
            trace_file: Some("t.json".into()),
            turns: 1,
            warnings: vec!["odd".to_owned()],
            evaluations,
            performance: Some(Default::default()),
            ..ConversationReport::new("t".into())
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
        }
    }

    #[test]
    fn evaluators_and_gates_are_summed_up() {
        let evaluation = |score: f64| EvaluationReport {
            score: Some(score),
            status: if score > 0.5 { Status::Passed } else { Status::Failed },
            ..EvaluationReport::new("check")
        };
        let conversations = [1.0, 0.0, 1.0].map(|score| ConversationReport {
            evaluations: vec![evaluation(score)],
            ..ConversationReport::new("t".into())
        });
        let gates = vec![Gate::parse("check: mean >= 0.9", 0.9).unwrap()];
        let report =
            Report { conversations: conversations.to_vec().into(), gates, ..Report::default() };
        let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        let pass_rate = serde_json::json!(
            {"value": 0.666667, "lower": 0.094299, "upper": 0.991596, "confidence": 0.95}
        );
        let mean =
            serde_json::json!({"value": 0.666667, "lower": 0.0, "upper": 1.0, "confidence": 0.95});
        let check = serde_json::json!({
            "name": "check", "cases": 3, "passed": 2, "failed": 1, "errors": 0, "not_evaluated": 0,
            "mean": mean, "pass_rate": pass_rate,
        });
        assert_eq!(json["evaluators"], serde_json::json!([check]));
        let [gate] = &json["gates"].as_array().unwrap()[..] else { panic!("{json}") };
        for (key, value) in [
            ("evaluator", serde_json::json!("check")),
            ("measure", "mean".into()),
            ("limit", 0.9.into()),
            ("confidence", 0.9.into()),
            ("verdict", "inconclusive".into()),
            ("cases", 3.into()),
            ("value", 0.666667.into()),
        ] {
            assert_eq!(gate[key], value, "{key}");
        }
        assert!(gate["needed"].as_u64() > Some(3), "{gate}");
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
