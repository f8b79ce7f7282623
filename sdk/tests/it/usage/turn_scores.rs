//! The scores of turns are those of the document's turns: one for each, or none.

use evaluator_sdk::{
    EvalInput, EvalResult, Evaluator, Invocations, Score, agenta::EvaluateResult, evaluator,
    testing,
};
use serde_json::json;

/// Skips turns, as `continue` in a loop does.
#[evaluator]
fn skipping(input: &EvalInput) -> EvalResult {
    let mut scores = Vec::new();
    for turn in &input.invocations {
        let Some(answer) = &turn.final_response else { continue };
        scores.push(Score::from(answer.contains("order")));
    }
    EvalResult::mean_of(scores)
}

/// Keeps the places of turns that it does not score.
#[evaluator]
fn in_place(turns: Invocations<'_>) -> EvalResult {
    EvalResult::mean_of(turns.iter().map(|turn| {
        let answer = turn.final_response.as_ref()?;
        Some(Score::from(answer.contains("order")))
    }))
}

/// Takes the document, whose turns are counted all the same.
#[evaluator]
fn takes_all(mut input: EvalInput) -> EvalResult {
    input.invocations.clear();
    EvalResult::new(Score::ONE).per_invocation_scores([Score::ONE])
}

#[evaluator]
fn one_too_many(input: &EvalInput) -> EvalResult {
    EvalResult::new(Score::ONE)
        .per_invocation_scores(vec![None::<Score>; input.invocations.len() + 1])
}

#[evaluator(contract = adk)]
fn plain_under_adk() -> EvalResult {
    EvalResult::new(Score::ONE).per_invocation_scores([Score::ONE])
}

#[evaluator(contract = agenta)]
fn without_turns() -> EvaluateResult {
    EvaluateResult::new(Score::ONE)
}

fn two_turns() -> EvalInput {
    testing::input("m").unanswered("Hi").turn("Order?", "Your order is on its way.").build()
}

#[track_caller]
fn refused(evaluator: &Evaluator, document: &serde_json::Value, counts: &str) {
    let failure = testing::answer_json(evaluator, document.to_string()).unwrap_err();
    assert_eq!(failure.kind(), "answer");
    let expected = format!("per_invocation_scores: {counts}; give one for each turn");
    assert!(failure.message().starts_with(&expected), "{failure}");
}

#[test]
fn another_number_of_scores_is_an_error() {
    let document = json!(two_turns());
    refused(&skipping::EVALUATOR, &document, "1 score for a conversation of 2 turns");
    refused(&takes_all::EVALUATOR, &document, "1 score for a conversation of 2 turns");
    refused(&one_too_many::EVALUATOR, &document, "3 scores for a conversation of 2 turns");
    refused(
        &one_too_many::EVALUATOR,
        &json!({"metric_name": "m"}),
        "1 score for a conversation of 0 turns",
    );
}

#[test]
fn the_same_holds_under_other_contracts() {
    let turn = json!({"user_content": {"parts": [{"text": "q"}]}});
    let adk = json!({
        "eval_metric": {"metric_name": "m", "criterion": {"threshold": 0.5}},
        "actual_invocations": [turn, turn],
        "expected_invocations": null,
        "conversation_scenario": null,
    });
    refused(&one_too_many::EVALUATOR, &adk, "3 scores for a conversation of 2 turns");
    refused(&plain_under_adk::EVALUATOR, &adk, "1 score for a conversation of 2 turns");
    let agenta = json!({"inputs": {"country": "France"}, "output": "Paris"});
    refused(&one_too_many::EVALUATOR, &agenta, "2 scores for a conversation of 1 turn");
    testing::answer_json(&without_turns::EVALUATOR, agenta.to_string()).unwrap();
}

#[test]
fn turns_without_a_score_keep_their_place() {
    let result = testing::run(&in_place::EVALUATOR, &two_turns()).unwrap();
    assert_eq!(result.per_invocation_scores, [None, Some(Score::ONE)]);
    testing::assert_score(&result, 1.0);
}
