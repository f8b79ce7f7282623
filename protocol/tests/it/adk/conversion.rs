//! Documents of ADK for evaluators of the default contract.

use super::*;

#[test]
fn a_conversation_is_converted_field_by_field() {
    let (input, dropped) = converted(STATIC);
    assert_eq!(
        serde_json::to_value(&input).unwrap(),
        serde_json::from_str::<Value>(include_str!(
            "../../data/adk/envelope_static.converted.json"
        ))
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
fn a_conversation_without_turns_is_not_evaluated() {
    let document = json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": []});
    let document = Document::read(document.to_string().as_bytes()).unwrap();
    let answer = document.reply().answer(document.unjudged().unwrap()).unwrap();
    assert_eq!(serde_json::to_value(answer).unwrap()["overall_eval_status"], 3);
    assert_eq!(Document::read(STATIC.as_bytes()).unwrap().unjudged(), None);
}

#[test]
fn an_answer_without_text_is_an_answer() {
    let image = turn(json!({"final_response": {"parts": [{"inline_data": {"data": ""}}]}}));
    assert_eq!(image.final_text().as_deref(), Some(""));
}

#[test]
fn who_says_something_else_than_expected_is_listed() {
    let document = json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": [{
        "user_content": {"role": "model", "parts": []},
        "final_response": {"role": "model", "parts": []},
        "intermediate_data": {
            "invocation_events": [{"content": {"role": "critic"}}, {"content": {"role": "user"}}],
            "newer": 1,
        },
    }]});
    let (_, dropped) = converted(&document.to_string());
    assert_eq!(
        dropped,
        [
            "actual_invocations[0].user_content.role",
            "actual_invocations[0].intermediate_data.newer",
            "actual_invocations[0].intermediate_data.invocation_events[0].content.role",
        ]
    );
    // And it is written again.
    let written = serde_json::to_value(read(&document.to_string())).unwrap();
    assert_eq!(written["actual_invocations"][0]["intermediate_data"]["newer"], 1);
}
