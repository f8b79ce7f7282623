//! Answers to AgentV.

use super::*;

fn written(result: &CodeJudgeResult) -> Value {
    serde_json::to_value(result).unwrap()
}

#[test]
fn every_generation_finds_its_rows() {
    let result = CodeJudgeResult::new(Score::new(0.7).unwrap())
        .reasoning("r")
        .assertion(Assertion::new("h", true).reason("x").evidence("e"))
        .miss("m")
        .detail("k", 1);
    assert_eq!(
        written(&result),
        json!({
            "pass": false, "score": 0.7, "reason": "r", "reasoning": "r", "hits": ["h"], "misses": ["m"],
            "assertions": [{"text": "h", "passed": true, "evidence": "e"}, {"text": "m", "passed": false}],
            "checks": [
                {"text": "h", "pass": true, "reason": "x", "evidence": "e"},
                {"text": "m", "pass": false, "reason": "m"},
            ],
            "details": {"k": 1},
        })
    );
    assert_eq!(
        written(&CodeJudgeResult::new(Score::ONE)),
        json!({"pass": true, "score": 1.0, "hits": [], "misses": [], "assertions": [], "checks": []})
    );
    assert_eq!(
        CodeJudgeResult::of([Assertion::new("a", true), Assertion::new("b", false)]).score,
        Score::ratio(1, 2)
    );
}

#[test]
fn judges_of_every_generation_are_read() {
    let read = |value: Value| serde_json::from_value::<CodeJudgeResult>(value).unwrap();
    let old = read(json!({"score": 0.5, "hits": ["a"], "misses": ["b"], "reasoning": "r"}));
    assert_eq!(
        (old.hits(), old.misses(), old.reasoning.as_deref()),
        (vec!["a"], vec!["b"], Some("r"))
    );
    let middle =
        read(json!({"score": 1, "assertions": [{"text": "a", "passed": true, "evidence": "e"}]}));
    assert_eq!(middle.assertions[0].evidence.as_deref(), Some("e"));
    let new = read(
        json!({"score": 0, "reason": "r", "checks": [{"text": "a", "pass": false, "reason": "why"}]}),
    );
    assert_eq!(
        (new.assertions[0].reason.as_deref(), new.reasoning.as_deref()),
        (Some("why"), Some("r"))
    );
    assert!(serde_json::from_value::<CodeJudgeResult>(json!({"score": 1.7})).is_err());
    assert!(serde_json::from_value::<CodeJudgeResult>(json!({"pass": true})).is_err());
}

#[test]
fn not_evaluated_has_no_answer() {
    let reply = Reply::AgentV;
    let error = reply.answer(EvalResult::not_evaluated("no golden turns")).unwrap_err();
    assert_eq!(error.to_string(), "not evaluated: no golden turns");
    let answer = reply.answer(EvalResult::new(Score::ONE).status(EvalStatus::Failed)).unwrap();
    let line: Value = serde_json::from_slice(&answer.to_line().unwrap()).unwrap();
    assert_eq!((&line["score"], &line["pass"]), (&json!(0.0), &json!(false)));
}

fn any_assertion() -> impl Strategy<Value = Assertion> {
    let text = || proptest::option::of(".{0,8}");
    (".{0,8}", any::<bool>(), text(), text()).prop_map(|(name, passed, evidence, reason)| {
        let mut assertion = Assertion::new(name, passed);
        assertion.evidence = evidence;
        // A reason that only repeats what stands in for it is none.
        assertion.reason = reason
            .filter(|reason| reason != assertion.evidence.as_ref().unwrap_or(&assertion.text));
        assertion
    })
}

proptest! {
    #[test]
    fn results_survive_being_written(
        score in 0.0..=1.0_f64,
        assertions in prop::collection::vec(any_assertion(), 0..5),
        reasoning in proptest::option::of(".{0,12}"),
    ) {
        let mut result = CodeJudgeResult::new(Score::new(score).unwrap());
        result.assertions = assertions;
        result.reasoning = reasoning;
        let value = serde_json::to_value(&result).unwrap();
        prop_assert_eq!(value["hits"].as_array().unwrap().len(), result.hits().len());
        prop_assert_eq!(value["checks"].as_array().unwrap().len(), result.assertions.len());
        prop_assert_eq!(serde_json::from_value::<CodeJudgeResult>(value).unwrap(), result);
    }

    #[test]
    fn results_of_the_default_contract_are_answered(
        score in 0.0..=1.0_f64,
        turns in prop::collection::vec(proptest::option::of(0.0..=1.0_f64), 0..4),
        details in prop::collection::btree_map("[a-z]{1,4}|issues|hits|reason|assertions|score", any_json(), 0..4),
        status in proptest::option::of(prop_oneof![Just(EvalStatus::Passed), Just(EvalStatus::Failed)]),
    ) {
        let mut result = EvalResult::new(Score::new(score).unwrap())
            .per_invocation_scores(turns.into_iter().map(|score| score.map(|score| Score::new(score).unwrap())));
        result.status = status;
        result.details = Some(details.clone().into_iter().collect());
        let answer = CodeJudgeResult::from_eval_result(result);
        let kept = answer.details.clone().unwrap_or_default();
        for (key, value) in &details {
            prop_assert_eq!(&kept[key], value);
        }
        let failed = status == Some(EvalStatus::Failed);
        prop_assert!(!failed || answer.score.get() < 0.5);
        prop_assert!(failed || answer.score.get() == score);
    }
}
