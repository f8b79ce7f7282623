//! Entries of agentevals' configuration with a scripted judge.

use evaluator_json::{Value, count, python_eq};
use evaluator_metrics::Metrics;

use super::{
    check_vectors, list,
    metrics::{inputs, number, run, same_rubrics, same_score, status, turns},
    text,
};
use crate::judge::{
    Case, Criterion, Judge, JudgeMetric, JudgedTurn, Judgement, Refusal, Rubric, Rules, judge,
    material::ordered,
};

/// Returns the rubrics of an entry.
fn rubrics(evaluator: &Value) -> Vec<Rubric> {
    let rubrics = evaluator.get("rubrics").and_then(Value::as_array).unwrap_or_default();
    let rubrics = rubrics.iter().enumerate().map(|(index, rubric)| match rubric.as_str() {
        Some(text) => {
            Rubric { id: format!("rubric_{index}"), text: Some(text.to_owned()), kind: None }
        }
        None => Rubric {
            id: text(rubric, "id").to_owned(),
            text: Some(text(rubric, "text").to_owned()),
            kind: None,
        },
    });
    rubrics.collect()
}

/// Returns the turns with the rubrics of the case and of the golden turns.
fn with_rubrics(line: &Value, expected: Option<&[JudgedTurn]>) -> Vec<JudgedTurn> {
    let case = line.get("case_rubrics").and_then(Value::as_array).unwrap_or_default();
    let mut actual = turns(line, "actual_invocations").unwrap();
    for (index, turn) in actual.iter_mut().enumerate() {
        turn.rubrics.extend(case.iter().map(|rubric| Rubric::from_adk(rubric).unwrap()));
        let golden = expected.and_then(|expected| expected.get(index));
        turn.rubrics.extend(golden.into_iter().flat_map(|turn| turn.rubrics.clone()));
    }
    ordered(actual)
}

/// Returns the metrics of this crate.
fn metrics() -> Metrics {
    let mut metrics = Metrics::default();
    JudgeMetric::all().for_each(|metric| metrics.register(metric));
    metrics
}

/// Checks that the entry is refused; returns false for an entry that is fine here.
fn is_refused(evaluator: &Value) -> bool {
    let metrics = metrics();
    let name = text(evaluator, "name");
    let settings = evaluator.as_object().unwrap().iter();
    let settings = settings
        .filter(|(key, _)| *key == "rubrics")
        .map(|(key, value)| (key.clone(), value.clone()));
    let settings = settings.collect();
    metrics.configured(name, &settings).is_err()
}

fn compare(
    judge: &dyn Judge,
    judgement: &Judgement,
    case: &Case<'_>,
    result: &Value,
) -> Result<(), String> {
    let threshold = case.criterion.threshold;
    let check = |what: &str, same: bool| {
        if same { Ok(()) } else { Err(format!("{what}: {judgement:?}\n  instead of {result:?}")) }
    };
    check("score", same_score(judgement.score, result.get("score").unwrap()))?;
    check("status", status(judgement.score, threshold) == text(result, "eval_status"))?;
    let scores = list(result, "per_invocation_scores");
    let statuses = list(result, "per_invocation_statuses");
    check("rows", scores.len() == judgement.turns.len() && statuses.len() == scores.len())?;
    for ((turn, score), expected) in judgement.turns.iter().zip(scores).zip(statuses) {
        let same = Some(status(turn.score, threshold)) == expected.as_str();
        check("row", same && same_score(turn.score, score))?;
    }
    let Some(details) = result.get("details").filter(|details| !details.is_null()) else {
        return check("details", judgement.rubrics.is_none());
    };
    assert!(judge.name().starts_with("rubric_based"), "details of {}", judge.name());
    let overall = details.get("overall_rubric_scores").unwrap();
    check("rubrics", same_rubrics(judgement.rubrics.as_deref(), overall))?;
    let found = judgement.details(case);
    let per_turn = details.get("per_invocation").unwrap();
    check("details", python_eq(&found["per_invocation"], per_turn))?;
    let warned = judgement.warnings.iter().any(|warning| warning.contains("has no type"));
    check("warnings", details.get("warnings").is_some() == warned)
}

fn check(line: &Value) -> Result<(), String> {
    let evaluator = line.get("evaluator").unwrap();
    let result = line.get("result").unwrap();
    if result.get("config_error").is_some() {
        // These metrics work here. Thresholds are read by the host.
        let working =
            ["rubric_based_multi_turn_trajectory_quality_v1", "per_turn_user_simulator_quality_v1"];
        let fine = working.contains(&text(evaluator, "name"))
            || evaluator.get("threshold").is_some_and(|threshold| number(threshold) > 1.0);
        let refused = is_refused(evaluator);
        return if refused != fine { Ok(()) } else { Err(format!("refused: {refused}")) };
    }
    let Some(judge) = judge(text(evaluator, "name")) else {
        let metric = metrics().get(text(evaluator, "name")).unwrap();
        return metric.unavailable().map(|_| ()).ok_or_else(|| "available".to_owned());
    };
    let error = result.get("error").filter(|error| !error.is_null());
    let about_the_model = ["Model ", "credential", "Credential"];
    if error.is_some_and(|error| {
        about_the_model.iter().any(|start| error.as_str().unwrap().contains(start))
    }) {
        return Ok(());
    }
    let criterion = Criterion {
        threshold: evaluator.get("threshold").map_or(0.5, number),
        rubrics: rubrics(evaluator),
        rules: Rules::adk(),
        ..Criterion::default()
    };
    let expected = turns(line, "expected_invocations").filter(|turns| !turns.is_empty());
    let actual = with_rubrics(line, expected.as_deref());
    let case = Case { expected: expected.as_deref(), ..Case::new(&actual, &criterion) };
    let run = run(judge.as_ref(), &case, list(line, "replies"));
    if !python_eq(&count(run.calls), result.get("calls").unwrap()) {
        return Err(format!("{} calls: {:?}", run.calls, run.result));
    }
    let mut asked: Vec<Value> = Vec::new();
    for input in run.questions.iter().map(inputs) {
        if !asked.iter().any(|known| python_eq(known, &input)) {
            asked.push(input);
        }
    }
    match (&run.result, error) {
        (Err(Refusal::Failed(_)), Some(_)) => return Ok(()),
        (Err(Refusal::NotEvaluated(_)), None) if result.get("score").unwrap().is_null() => {
            return Ok(());
        }
        (Ok(judgement), None) => compare(judge.as_ref(), judgement, &case, result)?,
        (found, _) => return Err(format!("{found:?} instead of {result:?}")),
    }
    let wanted = result.get("prompt_inputs").unwrap();
    if python_eq(&Value::Array(asked.clone()), wanted) {
        Ok(())
    } else {
        Err(format!("inputs {asked:?}\n  instead of {wanted:?}"))
    }
}

#[test]
fn vectors_of_agentevals() {
    check_vectors("agentevals.jsonl", check);
}
