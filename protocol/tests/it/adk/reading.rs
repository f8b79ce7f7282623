//! What a metric finds in the documents of the shim.

use super::*;

/// The value without the keys that are null, but in what is free-form.
fn without_nulls(value: Value) -> Value {
    const FREE: [&str; 4] = ["args", "response", "criterion", "opts"];
    match value {
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| match FREE.contains(&key.as_str()) {
                true => (key, value),
                false => (key, without_nulls(value)),
            })
            .collect(),
        other => other,
    }
}

#[test]
fn every_sample_is_told_and_read() {
    for text in SAMPLES {
        assert_eq!(detect(text.as_bytes()), Ok(Contract::Adk));
        let document = Document::read(text.as_bytes()).unwrap();
        assert_eq!(document.contract(), Contract::Adk);
        assert_eq!(document, Document::Adk(Box::new(read(text))));
    }
}

#[test]
fn casing_and_nulls_make_no_difference() {
    assert_eq!(read(SNAKE), read(STATIC));
    assert_eq!(read(CAMEL), read(STATIC));
    assert_eq!(converted(CAMEL), converted(STATIC));
}

#[test]
fn what_is_read_is_written_as_the_shim_wrote_it() {
    for text in SAMPLES {
        let written = serde_json::to_value(read(text)).unwrap();
        let canonical = if text == CAMEL { STATIC } else { text };
        let expected: Value = serde_json::from_str(canonical).unwrap();
        assert_eq!(written, without_nulls(expected));
    }
}

#[test]
fn a_metric_has_a_threshold_and_keys_of_its_own() {
    let metric = read(CAMEL).eval_metric;
    assert_eq!(metric.metric_name, "answer_length");
    assert_eq!(metric.threshold(), Some(0.5));
    assert_eq!(metric.custom_function_path.as_deref(), Some("adk_process_metric.run"));
    let criterion = metric.criterion.unwrap();
    assert_eq!(criterion.include_intermediate_responses_in_final, Some(false));
    assert_eq!(
        Value::Object(criterion.extras),
        json!({"command": ["/abs/path/file"], "min_length": 10, "nested": {"camelThing": [1, 2.5]}})
    );
}

#[test]
fn a_threshold_may_be_anything_that_adk_takes_for_a_number() {
    let threshold = |metric: Value| {
        let document = json!({"eval_metric": metric, "actual_invocations": []});
        read(&document.to_string()).eval_metric.threshold()
    };
    let of = |threshold: Value| json!({"metric_name": "m", "criterion": {"threshold": threshold}});
    assert_eq!(threshold(of(json!(-2))), Some(-2.0));
    assert_eq!(threshold(of(json!("0.25"))), Some(0.25));
    assert_eq!(threshold(of(json!(true))), Some(1.0));
    assert_eq!(threshold(of(json!(null))), None);
    assert_eq!(threshold(json!({"metric_name": "m"})), None);
    assert_eq!(
        threshold(json!({"metric_name": "m", "criterion": null, "threshold": 0.5})),
        Some(0.5)
    );
    assert_eq!(
        threshold(json!({"metric_name": "m", "criterion": {"threshold": 0.1}, "threshold": 0.5})),
        Some(0.1)
    );
}

#[test]
fn of_two_spellings_in_a_criterion_the_camel_case_one_counts() {
    let document = json!({"actual_invocations": [], "eval_metric": {"metric_name": "m", "criterion": {
        "includeIntermediateResponsesInFinal": true, "include_intermediate_responses_in_final": false,
        "matchType": 1, "match_type": 2, "args": null}}});
    let criterion = read(&document.to_string()).eval_metric.criterion.unwrap();
    assert_eq!(criterion.include_intermediate_responses_in_final, Some(true));
    // What is the metric's own is not ours to choose from.
    assert_eq!(
        Value::Object(criterion.extras),
        json!({"matchType": 1, "match_type": 2, "args": null})
    );
}

#[test]
fn two_spellings_elsewhere_are_an_error() {
    let invocation = json!({"final_response": null, "finalResponse": {"parts": []}});
    let text =
        error(json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": [invocation]}));
    assert!(
        text.starts_with("actual_invocations[0].finalResponse: duplicate field `final_response`")
            || text.starts_with(
                "actual_invocations[0].final_response: duplicate field `final_response`"
            ),
        "{text}"
    );
    let text = error(
        json!({"eval_metric": {"metric_name": "m"}, "evalMetric": {"metricName": "m"}, "actual_invocations": []}),
    );
    assert!(text.contains("duplicate field `eval_metric`"), "{text}");
}

#[test]
fn a_document_built_by_hand_reads_back_the_same() {
    let metric = EvalMetric::new("m").with_threshold(0.5).with_extra("words", json!(["a"]));
    let turns = vec![
        Invocation::new("q", "a").tool_use(FunctionCall::new("t")),
        Invocation::new("q", "").unanswered(),
    ];
    let built = MetricInput::new(metric, turns.clone())
        .expected(turns)
        .scenario(ConversationScenario::new("q", "more"));
    let text = serde_json::to_string(&built).unwrap();
    assert_eq!(detect(text.as_bytes()), Ok(Contract::Adk));
    assert_eq!(read(&text), built);
}

#[test]
fn intermediate_data_has_one_shape() {
    let data = |data: Value| turn(json!({"intermediateData": data})).intermediate_data.unwrap();
    let is_events = |data| matches!(data, IntermediateDataType::InvocationEvents(_));
    assert!(is_events(data(json!({"invocationEvents": []}))));
    assert!(!is_events(data(json!({}))));
    assert!(!is_events(data(json!({"toolUses": null}))));
    for other in ["tool_uses", "toolResponses", "intermediate_responses"] {
        let both = json!({"invocation_events": [], other: []});
        let document = json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": [{"intermediate_data": both}]});
        let text = error(document);
        assert!(text.starts_with("actual_invocations[0].intermediate_data"), "{text}");
        assert!(text.contains("intermediate data has one shape"), "{text}");
    }
}

#[test]
fn calls_responses_and_texts_come_from_either_shape() {
    let input = read(STATIC);
    let names = |turn: &Invocation| -> Vec<String> {
        turn.tool_uses().map(|call| call.name.clone().unwrap()).collect()
    };
    let expected = input.expected_invocations.as_ref().unwrap();
    assert_eq!(names(&input.actual_invocations[0]), ["get_weather", "log"]);
    assert_eq!(names(&expected[0]), ["get_weather", "log"]);
    assert!(names(&input.actual_invocations[1]).is_empty() && names(&expected[1]).is_empty());
    let ids: Vec<_> =
        input.actual_invocations[0].tool_responses().map(|it| it.id.as_deref()).collect();
    assert_eq!(ids, [Some("call-1"), Some("call-2")]);
    assert_eq!(expected[0].tool_responses().count(), 1);
    let texts: Vec<_> = input.actual_invocations[0].intermediate_texts().collect();
    assert_eq!(texts, [("det_agent", "thinking aloud"), ("det_agent", "Let me check.")]);
    assert_eq!(
        expected[0].intermediate_texts().collect::<Vec<_>>(),
        [("det_agent", "Let me check.")]
    );
    // Built by hand they are the same.
    let built = Invocation::new("q", "a")
        .tool_use(FunctionCall::new("get_weather").arg("city", "Paris"))
        .tool_response(FunctionResponse::new("get_weather").field("sky", "clear"));
    assert_eq!(names(&built), ["get_weather"]);
    assert_eq!(built.tool_responses().count(), 1);
}

#[test]
fn absent_arguments_and_none_are_different() {
    let parts = json!([{"function_call": {}}, {"functionCall": {"args": {}, "name": null}}]);
    let turn = turn(
        json!({"intermediate_data": {"invocation_events": [{"author": "a", "content": {"parts": parts}}]}}),
    );
    let args: Vec<_> = turn.tool_uses().map(|call| call.args.clone()).collect();
    assert_eq!(args, [None, Some(serde_json::Map::new())]);
}

#[test]
fn texts_are_joined_as_the_built_in_metrics_do() {
    let content = |value: Value| serde_json::from_value::<Content>(value).unwrap().text();
    let parts = json!({"parts": [{"text": "a", "thought": true}, {"text": ""}, {"inline_data": {}}, {"text": "b\n"}]});
    assert_eq!(content(parts), "a\nb\n");
    for empty in [json!({}), json!({"parts": null}), json!({"parts": []})] {
        assert_eq!(content(empty), "");
    }
    let input = read(IMAGE);
    assert_eq!(input.actual_invocations[0].final_text().as_deref(), Some("Here is a pixel."));
    assert_eq!(input.actual_invocations[1].final_text(), None);
    assert_eq!(input.actual_invocations[1].user_text(), "silent");
}

#[test]
fn parts_of_every_kind_are_kept_and_so_are_new_ones() {
    let parts = json!([
        {"inlineData": {"data": "+vv8/Q", "mimeType": "image/png", "displayName": "dot"}},
        {"fileData": {"fileUri": "gs://a/b", "mimeType": "text/plain"}},
        {"executableCode": {"code": "1", "language": "PYTHON"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"videoMetadata": {"fps": 1.5}, "thoughtSignature": "AP_--3NpZz4-Pj8_Pw=="},
        {"hologram": {"data": [1, null]}, "newer": null},
    ]);
    let content: Content = serde_json::from_value(json!({"parts": parts})).unwrap();
    let data = content.parts()[0].inline_data.as_ref().unwrap().data.as_ref().unwrap();
    assert_eq!(data[..], [0xfa, 0xfb, 0xfc, 0xfd]);
    assert_eq!(
        content.parts()[4].thought_signature,
        Some(Bytes::from(b"\x00\xff\xfe\xfbsig>>>???".to_vec()))
    );
    assert_eq!(
        serde_json::to_value(&content).unwrap()["parts"],
        json!([
            {"inline_data": {"data": "-vv8_Q==", "mime_type": "image/png", "display_name": "dot"}},
            {"file_data": {"file_uri": "gs://a/b", "mime_type": "text/plain"}},
            {"executable_code": {"code": "1", "language": "PYTHON"}},
            {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"thought_signature": "AP_--3NpZz4-Pj8_Pw==", "video_metadata": {"fps": 1.5}},
            {"hologram": {"data": [1, null]}},
        ])
    );
    let text = serde_json::from_value::<Part>(json!({"inline_data": {"data": "?"}}))
        .unwrap_err()
        .to_string();
    assert_eq!(text, "this text is not base64");
}

#[test]
fn scenarios_come_with_their_persona() {
    let input = read(SCENARIO);
    assert_eq!(input.expected_invocations, None);
    let scenario = input.conversation_scenario.unwrap();
    assert_eq!(scenario.conversation_plan, "thanks\nbye");
    let persona = scenario.user_persona.unwrap();
    assert_eq!(persona.behaviors[0].behavior_instructions, ["Keep messages under ten words."]);
}

#[test]
fn wrong_types_are_errors_with_their_path() {
    let metric = json!({"metric_name": "m"});
    for (document, path, reason) in [
        (
            json!({"eval_metric": {}, "actual_invocations": []}),
            "eval_metric",
            "missing field `metric_name`",
        ),
        (
            json!({"eval_metric": {"metric_name": null}, "actual_invocations": []}),
            "eval_metric.metric_name",
            "invalid type: null, expected a string",
        ),
        (json!({"eval_metric": metric}), "", "missing field `actual_invocations`"),
        (json!({"actual_invocations": []}), "", "missing field `eval_metric`"),
        (
            json!({"eval_metric": metric, "actual_invocations": null}),
            "actual_invocations",
            "invalid type: null, expected an array",
        ),
        (
            json!({"eval_metric": metric, "actual_invocations": [{"user_content": "hi"}]}),
            "actual_invocations[0].user_content",
            "expected an object",
        ),
        (
            json!({"eval_metric": metric, "actual_invocations": [{"userContent": {"parts": [{"text": 1}]}}]}),
            "actual_invocations[0].userContent.parts[0].text",
            "invalid type: integer `1`, expected a string",
        ),
        (
            json!({"eval_metric": metric, "actual_invocations": [], "expectedInvocations": {}}),
            "expectedInvocations",
            "expected an array",
        ),
        (
            json!({"eval_metric": {"metric_name": "m", "criterion": {"threshold": "high"}}, "actual_invocations": []}),
            "eval_metric.criterion.threshold",
            "expected a number",
        ),
        (
            json!({"eval_metric": metric, "actual_invocations": [], "conversation_scenario": {"starting_prompt": "a"}}),
            "conversation_scenario",
            "missing field `conversation_plan`",
        ),
    ] {
        let text = error(document);
        let found = evaluator_protocol::DecodeError::shape(path, "").to_string();
        assert!(text.starts_with(&found) && text.contains(reason), "{path}: {reason}: {text}");
    }
}

#[test]
fn arguments_are_in_snake_case_whatever_the_document() {
    let (snake, camel) = (read(STATIC), read(CAMEL));
    for name in MetricInput::PARAMETERS {
        assert_eq!(snake.parameter(name), camel.parameter(name), "{name}");
    }
    let actual = camel.parameter("actual_invocations").unwrap();
    assert_eq!(actual[0]["final_response"]["parts"][1]["text"], "Enjoy your walk!");
    assert_eq!(
        actual[0]["intermediate_data"]["invocation_events"][2]["content"]["parts"][0]["function_call"]
            ["args"],
        json!({})
    );
    assert_eq!(camel.parameter("conversation_scenario"), None);
    assert_eq!(camel.parameter("user_content"), None);
}
