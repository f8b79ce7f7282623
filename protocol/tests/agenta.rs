//! Agenta's documents and answers: what its own calls look like, and what becomes of them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use evaluator_protocol::{
    Answer, Contract, Document, EvalInput, EvalResult, InvocationData, JsonObject, Score,
    ToolCallData,
    agenta::{EvaluateInput, Form},
    detect,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const CODE_V1: &[u8] = include_bytes!("data/agenta/code-arguments.v1.json");
const CODE: &[u8] = include_bytes!("data/agenta/code-arguments.v2-v3.json");

/// The body of a captured request.
fn body(request: &'static str) -> &'static [u8] {
    request.split_once("\r\n\r\n").unwrap().1.as_bytes()
}

fn webhook() -> &'static [u8] {
    body(include_str!("data/agenta/webhook-request.txt"))
}

fn webhook_with_json() -> &'static [u8] {
    body(include_str!("data/agenta/webhook-request.dict-output.txt"))
}

fn remote() -> &'static [u8] {
    body(include_str!("data/agenta/remote-request.txt"))
}

fn read(document: &[u8]) -> EvaluateInput {
    EvaluateInput::from_json(document).unwrap()
}

fn read_value(document: &Value) -> EvaluateInput {
    read(document.to_string().as_bytes())
}

fn error(document: &Value) -> String {
    EvaluateInput::from_json(document.to_string().as_bytes()).unwrap_err().to_string()
}

mod reading {
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
        let document = |threshold| json!({"inputs": {}, "outputs": "", "parameters": {"threshold": threshold}});
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
            (
                json!({"inputs": [1], "output": "a"}),
                "inputs: invalid type: array, expected an object",
            ),
            (
                json!({"inputs": {}, "outputs": "a", "trace": "t"}),
                "trace: invalid type: string \"t\"",
            ),
            (json!({"inputs": {}, "parameters": 1}), "parameters: invalid type: integer `1`"),
            (json!({"output": "a"}), "missing field `inputs`"),
            (json!({"inputs": {}}), "missing field `output` (or `outputs`): what is to be judged"),
            (json!({"app_params": {}, "correct_answer": "a"}), "missing field `output`"),
            (
                json!({"inputs": {}, "output": 1, "outputs": 2}),
                "`output` and `outputs` are both there",
            ),
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
            (
                EvaluateInput::code_v1(object(json!({"country": "France"})), "Paris", "Paris"),
                CODE_V1,
            ),
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
}

mod as_agentevals {
    use super::*;

    fn expected(question: &str, answer: &str, golden: &str) -> EvalInput {
        EvalInput::new("m")
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
        assert_eq!(
            (webhook.input, webhook.dropped),
            (expected("France", "Paris", "Paris"), vec![])
        );
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

    #[test]
    fn the_way_back_keeps_one_turn_and_lists_the_rest() {
        let input = EvalInput::new("m")
            .threshold(0.0)
            .config("threshold", 3)
            .invocation(InvocationData::new("a", "b"))
            .invocation(InvocationData::new("c", "d").tool_call(ToolCallData::new("t")))
            .expected(InvocationData::new("a", "b"))
            .expected(InvocationData::new("other", "e"));
        let (document, dropped) = EvaluateInput::from_eval_input(input);
        assert_eq!(
            serde_json::to_value(&document).unwrap(),
            json!({"inputs": {"user_content": "c", "correct_answer": "e"}, "parameters": {}, "outputs": "d"})
        );
        assert_eq!(
            dropped,
            [
                "metric_name",
                "invocations[0]",
                "invocations[1].intermediate_steps",
                "expected_invocations[0]",
                "expected_invocations[1].user_content",
                "config.threshold",
                "threshold",
            ]
        );
    }

    proptest! {
        #[test]
        fn one_turn_survives_the_way_there_and_back(
            question in ".*", answer in proptest::option::of(".*"), golden in proptest::option::of(".*"),
            threshold in 0.01..=1.0_f64, setting in ".*",
        ) {
            let mut turn = InvocationData::new(question.clone(), "").unanswered();
            turn.final_response = answer;
            let mut input = EvalInput::new("m").threshold(threshold).config("setting", setting).invocation(turn);
            if let Some(golden) = golden {
                input = input.expected(InvocationData::new(question, golden));
            }
            let (document, dropped) = EvaluateInput::from_eval_input(input.clone());
            prop_assert_eq!(dropped, vec!["metric_name".to_owned()]);
            let written = serde_json::to_vec(&document).unwrap();
            let read = EvaluateInput::from_json(&written).unwrap();
            prop_assert_eq!(&read, &document);
            let converted = read.to_eval_input("m");
            prop_assert_eq!(converted.input, input);
            prop_assert_eq!(converted.dropped, Vec::<String>::new());
        }
    }
}

mod answering {
    use super::*;

    fn answer(document: &[u8], result: EvalResult) -> Result<Value, String> {
        let reply = Document::read(document).unwrap().reply();
        let answer = reply.answer(result).map_err(|error| error.to_string())?;
        Ok(serde_json::to_value(answer).unwrap())
    }

    #[test]
    fn every_form_is_told_score_and_success() {
        for document in [CODE_V1, CODE, webhook(), remote()] {
            let result = EvalResult::new(Score::ratio(3, 4)).detail("why", "x");
            assert_eq!(answer(document, result), Ok(json!({"score": 0.75, "success": true})));
            assert_eq!(
                answer(document, EvalResult::not_evaluated("no tools")),
                Err("not evaluated: no tools".to_owned())
            );
        }
    }

    #[test]
    fn the_threshold_of_the_document_decides() {
        let document = json!({"inputs": {}, "outputs": "a", "parameters": {"threshold": 0.8}});
        let result = EvalResult::new(Score::ratio(3, 4));
        assert_eq!(
            answer(document.to_string().as_bytes(), result),
            Ok(json!({"score": 0.75, "success": false}))
        );
    }

    #[test]
    fn answers_of_others_are_left_alone() {
        let reply = read(webhook()).reply();
        let other = Answer::Agentevals(EvalResult::new(Score::ONE));
        assert_eq!(reply.settle(other.clone()), Ok(other));
    }
}

/// Any JSON, with keys that mean something here and there.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (0.0..1.0_f64).prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key = prop_oneof![
            ".{0,4}",
            Just("correct_answer".to_owned()),
            Just("threshold".to_owned()),
            Just("correct_answer_key".to_owned())
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_values_under_agenta_s_names_are_read_or_refused(
        values in proptest::collection::vec(proptest::option::of(json_value()), 8)
    ) {
        let document: JsonObject = EvaluateInput::PARAMETERS
            .iter()
            .zip(values)
            .filter_map(|(key, value)| Some(((*key).to_owned(), value?)))
            .collect();
        let text = serde_json::to_vec(&document).unwrap();
        if let Ok(input) = EvaluateInput::from_json(&text) {
            let converted = input.to_eval_input("m");
            prop_assert_eq!(converted.input.invocations.len(), 1);
            prop_assert_eq!(converted.input.expected_invocations.is_some(), input.correct_answer().is_some());
            for path in converted.dropped {
                let key = path.split('.').next().unwrap();
                prop_assert!(document.get(key).is_some_and(|value| !value.is_null()), "{}", path);
            }
            for name in EvaluateInput::PARAMETERS {
                let _ = input.parameter(name);
            }
        }
    }
}
