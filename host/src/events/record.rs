//! The records of a report.

use std::{collections::HashMap, io};

use super::{EventSwitches, EventTurn};
use crate::{
    config::{Config, EvaluatorKind},
    json::Value,
    metric::Metrics,
    report::{ConversationReport, EvaluationReport, Report},
    verdict::Status,
};

/// Explanations are cut after so many characters.
const MAX_EXPLANATION_CHARS: usize = 2048;
/// Where evaluators put explanations in their details, in order of precedence.
const EXPLANATION_KEYS: [&str; 3] = ["explanation", "rationale", "reason"];

/// One `gen_ai.evaluation.result`. With ids that are not hexadecimal, or too long, it is sent without a span.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// Trace of the judged span, in hexadecimal digits.
    pub trace_id: String,
    /// Id of the judged span, in hexadecimal digits.
    pub span_id: String,
    /// Names are unique.
    pub attributes: Vec<(&'static str, AttributeValue)>,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// Text.
    Text(String),
    /// A number.
    Number(f64),
}

/// The records of a report that carries what they need, in its order. Conversations without turns have none.
///
/// An evaluation has a record per turn if it scored the turns, else one on the last turn; one that broke has one on the
/// last turn too, with `error.type` and neither score nor label. A conversation that cannot be read back has an error
/// instead.
pub fn records<'r>(
    report: &'r Report,
    config: &'r Config,
    metrics: &Metrics,
    switches: EventSwitches,
) -> impl Iterator<Item = io::Result<EventRecord>> {
    let types: HashMap<&str, Option<&'static str>> = config
        .evaluators
        .iter()
        .map(|evaluator| {
            let judged = || metrics.get(&evaluator.name).is_ok_and(|metric| metric.asks_judge());
            let kind = match evaluator.kind {
                EvaluatorKind::Builtin(_) if judged() => Some("llm_judge"),
                EvaluatorKind::Builtin(_) => Some("deterministic"),
                _ => None,
            };
            (evaluator.name.as_str(), kind)
        })
        .collect();
    let set_id = report.eval_set_id.as_deref();
    report.conversations.iter().flat_map(move |conversation| {
        let conversation = match conversation {
            Ok(conversation) => conversation,
            Err(error) => return vec![Err(error)],
        };
        let mut records = Vec::new();
        for evaluation in &conversation.evaluations {
            if let Some(kind) = types.get(evaluation.name.as_str()) {
                add(&mut records, &conversation, evaluation, *kind, set_id, switches);
            }
        }
        records.into_iter().map(Ok).collect()
    })
}

fn add(
    records: &mut Vec<EventRecord>,
    conversation: &ConversationReport,
    evaluation: &EvaluationReport,
    kind: Option<&str>,
    set_id: Option<&str>,
    switches: EventSwitches,
) {
    let Some(context) = &conversation.events else { return };
    let Some(last) = context.turns.last() else { return };
    let scores = &evaluation.per_invocation_scores;
    // A reason that is about no recorded turn has no place in the records of the turns.
    let by_turn = !scores.is_empty()
        && scores.len() <= context.turns.len()
        && evaluation.failure_reason.is_none();
    let results: Vec<(&EventTurn, Outcome)> = if evaluation.error.is_some() {
        vec![(last, Outcome::Broken(evaluation.error_type.unwrap_or("_OTHER")))]
    } else if by_turn {
        let outcomes = scores.iter().map(|score| Outcome::of_turn(*score, evaluation.threshold));
        context.turns.iter().zip(outcomes).collect()
    } else {
        vec![(last, Outcome::Judged(evaluation.score, evaluation.status))]
    };
    let explanation = switches.explanation.then(|| explanation(evaluation)).flatten();
    for (turn, outcome) in results {
        let mut attributes = Vec::new();
        let mut text = |name, value: Option<&str>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                attributes.push((name, AttributeValue::Text(value.to_owned())));
            }
        };
        text("gen_ai.evaluation.name", Some(&evaluation.name));
        text("agentevals.eval.case.id", context.case_id.as_deref());
        text("agentevals.eval_set.id", set_id);
        text("agentevals.evaluator.type", kind);
        text("gen_ai.evaluation.explanation", explanation.as_deref());
        text("gen_ai.agent.name", turn.span.agent_name.as_deref());
        text("gen_ai.conversation.id", turn.span.conversation_id.as_deref());
        text("gen_ai.response.id", turn.response_id.as_deref());
        match outcome {
            Outcome::Broken(kind) => text("error.type", Some(kind)),
            Outcome::Judged(score, status) => {
                text("gen_ai.evaluation.score.label", Some(label(score, status)));
                if let Some(score) = score {
                    let name = "gen_ai.evaluation.score.value";
                    attributes.push((name, AttributeValue::Number(score)));
                }
            }
        }
        records.push(EventRecord {
            trace_id: turn.span.trace_id.to_string(),
            span_id: turn.span.span_id.clone(),
            attributes,
        });
    }
}

enum Outcome {
    Broken(&'static str),
    Judged(Option<f64>, Status),
}

impl Outcome {
    /// A turn has a score but no status; it is held against the same threshold.
    fn of_turn(score: Option<f64>, threshold: Option<f64>) -> Self {
        let status = match (score, threshold) {
            (Some(score), Some(threshold)) if score >= threshold => Status::Passed,
            (Some(_), Some(_)) => Status::Failed,
            _ => Status::NotEvaluated,
        };
        Self::Judged(score, status)
    }
}

fn label(score: Option<f64>, status: Status) -> &'static str {
    match status {
        _ if score.is_none() => "not_evaluated",
        Status::Passed => "pass",
        Status::Failed => "fail",
        Status::NotEvaluated => "not_evaluated",
    }
}

fn explanation(evaluation: &EvaluationReport) -> Option<String> {
    let details = evaluation.details.as_ref();
    let explained = EXPLANATION_KEYS
        .iter()
        .filter_map(|key| details.and_then(|details| details.get(*key)).and_then(Value::as_str));
    evaluation
        .failure_reason
        .as_deref()
        .into_iter()
        .chain(explained)
        .find(|text| !text.is_empty())
        .map(|text| text.chars().take(MAX_EXPLANATION_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{config::EvaluatorConfig, conversation::JudgedSpan, events::EventContext};

    fn evaluation(name: &str) -> EvaluationReport {
        EvaluationReport {
            name: name.to_owned(),
            score: Some(0.5),
            threshold: Some(0.5),
            status: Status::Passed,
            failure_reason: None,
            per_invocation_scores: Vec::new(),
            duration: None,
            error: None,
            headline: None,
            error_type: None,
            stderr: None,
            attempts: 1,
            warnings: Vec::new(),
            details: None,
        }
    }

    /// Span id, and the attributes without the name of the evaluator.
    fn told(evaluation: EvaluationReport, explanation: bool) -> Vec<(String, serde_json::Value)> {
        let turn = |number: u64| EventTurn {
            span: JudgedSpan { span_id: number.to_string(), ..JudgedSpan::default() },
            response_id: None,
        };
        let name = evaluation.name.clone();
        let conversation = ConversationReport {
            trace_id: "t".into(),
            turns: 2,
            warnings: Vec::new(),
            evaluations: vec![evaluation],
            performance: None,
            events: Some(EventContext { case_id: None, turns: vec![turn(1), turn(2)] }),
        };
        let report = Report { conversations: vec![conversation].into(), ..Report::default() };
        let mut config = Config::default();
        config.evaluators.push(EvaluatorConfig::code("own", "x.py"));
        config.evaluators.push(EvaluatorConfig::builtin("response_match_score"));
        config.evaluators.push(EvaluatorConfig::builtin("hallucinations_v1"));
        records(&report, &config, &Metrics::default(), EventSwitches { explanation })
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
                let attributes = serde_json::Value::Object(attributes.collect());
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
        assert_eq!(told(evaluation("own"), false), expected(&[("2", whole.clone())]));
        let with = |scores: &[Option<f64>]| EvaluationReport {
            per_invocation_scores: scores.to_vec(),
            ..evaluation("own")
        };
        let fail =
            json!({"gen_ai.evaluation.score.value": 0.4, "gen_ai.evaluation.score.label": "fail"});
        let none = json!({"gen_ai.evaluation.score.label": "not_evaluated"});
        assert_eq!(
            told(with(&[Some(0.4), None]), false),
            expected(&[("1", fail.clone()), ("2", none)])
        );
        assert_eq!(told(with(&[Some(0.4)]), false), expected(&[("1", fail)]));
        assert_eq!(told(with(&[Some(0.4); 3]), false), expected(&[("2", whole)]));
    }

    #[test]
    fn a_failure_that_no_turn_shows_is_one_of_the_whole_evaluation() {
        let failed = EvaluationReport {
            score: Some(1.0),
            status: Status::Failed,
            failure_reason: Some("2 of 3".to_owned()),
            per_invocation_scores: vec![Some(1.0)],
            ..evaluation("own")
        };
        let mut whole =
            json!({"gen_ai.evaluation.score.value": 1.0, "gen_ai.evaluation.score.label": "fail"});
        assert_eq!(told(failed.clone(), false), expected(&[("2", whole.clone())]));
        whole["gen_ai.evaluation.explanation"] = json!("2 of 3");
        assert_eq!(told(failed, true), expected(&[("2", whole)]));
    }

    #[test]
    fn what_broke_has_neither_score_nor_label() {
        let broken = EvaluationReport {
            error: Some("it broke".to_owned()),
            headline: None,
            error_type: Some("timed_out"),
            per_invocation_scores: vec![Some(1.0)],
            ..evaluation("own")
        };
        let of_type = |kind: &str| expected(&[("2", json!({"error.type": kind}))]);
        assert_eq!(told(broken.clone(), false), of_type("timed_out"));
        assert_eq!(told(EvaluationReport { error_type: None, ..broken }, false), of_type("_OTHER"));
    }

    #[test]
    fn built_in_metrics_say_whether_a_model_judged() {
        for (name, kind) in
            [("response_match_score", "deterministic"), ("hallucinations_v1", "llm_judge")]
        {
            let (_, attributes) = told(evaluation(name), false).remove(0);
            assert_eq!(attributes["agentevals.evaluator.type"], kind);
        }
        assert_eq!(told(evaluation("(all)"), false), []);
    }

    #[test]
    fn explanations_are_told_on_request_and_cut() {
        let of = |details: serde_json::Value| EvaluationReport {
            details: Value::from(details).as_object().cloned(),
            ..evaluation("own")
        };
        let explained = |details, explanation| {
            let (_, attributes) = told(of(details), explanation).remove(0);
            attributes["gen_ai.evaluation.explanation"].as_str().map(str::to_owned)
        };
        let details = json!({"explanation": "", "reason": "b", "rationale": "a"});
        assert_eq!(explained(details.clone(), true).as_deref(), Some("a"));
        assert_eq!(explained(details, false), None);
        assert_eq!(explained(json!({"reason": 3}), true), None);
        let long = explained(json!({"reason": "é".repeat(3000)}), true).unwrap();
        assert_eq!(long.chars().count(), MAX_EXPLANATION_CHARS);
    }
}
