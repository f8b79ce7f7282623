//! Metrics of ADK with a scripted judge: the same scores from the same replies.

use std::{env, fs, path::PathBuf};

use evaluator_json::{ParseOptions, Value, parse};
use evaluator_metrics::Outcome;

use crate::{
    Environment, JudgeSettings, Judged, Session, Subject,
    judge::{Case, Criterion, JudgedTurn, OnFailure, Rubric, Scenario, judge},
};

/// Metrics with vectors.
const METRICS: [&str; 6] = [
    "final_response_match_v2",
    "hallucinations_v1",
    "per_turn_user_simulator_quality_v1",
    "rubric_based_final_response_quality_v1",
    "rubric_based_multi_turn_trajectory_quality_v1",
    "rubric_based_tool_use_quality_v1",
];

fn directory() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    env::var_os("EVALUATOR_VECTORS_DIR").map_or(own, PathBuf::from).join("judges")
}

fn json(text: &str) -> Value {
    parse(text, &ParseOptions::default()).unwrap().value
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        other => other.as_i128().map(|number| f64::from(i32::try_from(number).unwrap())),
    }
}

fn turns(line: &Value, key: &str) -> Option<Vec<JudgedTurn>> {
    let turns = line.get(key)?.as_array()?;
    Some(turns.iter().map(|turn| JudgedTurn::from_adk(turn).unwrap()).collect())
}

fn criterion(line: &Value) -> Criterion {
    let criterion = line.get("criterion").unwrap();
    let flag = |key| criterion.get(key).and_then(Value::as_bool).unwrap_or_default();
    let options = criterion.get("judge_model_options");
    let samples = options.and_then(|options| options.get("num_samples")?.as_i128());
    let rubrics = criterion.get("rubrics").and_then(Value::as_array).unwrap_or_default();
    let default = Criterion::default();
    Criterion {
        threshold: criterion.get("threshold").and_then(number).unwrap(),
        samples: samples.map_or(default.samples, |samples| usize::try_from(samples).unwrap()),
        include_intermediate: flag("include_intermediate_responses_in_final"),
        check_intermediate: flag("evaluate_intermediate_nl_responses"),
        stop_signal: match criterion.get("stop_signal") {
            Some(signal) => signal.as_str().unwrap().to_owned(),
            None => default.stop_signal.clone(),
        },
        rubrics: rubrics.iter().map(|rubric| Rubric::from_adk(rubric).unwrap()).collect(),
        ..default
    }
}

fn judged(line: &Value) -> Judged {
    let replies = line.get("replies").and_then(Value::as_array).unwrap();
    let replies: Vec<String> = replies
        .iter()
        .map(|reply| evaluator_json::to_string(reply, evaluator_json::NonFinite::Null))
        .collect();
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("replies.jsonl");
    fs::write(&script, replies.join("\n")).unwrap();
    let settings = JudgeSettings {
        models: vec![format!("fake:{}", script.display())],
        errors: Some(OnFailure::NotEvaluated),
        min_readable: Some(1),
        ..JudgeSettings::default()
    };
    let session = Session::new(settings, Environment::new(|_| None)).unwrap();
    let connection = session.connect("e", &JudgeSettings::default()).unwrap();
    let criterion = connection.settings().criterion(criterion(line));
    let (actual, expected) =
        (turns(line, "actual_invocations").unwrap(), turns(line, "expected_invocations"));
    let scenario = line.get("conversation_scenario").filter(|scenario| !scenario.is_null());
    let scenario = scenario.map(|scenario| Scenario::from_adk(scenario).unwrap());
    let mut case = Case::new(&actual, &criterion);
    case.expected = expected.as_deref();
    case.scenario = scenario.as_ref();
    let metric = judge(text(line, "metric")).unwrap();
    let subject = Subject::new(metric.name(), "conversation c");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(connection.judge(&*metric, &case, &subject))
}

/// Returns what differs from the recorded result.
fn difference(line: &Value, judged: &Judged) -> Option<String> {
    let result = line.get("result").unwrap();
    let found = |text: &str| Some(format!("{text}: {:?} instead of {result:?}", judged.outcome));
    let (score, rows, passed) = match &judged.outcome {
        Outcome::Failed { .. } if result.get("exception").is_some() => return None,
        Outcome::NotEvaluated { .. } if result.get("exception").is_some() => {
            // Without golden turns ADK raises, and there is nothing to compare with.
            let is_missing = line.get("expected_invocations").is_none_or(Value::is_null);
            return if is_missing { None } else { found("exception") };
        }
        Outcome::Failed { .. } => return found("failed"),
        Outcome::NotEvaluated { .. } => (None, None, None),
        Outcome::Scored(scored) => (Some(scored.score), Some(&scored.per_turn), scored.passed),
    };
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-12,
        (a, b) => a.is_none() && b.is_none(),
    };
    if !near(score, result.get("overall_score").and_then(number)) {
        return found("score");
    }
    let status = match (score, passed) {
        (None, _) => "NOT_EVALUATED",
        (_, Some(true)) => "PASSED",
        _ => "FAILED",
    };
    if status != text(result, "overall_status") {
        return found("status");
    }
    let expected = result.get("per_invocation").and_then(Value::as_array).unwrap_or_default();
    let same = rows.is_none_or(|rows| {
        rows.len() == expected.len()
            && rows
                .iter()
                .zip(expected)
                .all(|(row, expected)| near(*row, expected.get("score").and_then(number)))
    });
    if !same {
        return found("rows");
    }
    let calls = judged.details["judge"].get("calls").and_then(Value::as_i128);
    if calls != result.get("calls").and_then(Value::as_i128) {
        return found("calls");
    }
    None
}

/// Returns true if the result is one of ADK's that is not copied: a defect, or a reading that lets failures pass.
fn deviates(line: &Value) -> bool {
    let tags = line.get("tags").and_then(Value::as_array).unwrap_or_default();
    let replies =
        evaluator_json::to_string(line.get("replies").unwrap(), evaluator_json::NonFinite::Null);
    tags.iter().any(|tag| tag.as_str() == Some("upstream-defect"))
        || replies.contains("is_the_agent_response_invalid")
        || replies.contains(r#""thought":"#)
}

/// Returns the ids of vectors with replies that ADK reads and that are ambiguous.
fn stricter() -> Vec<String> {
    let known = fs::read_to_string(directory().join("stricter.jsonl")).unwrap();
    known.lines().map(|line| text(&json(line), "id").to_owned()).collect()
}

#[test]
fn vectors_through_a_scripted_model() {
    let (mut wrong, mut count, mut deviations) = (Vec::new(), 0, 0);
    let stricter = stricter();
    for metric in METRICS {
        let file = directory().join(format!("{metric}.jsonl"));
        for line in fs::read_to_string(&file).unwrap().lines() {
            let line = json(line);
            count += 1;
            if let Some(difference) = difference(&line, &judged(&line)) {
                if stricter.iter().any(|id| id == text(&line, "id")) {
                    continue;
                }
                if deviates(&line) {
                    deviations += 1;
                } else {
                    wrong.push(format!(
                        "{} ({}): {difference}",
                        text(&line, "id"),
                        text(&line, "note")
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(deviations * 10 < count, "{deviations} of {count} deviate");
}
