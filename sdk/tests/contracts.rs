//! Evaluators written against each of the contracts, and one that serves all of them.

#![expect(clippy::too_many_arguments, reason = "Agenta has that many")]

use evaluator_sdk::{
    EvalInput, Score, evaluator,
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

#[test]
fn a_missing_argument_is_named() {
    let document = json!({"inputs": {}, "output": "a"});
    let failure = testing::answer_json(&exact_match::EVALUATOR, document.to_string()).unwrap_err();
    assert_eq!(failure.to_string(), "correct_answer: the document has none");
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

/// An evaluator with these arguments, and their names.
macro_rules! taking {
    ($names:ident, $function:ident, $contract:ident: $($argument:ident),*) => {
        const $names: &[&str] = &[$(stringify!($argument)),*];

        #[evaluator(contract = $contract)]
        fn $function($($argument: Option<Value>),*) -> bool {
            [$($argument),*].iter().all(Option::is_some)
        }
    };
}

taking!(OF_ADK, all_of_adk, adk: eval_metric, actual_invocations, expected_invocations, conversation_scenario);
taking!(
    OF_AGENTA, all_of_agenta, agenta: app_params, inputs, output, correct_answer, outputs, trace, parameters, testcase
);

/// The macro cannot see the protocol, and has a list of its own: it takes all arguments that documents have.
#[test]
fn every_argument_of_a_document_can_be_taken() {
    assert_eq!(OF_ADK, MetricInput::PARAMETERS);
    assert_eq!(OF_AGENTA, EvaluateInput::PARAMETERS);
    let adk = json!({
        "eval_metric": {"metric_name": "m"}, "actual_invocations": [{}], "expected_invocations": [{}],
        "conversation_scenario": {"starting_prompt": "a", "conversation_plan": "b"},
    });
    let answer = testing::answer_json(&all_of_adk::EVALUATOR, adk.to_string()).unwrap();
    assert_eq!(answer["overall_score"], 1.0);
    let agenta = json!({
        "app_params": {}, "inputs": {}, "output": "a", "correct_answer": "b", "trace": {}, "parameters": {},
        "testcase": {},
    });
    let answer = testing::answer_json(&all_of_agenta::EVALUATOR, agenta.to_string()).unwrap();
    assert_eq!(answer["success"], true);
}
