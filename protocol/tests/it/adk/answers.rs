//! Answers to ADK.

use super::*;

/// Returns the answer to ADK for a result by an evaluator of the default contract.
fn answered(text: &str, result: EvalResult) -> Value {
    let reply = Document::read(text.as_bytes()).unwrap().reply();
    let answer = reply.answer(result).unwrap();
    reply.check(&answer).unwrap();
    serde_json::to_value(&answer).unwrap()
}

#[test]
fn a_result_is_told_with_a_row_for_each_turn() {
    let half = Score::ratio(1, 2);
    assert_eq!(
        answered(STATIC, EvalResult::mean_of([Score::ZERO, Score::ONE])),
        serde_json::from_str::<Value>(include_str!("../../data/adk/result_minimal.json")).unwrap()
    );
    // Without scores of turns, or with ones that are not theirs, the overall one holds for each.
    let row = json!({"score": 0.5, "eval_status": 1});
    let plain = json!({"overall_score": 0.5, "overall_eval_status": 1, "per_invocation_results": [row, row]});
    assert_eq!(answered(STATIC, EvalResult::new(half)), plain);
    let mut odd = plain.clone();
    odd["overall_rubric_scores"] =
        json!([{"rubric_id": "per_invocation_scores", "rationale": "[1.0,null,0.0]"}]);
    let scores = [Some(Score::ONE), None, Some(Score::ZERO)];
    assert_eq!(answered(STATIC, EvalResult::new(half).per_invocation_scores(scores)), odd);
    // The evaluator's own word counts more than the threshold; a turn without a score was not evaluated.
    let result = |scores: [Option<Score>; 2]| EvalResult::new(half).per_invocation_scores(scores);
    assert_eq!(
        answered(STATIC, result([None, Some(Score::ZERO)]).status(Plain::Passed)),
        json!({"overall_score": 0.5, "overall_eval_status": 1, "per_invocation_results": [
            {"eval_status": 3}, {"score": 0.0, "eval_status": 2}]})
    );
}

/// For tests, ADK forms its own status of the rows.
#[test]
fn a_failure_does_not_pass_by_its_rows() {
    let row = |score: f64| json!({"score": score, "eval_status": 2});
    let scores = |text: &str| json!([{"rubric_id": "per_invocation_scores", "rationale": text}]);
    let failed = EvalResult::new(Score::ratio(9, 10)).status(Plain::Failed);
    assert_eq!(
        answered(STATIC, failed.per_invocation_scores([None, Some(Score::ONE)])),
        json!({"overall_score": 0.9, "overall_eval_status": 2, "per_invocation_results": [row(0.0), row(0.0)],
            "overall_rubric_scores": scores("[null,1.0]")})
    );
    // The worst turn decides here, and not the mean.
    let worst = EvalResult::new(Score::ratio(1, 5));
    assert_eq!(
        answered(STATIC, worst.per_invocation_scores([Score::ratio(1, 5), Score::ONE])),
        json!({"overall_score": 0.2, "overall_eval_status": 2, "per_invocation_results": [row(0.2), row(0.2)],
            "overall_rubric_scores": scores("[0.2,1.0]")})
    );
}

#[test]
fn not_evaluated_is_no_score() {
    assert_eq!(
        answered(SCENARIO, EvalResult::not_evaluated("no golden turns")),
        json!({"overall_score": null, "overall_eval_status": 3,
            "per_invocation_results": [{"eval_status": 3}, {"eval_status": 3}, {"eval_status": 3}],
            "overall_rubric_scores": [{"rubric_id": "reason", "rationale": "no golden turns"}]})
    );
}

#[test]
fn details_are_told_as_rationales() {
    let result = EvalResult::new(Score::ONE)
        .detail("why", "long enough")
        .detail("issues", json!(["a", {"b": 1}]));
    assert_eq!(
        answered(STATIC, result)["overall_rubric_scores"],
        json!([{"rubric_id": "issues", "rationale": "[\"a\",{\"b\":1}]"}, {"rubric_id": "why", "rationale": "long enough"}])
    );
}

#[test]
fn without_a_threshold_a_score_is_for_information() {
    let document =
        json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": [{}]}).to_string();
    let row = json!({"score": 1.0, "eval_status": 4});
    assert_eq!(
        answered(&document, EvalResult::new(Score::ONE)),
        json!({"overall_score": 1.0, "overall_eval_status": 4, "per_invocation_results": [row]})
    );
    assert_eq!(
        answered(&document, EvalResult::new(Score::ONE).status(Plain::Passed))["overall_eval_status"],
        1
    );
}

#[test]
fn the_rows_of_a_verdict_are_counted() {
    let reply = Document::read(STATIC.as_bytes()).unwrap().reply();
    let row = PerInvocationResult::new(Score::ONE, EvalStatus::Passed);
    for (status, rows, fits) in [
        (EvalStatus::Passed, 2, true),
        (EvalStatus::Passed, 1, false),
        (EvalStatus::Failed, 3, false),
        (EvalStatus::Failed, 0, false),
        (EvalStatus::NotEvaluated, 0, true),
        (EvalStatus::Informational, 1, true),
    ] {
        let result = EvaluationResult::new(Score::ONE, status).rows(vec![row.clone(); rows]);
        assert_eq!(reply.check(&Answer::Adk(Box::new(result))).is_ok(), fits, "{status} {rows}");
    }
    let result = EvaluationResult::new(Score::ONE, EvalStatus::Passed).rows([row]);
    assert_eq!(
        reply.check(&Answer::Adk(Box::new(result))).unwrap_err().to_string(),
        "`per_invocation_results` has a length of 1, and `actual_invocations` one of 2: a result that is PASSED or FAILED \
         has a row for each turn, in order"
    );
}

#[test]
fn results_of_others_are_read_as_adk_reads_them() {
    let read = |text: &str| serde_json::from_str::<EvaluationResult>(text);
    assert_eq!(read("{}").unwrap(), EvaluationResult::not_evaluated());
    assert_eq!(
        read(r#"{"overallScore":1,"overallEvalStatus":1}"#).unwrap(),
        EvaluationResult::not_evaluated()
    );
    for status in ["1", "1.0", "true"] {
        let text = format!(r#"{{"overall_eval_status":{status}}}"#);
        assert_eq!(read(&text).unwrap().overall_eval_status, EvalStatus::Passed);
    }
    for status in [r#""PASSED""#, r#""1""#, "5", "0", "null", "1.5", "-1", "false"] {
        assert!(read(&format!(r#"{{"overall_eval_status":{status}}}"#)).is_err(), "{status}");
    }
    assert_eq!(read(r#"{"overall_score":"0.5"}"#).unwrap().overall_score, Some(Score::ratio(1, 2)));
    // Any number goes in ADK. Here a score is one.
    assert!(read(r#"{"overall_score":7}"#).is_err());
    let rubrics = include_str!("../../data/adk/result_rubrics.json");
    assert_eq!(
        serde_json::to_value(read(rubrics).unwrap()).unwrap(),
        serde_json::from_str::<Value>(rubrics).unwrap()
    );
}

#[test]
fn results_are_built_from_scores() {
    let metric = EvalMetric::new("m").with_threshold(0.5);
    let result = EvaluationResult::mean_of([Some(Score::ONE), None, Some(Score::ZERO)], &metric);
    assert_eq!(result.overall_eval_status, EvalStatus::Passed);
    let statuses: Vec<u8> =
        result.per_invocation_results.iter().map(|row| row.eval_status.number()).collect();
    assert_eq!(statuses, [1, 3, 2]);
    let nothing = EvaluationResult::mean_of([None::<Score>], &metric);
    assert_eq!(
        (nothing.overall_score, nothing.overall_eval_status),
        (None, EvalStatus::NotEvaluated)
    );
    let with_reason =
        nothing.rubric_score(RubricScore::explanation("why", "nothing to compare with"));
    assert_eq!(with_reason.overall_rubric_scores.unwrap().len(), 1);
}

fn turns() -> impl Strategy<Value = Vec<Option<u32>>> {
    proptest::collection::vec(proptest::option::of(0..=100_u32), 0..6)
}

/// Whether ADK's `AgentEvaluator` finds that rows have passed: it learns of them whether more is better, where they agree.
fn passes_by_its_rows(answered: &EvaluationResult, threshold: f64) -> bool {
    let rows = answered.per_invocation_results.iter();
    let scored = || rows.clone().filter_map(|row| Some((row.score?, row.eval_status)));
    let Some(mean) = Score::mean(scored().map(|(score, _)| score)) else { return false };
    let mut directions: Vec<bool> = scored()
        .filter(|(score, status)| score.get() != threshold && status.is_verdict())
        .map(|(score, status)| (score.get() > threshold) == (status == EvalStatus::Passed))
        .collect();
    directions.dedup();
    if directions == [false] { mean.get() <= threshold } else { mean.get() >= threshold }
}

proptest! {
    /// Whatever an evaluator of the default contract says, ADK gets as many rows as there are turns, and a verdict only on a
    /// score that an evaluator gave.
    #[test]
    fn every_result_has_its_rows(
        scores in turns(),
        overall in 0..=100_u32,
        status in proptest::option::of(0..3_usize),
        turns in 0..6_usize,
        threshold in proptest::option::of(-1.0..2.0_f64),
    ) {
        let score = |percent: u32| Score::new(f64::from(percent) / 100.0).unwrap();
        let mut result = EvalResult::new(score(overall))
            .per_invocation_scores(scores.iter().map(|percent| percent.map(score)));
        result.status = status.map(|index| [Plain::Passed, Plain::Failed, Plain::NotEvaluated][index]);
        let answered = EvaluationResult::from_eval_result(result.clone(), turns, threshold);
        prop_assert_eq!(answered.per_invocation_results.len(), turns);
        prop_assert!(answered.check_rows(turns).is_ok());
        match result.status {
            Some(status) => prop_assert_eq!(answered.overall_eval_status, EvalStatus::from(status)),
            None => prop_assert_eq!(answered.overall_eval_status, EvalStatus::of(result.score, threshold)),
        }
        if let (EvalStatus::Failed, Some(threshold)) = (answered.overall_eval_status, threshold) {
            prop_assert!(!passes_by_its_rows(&answered, threshold));
        }
        let is_evaluated = answered.overall_eval_status != EvalStatus::NotEvaluated;
        prop_assert_eq!(answered.overall_score, is_evaluated.then_some(result.score));
        for row in &answered.per_invocation_results {
            prop_assert_eq!(row.score.is_none(), row.eval_status == EvalStatus::NotEvaluated);
        }
    }
}
