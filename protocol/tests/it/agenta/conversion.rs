//! Documents of Agenta for evaluators of the default contract.

use super::*;

fn expected(question: &str, answer: &str, golden: &str) -> EvalInput {
    EvalInput::new("m")
        .tool_calls_unknown()
        .invocation(InvocationData::new(question, answer))
        .expected(InvocationData::new(question, golden))
}

#[test]
fn every_form_becomes_the_same_turn() {
    let converted = |document| read(document).to_eval_input("m");
    let v1 = converted(CODE_V1);
    assert_eq!((v1.input, v1.dropped), (expected("France", "Paris", "Paris"), vec![]));
    let code = converted(CODE);
    assert_eq!(code.input, expected("France", r#"{"answer":"Paris"}"#, "Paris"));
    assert_eq!(code.dropped, ["trace"]);
    let webhook = converted(webhook());
    assert_eq!((webhook.input, webhook.dropped), (expected("France", "Paris", "Paris"), vec![]));
    let remote = converted(remote());
    assert_eq!(remote.input, expected("France", "Paris", "Paris").config("k", 1));
    assert_eq!(remote.dropped, ["trace", "testcase"]);
    let json = converted(webhook_with_json());
    let text = "{\"a\": 1, \"b\": [true, null, 1.5], \"\\u00e9\": \"\\u00fc\"}";
    assert_eq!(json.input, expected("France", text, "Paris"));
}

fn convert(document: &Value) -> EvalInput {
    read_value(document).to_eval_input("m").input
}

#[test]
fn the_user_said_the_inputs() {
    let said = |inputs: Value| {
        convert(&json!({"inputs": inputs, "output": "a"})).invocations[0].user_content.clone()
    };
    assert_eq!(said(json!({"question": "Why?"})), "Why?");
    assert_eq!(said(json!({"question": "Why?", "correct_answer": "So."})), "Why?");
    assert_eq!(said(json!({"b": 1, "a": ["x"]})), r#"{"a":["x"],"b":1}"#);
    assert_eq!(said(json!({"n": 7})), r#"{"n":7}"#);
    assert_eq!(said(json!({"correct_answer": "So."})), "");
}

#[test]
fn without_a_correct_answer_there_are_no_golden_turns() {
    let input = convert(&json!({"inputs": {"q": "?"}, "output": "a"}));
    assert_eq!(input.expected_invocations, None);
    let open = convert(&json!({"inputs": {"q": "?", "correct_answer": null}, "output": "a"}));
    assert_eq!(open.expected_invocations.unwrap()[0].final_response, None);
    let silent = convert(&json!({"inputs": {"q": "?"}, "outputs": null}));
    assert_eq!(silent.invocations[0].final_response, None);
}

#[test]
fn an_app_of_which_nothing_was_sent_has_no_turns() {
    let document = |inputs: Value| json!({"inputs": inputs, "parameters": {"min": 1}});
    let converted = read_value(&document(json!({"q": "?"}))).to_eval_input("m");
    assert_eq!(converted.input, EvalInput::new("m").tool_calls_unknown().config("min", 1));
    assert_eq!(converted.dropped, ["inputs"]);
    let unjudged = |outputs: Value| {
        let document = json!({"inputs": {}, "parameters": {}, "outputs": outputs});
        Document::read(document.to_string().as_bytes()).unwrap().unjudged()
    };
    assert_eq!((unjudged(json!(null)), unjudged(json!(""))), (None, None));
    let nothing = document(json!({})).to_string();
    let unjudged = Document::read(nothing.as_bytes()).unwrap().unjudged().unwrap();
    assert_eq!(unjudged, EvalResult::not_evaluated("the document has no `outputs`"));
    let golden = document(json!({"q": "?", "correct_answer": "So."}));
    let converted = read_value(&golden).to_eval_input("m");
    assert_eq!(converted.input.invocations, []);
    assert_eq!(converted.input.expected_invocations.unwrap()[0].user_content, "?");
    assert_eq!(converted.dropped, [""; 0]);
}

#[test]
fn equal_json_has_equal_text() {
    let output = r#"{"b": [1, "x"], "a": null}"#;
    let document =
        json!({"inputs": {"correct_answer": {"a": null, "b": [1, "x"]}}, "output": output});
    let input = convert(&document);
    let golden = input.expected_invocations.unwrap();
    assert_eq!(input.invocations[0].final_response, golden[0].final_response);
}

#[test]
fn parameters_are_the_config_but_for_those_with_a_place_of_their_own() {
    let input = convert(&json!({
        "inputs": {"q": "?", "capital": "Paris"}, "outputs": "Lyon",
        "parameters": {"threshold": 0.9, "correct_answer_key": "capital", "min_length": 3},
    }));
    let expected = expected("?", "Lyon", "Paris").threshold(0.9).config("min_length", 3);
    assert_eq!(input, expected);
}

#[test]
fn what_is_dropped_is_listed() {
    let document = json!({
        "app_params": {"model": "x"}, "inputs": {"q": "?"}, "output": "a", "correct_answer": "b",
        "trace": {}, "testcase": null, "extra": 1,
    });
    let dropped = read_value(&document).to_eval_input("m").dropped;
    assert_eq!(dropped, ["app_params.model", "trace", "extra"]);
}

#[test]
fn a_correct_answer_of_another_name_stays_among_the_inputs() {
    // Interface v1 does not say which input the correct answer was taken from.
    let input = convert(&json!({
        "app_params": {}, "inputs": {"q": "?", "correct_answer": "other"}, "output": "a", "correct_answer": "b",
    }));
    assert_eq!(input.invocations[0].user_content, r#"{"correct_answer":"other","q":"?"}"#);
}
