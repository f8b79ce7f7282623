//! Evaluators written against the contract of Google's Agent Development Kit, in every form their signature can have.

use evaluator_sdk::{
    Config, EvalInput, EvalResult, Failure, Score, evaluator,
    protocol::adk::{
        ConversationScenario, EvalMetric, EvalStatus, EvaluationResult, Invocation,
        PerInvocationResult,
    },
    testing,
};
use serde_json::{Value, json};

/// The documented signature, one to one.
#[evaluator(contract = adk)]
fn as_documented(
    eval_metric: EvalMetric,
    actual_invocations: Vec<Invocation>,
    expected_invocations: Option<Vec<Invocation>>,
    conversation_scenario: Option<ConversationScenario>,
) -> EvaluationResult {
    let Some(expected) = expected_invocations else {
        assert!(conversation_scenario.is_some());
        return EvaluationResult::not_evaluated();
    };
    let same = actual_invocations.iter().zip(&expected);
    let scores =
        same.map(|(actual, expected)| Score::from(actual.final_text() == expected.final_text()));
    EvaluationResult::mean_of(scores, &eval_metric)
}

/// In another order, by reference, and not all of them.
#[evaluator(contract = adk)]
async fn lent(
    expected_invocations: &Option<Vec<Invocation>>,
    actual_invocations: &[Invocation],
    _eval_metric: &EvalMetric,
) -> f64 {
    let expected = expected_invocations.as_ref().map_or(0, Vec::len);
    Score::ratio(expected, actual_invocations.len()).get()
}

#[evaluator(contract = adk)]
fn expects(expected_invocations: Vec<Invocation>) -> bool {
    !expected_invocations.is_empty()
}

#[evaluator(contract = adk)]
fn nothing() -> Score {
    Score::ONE
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    min_length: usize,
}

#[evaluator(contract = adk)]
fn configured(
    mut actual_invocations: Vec<Value>,
    Config(settings): Config<Settings>,
) -> Result<EvalResult, Failure> {
    let last = actual_invocations.pop().ok_or_else(|| Failure::new("empty", "no turns"))?;
    let text = last["final_response"]["parts"][0]["text"].as_str().unwrap_or_default();
    Ok(EvalResult::new(Score::from(text.len() >= settings.min_length)).detail("length", text.len()))
}

#[evaluator(contract = adk)]
fn perhaps(settings: Option<Config<Settings>>) -> bool {
    settings.is_some()
}

/// Types that come out of a macro are wrapped in invisible groups.
macro_rules! typed {
    ($name:ident, $turns:ty, $config:ty) => {
        #[evaluator(contract = adk)]
        fn $name(actual_invocations: $turns, config: $config) -> bool {
            actual_invocations.len() == 2 && config.0.min_length == 3
        }
    };
}

typed!(grouped, &[Invocation], Config<Settings>);

#[evaluator(contract = adk)]
fn wrong_rows(eval_metric: EvalMetric) -> EvaluationResult {
    let row = PerInvocationResult::new(Score::ONE, EvalStatus::Passed);
    EvaluationResult::new(Score::ONE, eval_metric.status_of(Score::ONE)).rows([row])
}

#[evaluator]
fn plain(input: &EvalInput) -> EvalResult {
    match input.pairs() {
        Some(pairs) => EvalResult::mean_of(
            pairs.map(|(turn, golden)| Score::from(turn.final_response == golden.final_response)),
        ),
        None => EvalResult::not_evaluated("nothing to compare with"),
    }
}

fn turn(answer: &str) -> Value {
    json!({"user_content": {"parts": [{"text": "q"}]}, "final_response": {"parts": [{"text": answer}], "role": "model"}})
}

fn document() -> Value {
    json!({
        "eval_metric": {"metric_name": "m", "criterion": {"threshold": 0.75, "min_length": 3}},
        "actual_invocations": [turn("one"), turn("two")],
        "expected_invocations": [turn("one"), turn("three")],
        "conversation_scenario": null,
    })
}

fn scenario() -> Value {
    let mut document = document();
    document["expected_invocations"] = Value::Null;
    document["conversation_scenario"] =
        json!({"starting_prompt": "q", "conversation_plan": "more"});
    document
}

fn answer(evaluator: &evaluator_sdk::Evaluator, document: &Value) -> Value {
    testing::answer_json(evaluator, document.to_string()).unwrap()
}

fn failure(evaluator: &evaluator_sdk::Evaluator, document: &Value) -> (String, String) {
    let failure = testing::answer_json(evaluator, document.to_string()).unwrap_err();
    (failure.kind().to_owned(), failure.to_string())
}

fn half_failed() -> Value {
    json!({"overall_score": 0.5, "overall_eval_status": 2, "per_invocation_results": [
        {"score": 1.0, "eval_status": 1}, {"score": 0.0, "eval_status": 2}]})
}

#[test]
fn the_documented_signature_works_and_so_does_the_default_contract() {
    for evaluator in [as_documented::EVALUATOR, plain::EVALUATOR] {
        assert_eq!(answer(&evaluator, &document()), half_failed());
    }
    let not_evaluated =
        json!({"overall_score": null, "overall_eval_status": 3, "per_invocation_results": []});
    assert_eq!(answer(&as_documented::EVALUATOR, &scenario()), not_evaluated);
    assert_eq!(answer(&plain::EVALUATOR, &scenario())["overall_eval_status"], 3);
}

#[test]
fn the_function_stays_a_function() {
    let turns = vec![Invocation::new("q", "one")];
    let metric = EvalMetric::new("m").with_threshold(1.0);
    let result = as_documented(metric, turns.clone(), Some(turns), None);
    assert_eq!(result.overall_eval_status, EvalStatus::Passed);
}

#[test]
fn arguments_may_be_lent_and_left_out() {
    let row = json!({"score": 1.0, "eval_status": 1});
    let passed = json!({"overall_score": 1.0, "overall_eval_status": 1, "per_invocation_results": [row, row]});
    assert_eq!(answer(&lent::EVALUATOR, &document()), passed);
    assert_eq!(answer(&nothing::EVALUATOR, &document()), passed);
    assert_eq!(answer(&grouped::EVALUATOR, &document()), passed);
    assert_eq!(answer(&lent::EVALUATOR, &scenario())["overall_eval_status"], 2);
}

#[test]
fn what_the_document_does_not_have_is_an_error_unless_it_is_optional() {
    let (kind, message) = failure(&expects::EVALUATOR, &scenario());
    assert_eq!(
        (kind.as_str(), message.as_str()),
        (
            "input",
            "expected_invocations: the document has none (an evaluator that can do without it takes an `Option`)"
        )
    );
}

#[test]
fn a_config_is_what_else_is_in_the_criterion() {
    let mut document = document();
    let answered = answer(&configured::EVALUATOR, &document);
    assert_eq!(answered["overall_eval_status"], 1);
    assert_eq!(
        answered["overall_rubric_scores"],
        json!([{"rubric_id": "length", "rationale": "3"}])
    );
    document["eval_metric"]["criterion"]["min_length"] = json!("long");
    let (_, message) = failure(&configured::EVALUATOR, &document);
    assert!(message.starts_with("eval_metric.criterion.min_length: invalid type"), "{message}");
    assert_eq!(answer(&perhaps::EVALUATOR, &scenario())["overall_score"], 1.0);
    document["eval_metric"] = json!({"metric_name": "m"});
    assert_eq!(answer(&perhaps::EVALUATOR, &document)["overall_score"], 0.0);
}

#[test]
fn casing_makes_no_difference_to_arguments() {
    let camel = document()
        .to_string()
        .replace("final_response", "finalResponse")
        .replace("eval_metric", "evalMetric");
    let answered = testing::answer_json(&configured::EVALUATOR, camel).unwrap();
    assert_eq!(answered["overall_eval_status"], 1);
}

#[test]
fn a_verdict_with_a_wrong_number_of_rows_is_not_written() {
    let (kind, message) = failure(&wrong_rows::EVALUATOR, &document());
    assert_eq!(kind, "answer");
    assert!(
        message.starts_with(
            "`per_invocation_results` has a length of 1, and `actual_invocations` one of 2:"
        ),
        "{message}"
    );
    let mut informational = document();
    informational["eval_metric"]["criterion"] = Value::Null;
    assert_eq!(answer(&wrong_rows::EVALUATOR, &informational)["overall_eval_status"], 4);
}

#[test]
fn documents_of_other_hosts_are_refused_in_words() {
    let (kind, message) = failure(&nothing::EVALUATOR, &json!({"metric_name": "m"}));
    assert_eq!(kind, "input");
    assert!(message.contains("written against the contract `adk`"), "{message}");
}
