//! What an evaluator finds in the documents of every form.

use super::*;

#[test]
fn every_form_says_the_same_under_its_own_names() {
    for (document, form) in [
        (CODE_V1, Form::CodeV1),
        (CODE, Form::Code),
        (webhook(), Form::Webhook),
        (webhook_with_json(), Form::Webhook),
        (remote(), Form::Remote),
    ] {
        assert_eq!(detect(document), Ok(Contract::Agenta), "{form}");
        let input = read(document);
        assert_eq!(input.form(), form);
        assert_eq!(input.input("country"), Some(&json!("France")), "{form}");
        assert_eq!(input.correct_answer(), Some(&json!("Paris")), "{form}");
        assert_eq!(input.parameter("output"), input.parameter("outputs"), "{form}");
        assert!(input.parameter("output").is_some(), "{form}");
        assert_eq!(input.threshold(), 0.5, "{form}");
    }
}

#[test]
fn outputs_are_text_and_json_alike() {
    let captured = read(webhook_with_json());
    let expected = json!({"a": 1, "b": [true, null, 1.5], "é": "ü"});
    assert_eq!(captured.output_json().as_deref(), Some(&expected));
    assert!(captured.output().unwrap().is_string());
    let plain = read(webhook());
    assert_eq!(plain.output_text().as_deref(), Some("Paris"));
    assert_eq!(plain.output_json(), None);
    let structured = read(CODE);
    assert_eq!(structured.output_text().as_deref(), Some(r#"{"answer":"Paris"}"#));
    assert_eq!(structured.output_json().as_deref(), Some(&json!({"answer": "Paris"})));
}

#[test]
fn what_is_not_there_is_none() {
    let input = read_value(&json!({"inputs": {}, "parameters": {}}));
    assert_eq!(input.form(), Form::Remote);
    assert_eq!((input.output(), input.correct_answer(), input.trace()), (None, None, None));
    let nulls = json!({"inputs": null, "outputs": null, "trace": null, "testcase": null});
    let nulls = read_value(&nulls);
    assert_eq!((nulls.inputs(), nulls.output(), nulls.trace()), (None, None, None));
    assert_eq!((nulls.testcase(), nulls.parameter("trace")), (None, None));
    assert_eq!(nulls.correct_answer(), None);
}

#[test]
fn the_correct_answer_may_be_another_input() {
    let document = |key: Value| json!({"inputs": {"q": 1, "capital": "Paris"}, "outputs": "Paris", "parameters": {"correct_answer_key": key}});
    let input = read_value(&document(json!("capital")));
    assert_eq!(input.correct_answer(), Some(&json!("Paris")));
    for none in [json!(""), json!(null), json!(0)] {
        assert_eq!(read_value(&document(none)).correct_answer_key(), "correct_answer");
    }
    assert_eq!(
        error(&document(json!(7))),
        "parameters.correct_answer_key: expected the name of an input, found 7"
    );
    let webhook = read(webhook())
        .with_parameters(json!({"correct_answer_key": "country"}).as_object().unwrap().clone());
    assert_eq!(webhook.unwrap().correct_answer(), Some(&json!("France")));
}

#[test]
fn the_first_word_on_the_correct_answer_is_the_document_s_own() {
    let document = json!({"app_params": {}, "inputs": {"correct_answer": 1}, "output": "a", "correct_answer": 2});
    assert_eq!(read_value(&document).correct_answer(), Some(&json!(2)));
    let camel = json!({"appParams": {}, "inputs": {}, "output": "a", "correctAnswer": null});
    assert_eq!(read_value(&camel).correct_answer(), Some(&json!(null)));
}

#[test]
fn thresholds_are_checked() {
    let document =
        |threshold| json!({"inputs": {}, "outputs": "", "parameters": {"threshold": threshold}});
    assert_eq!(read_value(&document(json!(0.9))).threshold(), 0.9);
    assert_eq!(read_value(&document(json!(1))).threshold(), 1.0);
    assert_eq!(read_value(&document(json!(0))).threshold(), 0.5);
    assert_eq!(
        error(&document(json!("0.5"))),
        "parameters.threshold: \"0.5\" is not a threshold: expected a number above 0 and at most 1"
    );
}

#[test]
fn wrong_documents_are_told_by_the_place() {
    for (document, expected) in [
        (json!({"inputs": [1], "output": "a"}), "inputs: invalid type: array, expected an object"),
        (json!({"inputs": {}, "outputs": "a", "trace": "t"}), "trace: invalid type: string \"t\""),
        (json!({"inputs": {}, "parameters": 1}), "parameters: invalid type: integer `1`"),
        (json!({"output": "a"}), "missing field `inputs`"),
        (json!({"inputs": {}}), "missing field `output` (or `outputs`): what is to be judged"),
        (json!({"app_params": {}, "correct_answer": "a"}), "missing field `output`"),
        (json!({"inputs": {}, "output": 1, "outputs": 2}), "`output` and `outputs` are both there"),
        (json!([]), "expected a JSON object"),
    ] {
        let error = error(&document);
        assert!(error.starts_with(expected), "{error}");
    }
    let twice = br#"{"inputs": {}, "output": "a", "output": "b"}"#;
    let error = EvaluateInput::from_json(twice).unwrap_err().to_string();
    assert!(error.contains("duplicate field `output`"), "{error}");
}

#[test]
fn built_documents_are_those_that_agenta_sends() {
    let object = |value: Value| value.as_object().unwrap().clone();
    let inputs = || object(json!({"country": "France", "correct_answer": "Paris"}));
    let built = [
        (EvaluateInput::code_v1(object(json!({"country": "France"})), "Paris", "Paris"), CODE_V1),
        (
            EvaluateInput::code(inputs(), json!({"answer": "Paris"}))
                .with_trace(object(json!({"spans": []}))),
            CODE,
        ),
        (EvaluateInput::webhook(inputs(), "Paris"), webhook()),
        (
            EvaluateInput::remote(inputs(), object(json!({"k": 1})), Some(json!("Paris")))
                .unwrap()
                .with_trace(object(json!({"spans": []})))
                .with_testcase(json!({"id": 1})),
            remote(),
        ),
    ];
    for (built, captured) in built {
        assert_eq!(built, read(captured));
        let written: Value = serde_json::to_value(&built).unwrap();
        assert_eq!(written, serde_json::from_slice::<Value>(captured).unwrap());
    }
    let written = serde_json::to_string(&read(webhook())).unwrap();
    assert!(written.starts_with(r#"{"inputs":{"#), "{written}");
}
