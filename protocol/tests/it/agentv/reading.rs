//! What a judge finds in the documents of every generation.

use super::*;

#[test]
fn generations_say_the_same() {
    for (name, text) in &SAMPLES[..SAME] {
        let input = read(text);
        assert!(input.question().unwrap().ends_with("What is the capital of France?"), "{name}");
        assert_eq!(input.candidate_answer(), Some("The capital of France is Paris."), "{name}");
        assert_eq!(input.input_messages()[0].role, Role::System, "{name}");
        let said: Vec<_> =
            input.output_messages().unwrap().iter().map(|message| message.text()).collect();
        assert_eq!(said, ["I will look it up.", "The capital of France is Paris."], "{name}");
        let called: Vec<&str> =
            input.tool_calls().unwrap().map(|call| call.tool.as_str()).collect();
        assert_eq!(called, ["search", "Read"], "{name}");
        let summary = input.trace_summary().unwrap();
        assert_eq!(summary.event_count, Some(2), "{name}");
        assert_eq!(summary.tool_names, ["Read", "search"], "{name}");
        assert_eq!(summary.tool_calls_by_name["search"], 1, "{name}");
        let usage = summary.token_usage.as_ref().unwrap();
        assert_eq!((usage.input, usage.output, usage.cached), (Some(120), Some(34), Some(5)));
        assert_eq!(input.token_usage(), Some(usage), "{name}");
        assert_eq!((input.cost_usd(), input.duration_ms()), (Some(0.0012), Some(1300.0)));
        let config = input.config().unwrap();
        assert_eq!(config["min_length"], 10, "{name}");
        assert_eq!((&config["camel_case"], config.get("config")), (&json!("yes"), None));
        if *name != "v5" {
            assert_eq!(input.expected_outcome(), Some("Answers Paris"), "{name}");
            assert_eq!(input.reference_answer(), Some("Paris"), "{name}");
            assert_eq!(input.expected_messages()[0].text(), "Paris", "{name}");
        }
    }
}

#[test]
fn what_is_not_sent_is_seen_to_be_missing() {
    let input = sample("v5");
    assert_eq!((input.expected_outcome(), input.reference_answer()), (None, None));
    assert!(input.expected_messages().is_empty() && input.guideline_files().is_empty());
    assert_eq!(input.metadata().unwrap()["Tags"], json!(["geo"]));
    let by_hand = read(r#"{"candidate_answer": "a", "question": "q", "expected_outcome": "o"}"#);
    assert_eq!(by_hand.candidate_answer(), Some("a"));
    assert!(by_hand.output_messages().is_none() && by_hand.tool_calls().is_none());
    assert!(by_hand.trace_summary().is_none() && by_hand.config().is_none());
    let numbers = read(r#"{"candidate_answer": "", "trace_summary": {"duration_ms": 3}}"#);
    assert_eq!(numbers.candidate_answer(), Some(""));
    assert_eq!(numbers.trace_summary().unwrap().event_count, None);
}

#[test]
fn version_5_has_its_reference_in_the_config() {
    let text = |expected: Value| json!({"output": "a", "criteria": "", "expected_output": [], "config": {"expected": expected}});
    assert_eq!(read(&text(json!("Paris")).to_string()).reference_answer(), Some("Paris"));
    assert_eq!(read(&text(json!(42)).to_string()).reference_answer(), Some("42"));
    assert_eq!(read(&text(json!(null)).to_string()).reference_answer(), None);
}

#[test]
fn the_answer_is_looked_for_in_order() {
    let answer =
        |document: Value| read(&document.to_string()).candidate_answer().map(str::to_owned);
    let said = |text: &str| json!([{"role": "assistant", "content": text}]);
    let last = Some("last".to_owned());
    assert_eq!(answer(json!({"output": "last", "answer": "x", "messages": said("x")})), last);
    assert_eq!(answer(json!({"answer": "last", "output_text": "x", "output": said("x")})), last);
    assert_eq!(answer(json!({"output_text": "last", "candidate_answer": "x"})), last);
    assert_eq!(answer(json!({"candidate_answer": "last", "output_messages": said("x")})), last);
    assert_eq!(answer(json!({"output": said("last")})), last);
    assert_eq!(answer(json!({"output": null, "messages": said("last")})), last);
    assert_eq!(answer(json!({"output_messages": said("last")})), last);
    // The agent has said nothing: what was put into its mouth is no answer.
    let input =
        json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "example"}]);
    assert_eq!(answer(json!({"output": null, "input": input, "messages": input})), None);
    let silent_call = json!([
        {"role": "assistant", "content": "last"},
        {"role": "assistant", "content": "", "tool_calls": [{"tool": "t"}]},
        {"role": "tool", "content": "x"},
    ]);
    assert_eq!(answer(json!({"output": silent_call})), last);
}

#[test]
fn an_answer_in_a_file_is_read_once() {
    let path = "/abs/path/agentv-grader-x/output.json";
    let mut input = sample("output path");
    assert_eq!(input.unread_output(), Some(path));
    input.read_output(br#""from the \u00e9 file""#).unwrap();
    assert_eq!((input.candidate_answer(), input.unread_output()), (Some("from the é file"), None));
    let mut transcript = read(r#"{"criteria": "c", "output": null, "output_path": "/x"}"#);
    transcript
        .read_output(br#"[{"role": "assistant", "content": "hm", "tool_calls": [{"tool": "t"}]}, {"role": "assistant", "content": "so"}]"#)
        .unwrap();
    assert_eq!(transcript.candidate_answer(), Some("so"));
    assert_eq!(transcript.tool_calls().unwrap().count(), 1);
    // Inline answers need no file.
    assert_eq!(read(r#"{"output": "a", "output_path": "/x"}"#).unread_output(), None);
}

#[test]
fn a_file_with_something_else_is_an_error_that_does_not_show_it() {
    let mut input = sample("output path");
    for content in ["secret", "{\"a\": 1}", "[1]", "", "\"cut o", "[{\"role\": 5}]"] {
        let error = input.read_output(content.as_bytes()).unwrap_err();
        assert_eq!(error.path, "output_path", "{content}");
        let text = error.to_string();
        assert!(text.contains("neither a JSON string nor an array of messages"), "{text}");
        assert!(content.len() < 4 || !text.contains(content), "{text}");
    }
}

#[test]
fn settings_have_the_same_names_under_every_command() {
    let config = |name: &str| json!(sample(name).config());
    assert_eq!(config("pipeline grade"), config("v4.42.4"));
    let text = r#"{"output": "a", "config": {"maxCalls": 1, "max_calls": 2, "Tags": {"innerKey": [{"aB": 1}]}, "config": {"x": 1}}}"#;
    assert_eq!(
        json!(read(text).config()),
        json!({"max_calls": 2, "Tags": {"inner_key": [{"a_b": 1}]}, "config": {"x": 1}})
    );
}

#[test]
fn traces_keep_their_events() {
    let input = sample("v4.42.4");
    let events = input.trace().unwrap().events.as_ref().unwrap();
    assert_eq!(events.len(), 9);
    assert_eq!(events[3].tool.as_ref().unwrap().status, Some(ToolStatus::Ok));
    // These hosts write traces in camelCase.
    for name in ["pipeline grade", "eval assert"] {
        let input = sample(name);
        let trace = input.trace().unwrap();
        assert_eq!(trace.events.as_ref().unwrap()[0].event_id.as_deref(), Some("message-0"));
        let summary = input.trace_summary().unwrap();
        assert_eq!((summary.event_count, summary.llm_call_count), (Some(0), Some(1)), "{name}");
        assert_eq!(input.output_messages().unwrap().len(), 1, "{name}");
    }
}

#[test]
fn both_spellings_read_the_same() {
    for (name, text) in SAMPLES {
        let camel = in_camel_case(Value::Object(object(text))).to_string();
        let (input, camel) = (read(text), read(&camel));
        assert_eq!(camel.question(), input.question(), "{name}");
        assert_eq!(camel.candidate_answer(), input.candidate_answer(), "{name}");
        assert_eq!(camel.expected_outcome(), input.expected_outcome(), "{name}");
        assert_eq!(camel.trace_summary(), input.trace_summary(), "{name}");
        assert_eq!(camel.unread_output(), input.unread_output(), "{name}");
        assert_eq!(camel.input_files(), input.input_files(), "{name}");
        assert!(camel.other().is_empty(), "{name}");
    }
}

#[test]
fn wrong_types_are_errors_with_their_path() {
    for (name, text) in SAMPLES {
        for key in object(text).keys() {
            let mut document = object(text);
            document.insert(key.clone(), json!(true));
            let text = Value::Object(document).to_string();
            assert_eq!(detect(text.as_bytes()).unwrap(), Contract::AgentV, "{name}: {key}");
            let error = CodeJudgeInput::from_json(text.as_bytes()).unwrap_err();
            assert_eq!(error.path, *key, "{name}: {error}");
        }
    }
    let error = |text: &str| CodeJudgeInput::from_json(text.as_bytes()).unwrap_err();
    let deep = error(
        r#"{"output": [{"role": "assistant"}, {"role": "assistant", "tool_calls": [{"tool": 5}]}]}"#,
    );
    assert_eq!(deep.path, "output[1].tool_calls[0].tool");
    assert!(matches!(deep.kind, DecodeErrorKind::Shape { line: 1, .. }), "{deep}");
    let either = error(r#"{"criteria": "c", "output": {"a": 1}}"#);
    assert!(
        either
            .to_string()
            .starts_with("output: invalid type: object, expected a string or an array of messages")
    );
    assert_eq!(error(r#"{"input": [{"content": "q"}]}"#).path, "input[0]");
}

#[test]
fn nulls_are_nothing() {
    for (name, text) in SAMPLES {
        for key in object(text).keys() {
            let mut document = object(text);
            document.insert(key.clone(), json!(null));
            let null = read(&Value::Object(document.clone()).to_string());
            document.remove(key);
            assert_eq!(null, read(&Value::Object(document).to_string()), "{name}: {key}");
        }
    }
}

#[test]
fn documents_are_written_as_they_were_read() {
    for (name, text) in SAMPLES {
        let written = serde_json::to_value(read(text)).unwrap();
        let mut expected = object(text);
        expected.retain(|_, value| !value.is_null());
        let same = read(&written.to_string()) == read(text);
        assert!(same, "{name}");
        let keys =
            |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(written.as_object().unwrap()), keys(&expected), "{name}");
    }
}

#[test]
fn aggregators_read_results() {
    let text = r#"{"results": {"length": {"score": 0.5, "verdict": "fail", "hits": ["a"], "misses": [], "reasoning": "r",
        "rawRequest": {"x": 1}}, "bare": {"score": 1}}}"#;
    let input = read(text);
    let results = input.results().unwrap();
    assert_eq!((results["length"].score, results["bare"].score), (0.5, 1.0));
    assert_eq!(results["length"].other["rawRequest"], json!({"x": 1}));
    let error = input.to_eval_input("m").unwrap_err();
    assert!(
        error.to_string().starts_with("results: this document holds results of other evaluators")
    );
}

#[test]
fn documents_are_made_in_tests() {
    let input = CodeJudgeInput::new("q", "a")
        .with_trace_summary(TraceSummary::new(3).tool_calls("search", 2).error_count(1))
        .with_config("max", 2)
        .with_input_file("/x/atlas.txt");
    let summary = input.trace_summary().unwrap();
    assert_eq!((summary.event_count, summary.tool_calls_by_name["search"]), (Some(3), 2));
    let text = serde_json::to_string(&input).unwrap();
    assert_eq!(read(&text), input);
    assert_eq!(detect(text.as_bytes()).unwrap(), Contract::AgentV);
}
