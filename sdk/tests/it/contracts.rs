//! Evaluators written against each of the contracts, and one that serves all of them.

use evaluator_sdk::{
    EvalInput, Expected, Score, Trajectory, evaluator,
    protocol::{adk::MetricInput, agenta::EvaluateInput},
    testing,
};
use serde_json::{Value, json};

#[evaluator(contract = adk)]
fn turns(actual_invocations: &[Value], _eval_metric: Value) -> bool {
    actual_invocations.len() == 1
}

#[evaluator(contract = agenta)]
fn exact_match(output: &str, correct_answer: String) -> f64 {
    if output == correct_answer { 1.0 } else { 0.0 }
}

#[evaluator]
fn any(_input: &EvalInput) -> Result<Score, std::fmt::Error> {
    Ok(Score::ONE)
}

#[test]
fn arguments_are_matched_by_name() {
    let document = json!({"eval_metric": {"metric_name": "turns"}, "actual_invocations": [{}]});
    let answer = testing::answer_json(&turns::EVALUATOR, document.to_string()).unwrap();
    assert_eq!(answer["overall_score"], 1.0);
    let document = json!({"app_params": {}, "inputs": {}, "output": "a", "correct_answer": "b"});
    let answer = testing::answer_json(&exact_match::EVALUATOR, document.to_string()).unwrap();
    assert_eq!(answer, json!({"score": 0.0, "success": false}));
    assert_eq!(exact_match("a", "a".to_owned()), 1.0);
}

/// An evaluator that takes everything there is, and the names of it.
macro_rules! takes_all {
    ($contract:ident, $evaluator:ident, $names:ident: $($name:ident),*) => {
        const $names: &[&str] = &[$(stringify!($name)),*];

        #[evaluator(contract = $contract)]
        #[allow(clippy::too_many_arguments, reason = "all there are, which are few in one contract")]
        fn $evaluator($($name: Option<Value>),*) -> bool {
            [$($name),*].iter().all(Option::is_none)
        }
    };
}

takes_all!(adk, all_of_adk, OF_ADK:
    eval_metric, actual_invocations, expected_invocations, conversation_scenario);
takes_all!(agenta, all_of_agenta, OF_AGENTA:
    app_params, inputs, output, correct_answer, outputs, trace, parameters, testcase);

/// The macro cannot ask the protocol for the names, so that each has a list of them.
#[test]
fn the_macro_takes_every_argument_that_documents_have() {
    assert_eq!(OF_ADK, MetricInput::PARAMETERS);
    assert_eq!(OF_AGENTA, EvaluateInput::PARAMETERS);
    assert_eq!(
        (all_of_adk::EVALUATOR.contract(), all_of_agenta::EVALUATOR.contract()),
        ("adk", "agenta")
    );
    assert!(all_of_adk(None, None, None, None));
    assert!(all_of_agenta(None, None, None, None, None, None, None, None));
}

#[test]
fn a_missing_argument_is_named() {
    let document = json!({"inputs": {}, "output": "a"});
    let failure = testing::answer_json(&exact_match::EVALUATOR, document.to_string()).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "correct_answer: the document has none (an evaluator that can do without it takes an `Option`)"
    );
}

#[test]
fn an_evaluator_of_the_default_contract_serves_every_host() {
    for document in [
        json!({"metric_name": "any"}),
        json!({"candidate_answer": "x"}),
        json!({"eval_metric": {"metric_name": "any"}, "actual_invocations": [{}]}),
        json!({"inputs": {}, "output": "a"}),
    ] {
        testing::answer_json(&any::EVALUATOR, document.to_string()).unwrap();
    }
}

#[evaluator]
fn compares(golden: Expected<'_>) -> bool {
    !golden.is_empty()
}

/// A conversation without golden turns is not an error, whichever host sends it: some conversations have no golden case.
#[test]
fn without_golden_turns_documents_of_every_host_are_not_evaluated() {
    let judge = |document: Value| testing::answer_json(&compares::EVALUATOR, document.to_string());
    let scenario = json!({"eval_metric": {"metric_name": "m", "criterion": {"threshold": 0.0}}, "actual_invocations": [{}],
                          "expected_invocations": null});
    let answer = judge(scenario).unwrap();
    assert_eq!(
        (&answer["overall_score"], &answer["overall_eval_status"]),
        (&Value::Null, &json!(3))
    );
    for document in [json!({"candidate_answer": "x"}), json!({"inputs": {}, "output": "a"})] {
        let failure = judge(document).unwrap_err();
        assert_eq!(failure.kind(), "not_evaluated");
        let message =
            "not evaluated: expected_invocations: this evaluator compares with golden turns";
        assert!(failure.message().starts_with(message), "{failure}");
    }
    for document in
        [json!({"metric_name": "m"}), json!({"metric_name": "m", "expected_invocations": null})]
    {
        let answer = judge(document).unwrap();
        assert_eq!((&answer["status"], &answer["score"]), (&json!("NOT_EVALUATED"), &json!(0.0)));
        let reason = answer["details"]["reason"].as_str().unwrap();
        assert!(reason.contains("compares with golden turns"), "{reason}");
    }
    // What is there and wrong is an error.
    let failure = judge(json!({"metric_name": "m", "expected_invocations": 3})).unwrap_err();
    assert_eq!(failure.kind(), "input");
}

#[evaluator]
fn frugal(turns: Trajectory<'_>) -> bool {
    turns.iter().all(|turn| turn.intermediate_steps.tool_calls.is_empty())
}

#[evaluator]
fn frugal_if_known(turns: Option<Trajectory<'_>>) -> f64 {
    turns.map_or(0.25, |_| 1.0)
}

/// No calls of tools are nothing that an agent did where its host tells of none.
#[test]
fn calls_of_tools_are_judged_only_where_they_are_told() {
    let judge = |document: &Value| testing::answer_json(&frugal::EVALUATOR, document.to_string());
    let score = |document: &Value, key: &str| {
        let document = document.to_string();
        let answer = testing::answer_json(&frugal_if_known::EVALUATOR, document).unwrap();
        answer[key].clone()
    };
    let of_adk = |data: Value| {
        let turns = json!([{"intermediate_data": null}, {"intermediate_data": data}]);
        json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": turns, "expected_invocations": null})
    };

    for document in [
        json!({"criteria": "c", "output": "a"}),
        json!({"criteria": "c", "output": "a", "messages": []}),
        json!({"inputs": {}, "outputs": "a", "trace": {"spans": {}}}),
        // What passes documents of other hosts on says so.
        json!({"metric_name": "m", "invocations": [{}], "tool_calls_known": false}),
    ] {
        match judge(&document) {
            Ok(answer) => assert_eq!(answer["status"], "NOT_EVALUATED", "{document}"),
            Err(failure) => {
                assert_eq!(failure.kind(), "not_evaluated", "{document}");
                let message = "not evaluated: invocations: this evaluator judges tool calls, which";
                assert!(failure.message().starts_with(message), "{failure}");
            }
        }
        assert_eq!(score(&document, "score"), 0.25, "{document}");
    }
    let answer = judge(&of_adk(Value::Null)).unwrap();
    assert_eq!(answer["overall_eval_status"], 3, "{answer}");
    assert_eq!(score(&of_adk(Value::Null), "overall_score"), 0.25);

    for document in [
        json!({"criteria": "c", "output": [{"role": "assistant", "content": "a"}]}),
        json!({"metric_name": "m", "invocations": [{}]}),
    ] {
        assert_eq!(judge(&document).unwrap()["score"], 1.0, "{document}");
        assert_eq!(score(&document, "score"), 1.0, "{document}");
    }
    let silent = of_adk(json!({"tool_uses": []}));
    assert_eq!(judge(&silent).unwrap()["overall_score"], 1.0);
}
