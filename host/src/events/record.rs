//! The records of a report.

use std::{borrow::Cow, collections::HashMap, io, iter};

use super::{EventSwitches, EventTurn};
use crate::{
    config::{Config, EvaluatorConfig, EvaluatorKind},
    json::Value,
    metric::Metrics,
    report::{ConversationReport, Estimate, EvaluationReport, GateResult, Report},
    verdict::Status,
};

/// Characters of an explanation; the rest is cut off.
const MAX_EXPLANATION_CHARS: usize = 2048;

/// Name of the result of an evaluation.
const EVALUATION: &str = "gen_ai.evaluation.result";
/// Name of the result of a gate.
const GATE: &str = "evaluator.gate.result";
/// Digits of fingerprints.
const FINGERPRINT: usize = 12;

/// A result of an evaluation or of a gate. If an id is not hexadecimal or too long, the record belongs to no span.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// Name of the event.
    pub name: &'static str,
    /// Trace of the judged span, in hexadecimal digits.
    pub trace_id: String,
    /// Id of the judged span, in hexadecimal digits.
    pub span_id: String,
    /// Names are unique.
    pub attributes: Vec<(&'static str, AttributeValue)>,
}

/// The value of an attribute, with its names and numbers in OTLP.
#[derive(Clone, PartialEq, prost::Oneof, serde::Serialize)]
#[non_exhaustive]
pub enum AttributeValue {
    /// Text.
    #[prost(string, tag = "1")]
    #[serde(rename = "stringValue")]
    Text(String),
    /// A number.
    #[prost(double, tag = "4")]
    #[serde(rename = "doubleValue")]
    Number(f64),
}

/// Returns the records of a report, in its order: those of evaluations, then one for each gate. Conversations without turns have
/// none.
///
/// An evaluation that scored turns has a record for each turn, any other has one for the last turn. The record of an error
/// has `error.type` and neither score nor label. The records of a repeated evaluation are followed by those of its repeats. A test of an eval file has a record, and one for each of its evaluators. For a conversation that cannot be read back there is an error instead.
pub fn records<'r>(
    report: &'r Report,
    config: &'r Config,
    metrics: &Metrics,
    switches: EventSwitches,
) -> impl Iterator<Item = io::Result<EventRecord>> {
    let evaluator_type = |evaluator: &'r EvaluatorConfig| match evaluator.kind {
        EvaluatorKind::Builtin(_) => {
            let is_judge = metrics.get(&evaluator.name).is_ok_and(|metric| metric.asks_judge());
            Some(if is_judge { "llm_judge" } else { "deterministic" })
        }
        EvaluatorKind::LlmJudge(_) => Some("llm_judge"),
        _ => None,
    };
    let types: HashMap<&str, Option<&'static str>> = config
        .evaluators
        .iter()
        .map(|evaluator| (evaluator.name.as_str(), evaluator_type(evaluator)))
        .collect();
    let run = OfRun::new(report);
    let gates = iter::once_with(|| gates(report)).flatten();
    let evaluations = report.conversations.iter().flat_map(move |conversation| {
        let conversation = match conversation {
            Ok(conversation) => conversation,
            Err(error) => return vec![Err(error)],
        };
        let mut records = Vec::new();
        for evaluation in &conversation.evaluations {
            if let Some(kind) = types.get(evaluation.name.as_str()) {
                add(&mut records, &conversation, evaluation, *kind, &run, switches);
                for (number, repeat) in (1..).zip(&evaluation.repeats) {
                    let first = records.len();
                    add(&mut records, &conversation, repeat, *kind, &run, switches);
                    let number = ("evaluator.repeat", AttributeValue::Number(number.into()));
                    records[first..].iter_mut().for_each(|it| it.attributes.push(number.clone()));
                }
                for member in evaluation.members().filter(|_| report.suite.is_some()) {
                    let kind = member.details.as_ref().and_then(|it| it.get("type")?.as_str());
                    let kind = match kind.unwrap_or_default() {
                        "llm-grader" | "rubrics" => Some("llm_judge"),
                        "code-grader" | "composite" => None,
                        _ => Some("deterministic"),
                    };
                    add(&mut records, &conversation, &member, kind, &run, switches);
                }
            }
        }
        records.into_iter().map(Ok).collect()
    });
    evaluations.chain(gates)
}

/// What all records of a run have.
struct OfRun<'r> {
    id: Option<&'r str>,
    set_id: Option<&'r str>,
    /// Beginnings of the fingerprints of evaluators.
    fingerprints: HashMap<&'r str, String>,
}

impl<'r> OfRun<'r> {
    fn new(report: &'r Report) -> Self {
        let header = report.header.as_deref();
        let fingerprints =
            header.iter().flat_map(|header| &header.evaluators).filter_map(|entry| {
                let digits = entry.fingerprint?.to_string();
                Some((entry.name.as_str(), digits.chars().take(FINGERPRINT).collect()))
            });
        Self {
            id: header.and_then(|header| header.id.as_deref()),
            set_id: report.eval_set_id.as_deref(),
            fingerprints: fingerprints.collect(),
        }
    }
}

/// Returns a record for each gate.
fn gates(report: &Report) -> Vec<io::Result<EventRecord>> {
    let results = match report.decide_gates() {
        Ok(results) => results,
        Err(error) => return vec![Err(error)],
    };
    let id = OfRun::new(report).id;
    let record = |result: GateResult| {
        let gate = &result.gate;
        let text = |name, value: String| (name, AttributeValue::Text(value));
        let number = |name, value| (name, AttributeValue::Number(value));
        let mut attributes = vec![
            text("evaluator.gate.name", gate.evaluator.clone()),
            text("evaluator.gate.measure", gate.measure.to_string()),
            number("evaluator.gate.limit", gate.limit),
            number("evaluator.gate.confidence", gate.confidence),
            text("evaluator.gate.verdict", result.verdict.as_str().to_owned()),
        ];
        if let Some(Estimate { n, mean, interval, .. }) = result.estimate {
            attributes.extend([
                number("evaluator.gate.mean", mean),
                number("evaluator.gate.lower", interval.lower),
                number("evaluator.gate.upper", interval.upper),
                number("evaluator.gate.n", n as f64),
            ]);
        }
        attributes.extend(id.map(|id| text("evaluator.run.id", id.to_owned())));
        let (trace_id, span_id) = Default::default();
        Ok(EventRecord { name: GATE, trace_id, span_id, attributes })
    };
    results.into_iter().map(record).collect()
}

/// Adds the records of one evaluation.
fn add(
    records: &mut Vec<EventRecord>,
    conversation: &ConversationReport,
    evaluation: &EvaluationReport,
    kind: Option<&str>,
    run: &OfRun<'_>,
    switches: EventSwitches,
) {
    let Some(context) = &conversation.events else { return };
    let Some(last) = context.turns.last() else { return };
    let error = evaluation.error.as_ref().map(|_| evaluation.error_type.unwrap_or("_OTHER"));
    let scores = &evaluation.per_invocation_scores;
    // A failure without a recorded turn is one of the whole evaluation.
    let by_turn = (1..=context.turns.len()).contains(&scores.len())
        && evaluation.failure_reason.is_none()
        && error.is_none();
    let results: Vec<(&EventTurn, Option<f64>, Status)> = if by_turn {
        let turns = context.turns.iter().zip(scores);
        turns.map(|(turn, score)| (turn, *score, status(*score, evaluation.threshold))).collect()
    } else {
        vec![(last, evaluation.score, evaluation.status)]
    };
    let own: Vec<_> = own_attributes(evaluation, run);
    let explanation = switches.explanation.then(|| explanation(evaluation)).flatten();
    for (turn, score, status) in results {
        let label = if error.is_none() { Some(label(score, status)) } else { None };
        let texts = [
            ("gen_ai.evaluation.name", Some(evaluation.name.as_str())),
            ("agentevals.eval.case.id", context.case_id.as_deref()),
            ("agentevals.eval_set.id", run.set_id),
            ("agentevals.evaluator.type", kind),
            ("gen_ai.evaluation.explanation", explanation.as_deref()),
            ("gen_ai.agent.name", turn.span.agent_name.as_deref()),
            ("gen_ai.conversation.id", turn.span.conversation_id.as_deref()),
            ("gen_ai.response.id", turn.response_id.as_deref()),
            ("error.type", error),
            ("gen_ai.evaluation.score.label", label),
        ];
        let score = score.filter(|_| error.is_none()).map(AttributeValue::Number);
        let number = score.map(|score| ("gen_ai.evaluation.score.value", score));
        let texts = texts.into_iter().filter_map(present);
        records.push(EventRecord {
            name: EVALUATION,
            trace_id: turn.span.trace_id.to_string(),
            span_id: turn.span.span_id.clone(),
            attributes: texts.chain(number).chain(own.iter().cloned()).collect(),
        });
    }
}

/// Returns an attribute with a text, unless it is empty.
fn present((name, text): (&'static str, Option<&str>)) -> Option<(&'static str, AttributeValue)> {
    let text = text.filter(|text| !text.is_empty())?;
    Some((name, AttributeValue::Text(text.to_owned())))
}

/// Returns the attributes outside of the conventions of OpenTelemetry and of agentevals.
fn own_attributes(
    evaluation: &EvaluationReport,
    run: &OfRun<'_>,
) -> Vec<(&'static str, AttributeValue)> {
    let judge = evaluation.details.as_ref().and_then(|details| details.get("judge"));
    let model = judge.and_then(|judge| judge.get("model")?.as_str());
    let fingerprint = run.fingerprints.get(&*evaluation.name).map(String::as_str);
    let texts = [
        ("evaluator.judge.model", model),
        ("evaluator.fingerprint", fingerprint),
        ("evaluator.run.id", run.id),
    ];
    let of_judge = |key| judge.and_then(|judge| judge.get(key)).and_then(number);
    let numbers = [
        ("evaluator.threshold", evaluation.threshold),
        ("evaluator.judge.samples", of_judge("samples")),
        ("evaluator.judge.agreement", of_judge("agreement")),
    ];
    let texts = texts.into_iter().filter_map(present);
    let numbers =
        numbers.into_iter().filter_map(|(name, it)| Some((name, AttributeValue::Number(it?))));
    texts.chain(numbers).collect()
}

/// Returns a number of details.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        other => other.as_i128().map(|number| number as f64),
    }
}

/// Returns the status of a turn, whose score has the threshold of the evaluation.
fn status(score: Option<f64>, threshold: Option<f64>) -> Status {
    match score.zip(threshold) {
        Some((score, threshold)) if score >= threshold => Status::Passed,
        Some(_) => Status::Failed,
        None => Status::NotEvaluated,
    }
}

fn label(score: Option<f64>, status: Status) -> &'static str {
    match status {
        Status::Passed if score.is_some() => "pass",
        Status::Failed if score.is_some() => "fail",
        _ => "not_evaluated",
    }
}

/// Returns the reason of the result, of limited length.
fn explanation(evaluation: &EvaluationReport) -> Option<String> {
    let own = evaluation.failure_reason.as_deref().map(Cow::Borrowed);
    let text = own.or_else(|| evaluation.reason())?;
    Some(text.chars().take(MAX_EXPLANATION_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{config::EvaluatorConfig, report::EventContext};

    fn evaluation(name: &str) -> EvaluationReport {
        let mut evaluation = EvaluationReport::new(name);
        (evaluation.score, evaluation.threshold) = (Some(0.5), Some(0.5));
        evaluation.status = Status::Passed;
        evaluation
    }

    /// Span id, and the attributes without the name of the evaluator.
    fn records_of(
        evaluation: EvaluationReport,
        explanation: bool,
    ) -> Vec<(String, serde_json::Value)> {
        let turn = |number: u64| {
            let mut turn = EventTurn::default();
            turn.span.span_id = number.to_string();
            turn
        };
        let name = evaluation.name.clone();
        let mut conversation = ConversationReport::new("t".into());
        conversation.turns = 2;
        conversation.evaluations = vec![evaluation];
        let turns = vec![turn(1), turn(2)];
        conversation.events = Some(EventContext { turns, ..EventContext::default() });
        let mut report = Report::default();
        report.conversations = vec![conversation].into();
        let mut config = Config::default();
        config.evaluators.push(EvaluatorConfig::code("own", "x.py"));
        config.evaluators.push(EvaluatorConfig::builtin("response_match_score"));
        config.evaluators.push(EvaluatorConfig::builtin("hallucinations_v1"));
        records(&report, &config, &crate::metric::built_in(), EventSwitches { explanation })
            .map(|record| {
                let record = record.unwrap();
                assert_eq!(record.attributes[0].1, AttributeValue::Text(name.clone()));
                let attributes = record.attributes[1..].iter().map(|(name, value)| {
                    let value = match value {
                        AttributeValue::Text(text) => json!(text),
                        AttributeValue::Number(number) => json!(number),
                    };
                    ((*name).to_owned(), value)
                });
                let mut attributes: serde_json::Map<_, _> = attributes.collect();
                assert_eq!(attributes.remove("evaluator.threshold"), Some(json!(0.5)));
                let attributes = serde_json::Value::Object(attributes);
                (record.span_id, attributes)
            })
            .collect()
    }

    fn expected(spans: &[(&str, serde_json::Value)]) -> Vec<(String, serde_json::Value)> {
        spans.iter().map(|(span, attributes)| ((*span).to_owned(), attributes.clone())).collect()
    }

    #[test]
    fn scores_of_turns_go_to_the_turns_and_others_to_the_last() {
        let whole =
            json!({"gen_ai.evaluation.score.value": 0.5, "gen_ai.evaluation.score.label": "pass"});
        assert_eq!(records_of(evaluation("own"), false), expected(&[("2", whole.clone())]));
        let with = |scores: &[Option<f64>]| {
            let mut evaluation = evaluation("own");
            evaluation.per_invocation_scores = scores.to_vec();
            evaluation
        };
        let fail =
            json!({"gen_ai.evaluation.score.value": 0.4, "gen_ai.evaluation.score.label": "fail"});
        let none = json!({"gen_ai.evaluation.score.label": "not_evaluated"});
        assert_eq!(
            records_of(with(&[Some(0.4), None]), false),
            expected(&[("1", fail.clone()), ("2", none)])
        );
        assert_eq!(records_of(with(&[Some(0.4)]), false), expected(&[("1", fail)]));
        assert_eq!(records_of(with(&[Some(0.4); 3]), false), expected(&[("2", whole)]));
    }

    #[test]
    fn a_failure_without_a_recorded_turn_is_one_of_the_whole_evaluation() {
        let mut failed = evaluation("own");
        failed.score = Some(1.0);
        failed.status = Status::Failed;
        failed.failure_reason = Some("2 of 3".to_owned());
        failed.per_invocation_scores = vec![Some(1.0)];
        let mut whole =
            json!({"gen_ai.evaluation.score.value": 1.0, "gen_ai.evaluation.score.label": "fail"});
        assert_eq!(records_of(failed.clone(), false), expected(&[("2", whole.clone())]));
        whole["gen_ai.evaluation.explanation"] = json!("2 of 3");
        assert_eq!(records_of(failed, true), expected(&[("2", whole)]));
    }

    #[test]
    fn errors_have_neither_score_nor_label() {
        let mut failed = evaluation("own");
        failed.error = Some("it broke".to_owned());
        failed.error_type = Some("timed_out");
        failed.per_invocation_scores = vec![Some(1.0)];
        let of_type = |kind: &str| expected(&[("2", json!({"error.type": kind}))]);
        assert_eq!(records_of(failed.clone(), false), of_type("timed_out"));
        failed.error_type = None;
        assert_eq!(records_of(failed, false), of_type("_OTHER"));
    }

    #[test]
    fn built_in_metrics_say_whether_a_model_judged() {
        for (name, kind) in
            [("response_match_score", "deterministic"), ("hallucinations_v1", "llm_judge")]
        {
            let (_, attributes) = records_of(evaluation(name), false).remove(0);
            assert_eq!(attributes["agentevals.evaluator.type"], kind);
        }
        assert_eq!(records_of(evaluation("(all)"), false), []);
    }

    #[test]
    fn explanations_are_sent_on_request_and_cut() {
        let of = |details: serde_json::Value| {
            let mut evaluation = evaluation("own");
            evaluation.details = Value::from(details).as_object().cloned();
            evaluation
        };
        let explained = |details, explanation| {
            let (_, attributes) = records_of(of(details), explanation).remove(0);
            attributes["gen_ai.evaluation.explanation"].as_str().map(str::to_owned)
        };
        let details = json!({"reason": " ", "explanation": "b", "rationale": "a"});
        assert_eq!(explained(details.clone(), true).as_deref(), Some("a"));
        assert_eq!(explained(details, false), None);
        assert_eq!(explained(json!({"reason": 3}), true), None);
        let long = explained(json!({"reason": "é".repeat(3000)}), true).unwrap();
        assert_eq!(long.chars().count(), MAX_EXPLANATION_CHARS);
    }
}
