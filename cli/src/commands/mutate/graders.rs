//! Results of the graders of a test of an eval file, as evaluations.

use evaluator_host::{
    json::Value,
    report::{EVALUATORS, EvaluationReport, Status},
};

/// Returns the results of the graders of a test, as evaluations by themselves. Of several with the same name, the worst counts.
pub(super) fn graders(evaluation: &EvaluationReport) -> Vec<EvaluationReport> {
    if !evaluation.repeats.is_empty() {
        let mut all: Vec<(String, Vec<EvaluationReport>)> = Vec::new();
        for grader in evaluation.repeats.iter().flat_map(graders) {
            match all.iter_mut().find(|(name, _)| *name == grader.name) {
                Some((_, repeats)) => repeats.push(grader),
                None => all.push((grader.name.clone(), vec![grader])),
            }
        }
        return all.into_iter().map(|(_, repeats)| EvaluationReport::combine(repeats)).collect();
    }
    let results = evaluation.details.as_ref().and_then(|details| details.get(EVALUATORS));
    let mut graders: Vec<EvaluationReport> = Vec::new();
    for result in results.and_then(Value::as_array).unwrap_or_default() {
        let Some(found) = grader(result) else { continue };
        let badness = |it: &EvaluationReport| match it.status {
            _ if it.error.is_some() => 2,
            Status::Passed => 0,
            _ => 1,
        };
        match graders.iter_mut().find(|it| it.name == found.name) {
            Some(known) if badness(known) < badness(&found) => *known = found,
            Some(_) => {}
            None => graders.push(found),
        }
    }
    graders
}

/// Returns the result of a grader as an evaluation.
fn grader(result: &Value) -> Option<EvaluationReport> {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let mut evaluation = EvaluationReport::new(text("name")?);
    match text("status")? {
        "error" => {
            let reason = text("reason").unwrap_or("it broke");
            (evaluation.error, evaluation.error_type) = (Some(reason.to_owned()), Some("grader"));
        }
        status => {
            evaluation.status = if status == "passed" { Status::Passed } else { Status::Failed };
            evaluation.score = match result.get("score") {
                Some(Value::Float(score)) => Some(*score),
                _ => None,
            };
        }
    }
    Some(evaluation)
}
