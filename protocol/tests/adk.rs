//! Documents of Google's Agent Development Kit, as its shim writes them: read, converted and answered.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use evaluator_protocol::{
    Answer, Contract, Document, EvalInput, EvalResult, EvalStatus as Plain, Score,
    adk::{
        Bytes, Content, ConversationScenario, EvalMetric, EvalStatus, EvaluationResult,
        FunctionCall, FunctionResponse, IntermediateDataType, Invocation, MetricInput, Part,
        PerInvocationResult, RubricScore,
    },
    detect,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const STATIC: &str = include_str!("data/adk/envelope_static.json");
const SNAKE: &str = include_str!("data/adk/envelope_static.nulls.snake.json");
const CAMEL: &str = include_str!("data/adk/envelope_static.nulls.camel.json");
const IMAGE: &str = include_str!("data/adk/envelope_image_silent.json");
const SCENARIO: &str = include_str!("data/adk/envelope_scenario.json");

const SAMPLES: [&str; 5] = [STATIC, SNAKE, CAMEL, IMAGE, SCENARIO];

fn read(text: &str) -> MetricInput {
    MetricInput::from_json(text.as_bytes()).unwrap()
}

fn error(document: Value) -> String {
    MetricInput::from_json(document.to_string().as_bytes()).unwrap_err().to_string()
}

/// A document with this as its only turn.
fn turn(invocation: Value) -> Invocation {
    let document = json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": [invocation]});
    read(&document.to_string()).actual_invocations.remove(0)
}

fn converted(text: &str) -> (EvalInput, Vec<String>) {
    let converted = Document::read(text.as_bytes()).unwrap().to_eval_input("other").unwrap();
    (converted.input, converted.dropped)
}

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

#[test]
fn a_conversation_is_converted_field_by_field() {
    let (input, dropped) = converted(STATIC);
    assert_eq!(
        serde_json::to_value(&input).unwrap(),
        serde_json::from_str::<Value>(include_str!("data/adk/envelope_static.converted.json"))
            .unwrap()
    );
    assert_eq!(
        dropped,
        [
            "eval_metric.custom_function_path",
            "eval_metric.criterion.include_intermediate_responses_in_final",
            "actual_invocations[0].creation_timestamp",
            "actual_invocations[0].rubrics",
            "actual_invocations[0].app_details",
            "actual_invocations[0].intermediate_data.invocation_events[0].author",
            "actual_invocations[0].intermediate_data.invocation_events[0].usage_metadata.total_token_count",
            "actual_invocations[0].intermediate_data.invocation_events[0].content.parts[0].text",
            "actual_invocations[0].intermediate_data.invocation_events[0].content.parts[0].thought",
            "actual_invocations[0].intermediate_data.invocation_events[0].content.parts[1].text",
            "actual_invocations[0].intermediate_data.invocation_events[0].content.parts[2].thought_signature",
            "actual_invocations[0].intermediate_data.invocation_events[1].author",
            "actual_invocations[0].intermediate_data.invocation_events[2].author",
            "actual_invocations[0].intermediate_data.invocation_events[3].author",
            "actual_invocations[0].intermediate_data.invocation_events[4].author",
            "actual_invocations[1].creation_timestamp",
            "actual_invocations[1].rubrics",
            "actual_invocations[1].app_details",
            "actual_invocations[1].intermediate_data.invocation_events[0].author",
            "expected_invocations[0].creation_timestamp",
            "expected_invocations[0].intermediate_data.intermediate_responses",
            "expected_invocations[1].creation_timestamp",
        ]
    );
}

#[test]
fn what_has_no_place_is_listed_and_nothing_else() {
    let (input, dropped) = converted(SCENARIO);
    assert_eq!(input.expected_invocations, None);
    assert_eq!(dropped.last().map(String::as_str), Some("conversation_scenario"));
    let (input, dropped) = converted(IMAGE);
    assert!(
        dropped.contains(&"actual_invocations[0].final_response.parts[1].inline_data".to_owned())
    );
    assert_eq!(input.invocations[1].final_response, None);
    let expected = input.expected_invocations.unwrap();
    assert_eq!(expected[0].tool_names().collect::<Vec<_>>(), ["draw"]);
    assert_eq!(expected[1].final_response, None);
    let least =
        json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": [{}, {"hologram": 1}]});
    let (input, dropped) = converted(&least.to_string());
    assert_eq!(dropped, ["actual_invocations[1].hologram"]);
    assert_eq!(input.threshold, 0.5);
    assert_eq!(input.invocations[0], evaluator_protocol::InvocationData::default());
}

#[test]
fn an_answer_without_text_is_an_answer() {
    let image = turn(json!({"final_response": {"parts": [{"inline_data": {"data": ""}}]}}));
    assert_eq!(image.final_text().as_deref(), Some(""));
}

/// What ADK is told of a result by an evaluator of the default contract.
fn told(text: &str, result: EvalResult) -> Value {
    let reply = Document::read(text.as_bytes()).unwrap().reply();
    let answer = reply.answer(result).unwrap();
    reply.check(&answer).unwrap();
    serde_json::to_value(&answer).unwrap()
}

#[test]
fn a_result_is_told_with_a_row_for_each_turn() {
    let half = Score::ratio(1, 2);
    assert_eq!(
        told(STATIC, EvalResult::mean_of([Score::ZERO, Score::ONE])),
        serde_json::from_str::<Value>(include_str!("data/adk/result_minimal.json")).unwrap()
    );
    // Without scores of turns, or with ones that are not theirs, the overall one holds for each.
    let row = json!({"score": 0.5, "eval_status": 1});
    let plain = json!({"overall_score": 0.5, "overall_eval_status": 1, "per_invocation_results": [row, row]});
    assert_eq!(told(STATIC, EvalResult::new(half)), plain);
    let mut odd = plain.clone();
    odd["overall_rubric_scores"] =
        json!([{"rubric_id": "per_invocation_scores", "rationale": "[1.0,null,0.0]"}]);
    let scores = [Some(Score::ONE), None, Some(Score::ZERO)];
    assert_eq!(told(STATIC, EvalResult::new(half).per_invocation_scores(scores)), odd);
    // The evaluator's own word counts more than the threshold; a turn without a score was not evaluated.
    let failed =
        EvalResult::new(half).status(Plain::Failed).per_invocation_scores([None, Some(Score::ONE)]);
    assert_eq!(
        told(STATIC, failed),
        json!({"overall_score": 0.5, "overall_eval_status": 2, "per_invocation_results": [
            {"eval_status": 3}, {"score": 1.0, "eval_status": 1}]})
    );
}

#[test]
fn not_evaluated_is_no_score() {
    assert_eq!(
        told(SCENARIO, EvalResult::not_evaluated("no golden turns")),
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
        told(STATIC, result)["overall_rubric_scores"],
        json!([{"rubric_id": "issues", "rationale": "[\"a\",{\"b\":1}]"}, {"rubric_id": "why", "rationale": "long enough"}])
    );
}

#[test]
fn without_a_threshold_a_score_is_for_information() {
    let document =
        json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": [{}]}).to_string();
    let row = json!({"score": 1.0, "eval_status": 4});
    assert_eq!(
        told(&document, EvalResult::new(Score::ONE)),
        json!({"overall_score": 1.0, "overall_eval_status": 4, "per_invocation_results": [row]})
    );
    assert_eq!(
        told(&document, EvalResult::new(Score::ONE).status(Plain::Passed))["overall_eval_status"],
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
    let rubrics = include_str!("data/adk/result_rubrics.json");
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

#[test]
fn documents_of_two_contracts_name_both() {
    let mut document: Value = serde_json::from_str(STATIC).unwrap();
    document["metric_name"] = json!("m");
    let text = Document::read(document.to_string().as_bytes()).unwrap_err().to_string();
    assert!(
        text.starts_with("the document may be of several contracts: agentevals")
            && text.contains("adk"),
        "{text}"
    );
    assert!(Document::read_as(Contract::Adk, document.to_string().as_bytes()).is_ok());
}

/// Every place in a document, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            found.push(at.clone());
            places(value, &at, found);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| {
            let at = format!("{at}/{index}");
            found.push(at.clone());
            places(value, &at, found);
        }),
        _ => {}
    }
}

#[test]
fn whatever_is_wrong_inside_it_is_read_or_refused_with_a_path() {
    let others = [
        json!(null),
        json!(1),
        json!(-1.5),
        json!("x"),
        json!(true),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"x": 1}),
    ];
    for text in [STATIC, IMAGE] {
        let document: Value = serde_json::from_str(text).unwrap();
        let mut all = Vec::new();
        places(&document, "", &mut all);
        for place in all {
            for other in &others {
                let mut mutated = document.clone();
                *mutated.pointer_mut(&place).unwrap() = other.clone();
                let mutated = mutated.to_string();
                assert_eq!(detect(mutated.as_bytes()), Ok(Contract::Adk), "{place}");
                match Document::read(mutated.as_bytes()) {
                    Ok(read) => {
                        let reply = read.reply();
                        read.to_eval_input("m").unwrap();
                        let answer = reply.answer(EvalResult::new(Score::ONE)).unwrap();
                        reply.check(&answer).unwrap();
                    }
                    Err(error) => {
                        let top = place.split('/').nth(1).unwrap();
                        assert!(error.to_string().starts_with(top), "{place}: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_document_that_lost_keys_is_read_or_refused() {
    let document: Value = serde_json::from_str(STATIC).unwrap();
    let mut all = Vec::new();
    places(&document, "", &mut all);
    for place in all {
        let (parent, key) = place.rsplit_once('/').unwrap();
        let mut mutated = document.clone();
        if let Some(Value::Object(map)) = mutated.pointer_mut(parent) {
            map.remove(key);
        }
        let read = Document::read(mutated.to_string().as_bytes());
        let needed = ["/eval_metric", "/actual_invocations", "/eval_metric/metric_name"];
        assert_eq!(read.is_err(), needed.contains(&place.as_str()), "{place}");
    }
}

fn turns() -> impl Strategy<Value = Vec<Option<u32>>> {
    proptest::collection::vec(proptest::option::of(0..=100_u32), 0..6)
}

proptest! {
    /// Whatever an evaluator of the default contract says, ADK gets as many rows as there are turns, and a verdict only on a
    /// score that somebody gave.
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
        let told = EvaluationResult::from_eval_result(result.clone(), turns, threshold);
        prop_assert_eq!(told.per_invocation_results.len(), turns);
        prop_assert!(told.check_rows(turns).is_ok());
        match result.status {
            Some(status) => prop_assert_eq!(told.overall_eval_status, EvalStatus::from(status)),
            None => prop_assert_eq!(told.overall_eval_status, EvalStatus::of(result.score, threshold)),
        }
        let is_evaluated = told.overall_eval_status != EvalStatus::NotEvaluated;
        prop_assert_eq!(told.overall_score, is_evaluated.then_some(result.score));
        for row in &told.per_invocation_results {
            prop_assert_eq!(row.score.is_none(), row.eval_status == EvalStatus::NotEvaluated);
        }
    }
}
