//! Documents of AgentV, of every generation: told, read, converted and answered.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use evaluator_protocol::{
    Contract, DecodeErrorKind, Document, EvalResult, EvalStatus, Reply, Score,
    agentv::{Assertion, CodeJudgeInput, CodeJudgeResult, Role, ToolStatus, TraceSummary},
    detect,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Payloads captured from AgentV; those called `constructed` are made of the keys that versions in between are known to have.
const SAMPLES: [(&str, &str); 10] = [
    ("v2.5.1", include_str!("data/agentv/v2.5.1-stdin.json")),
    ("constructed v2.9", include_str!("data/agentv/constructed-v2.9-stdin.json")),
    ("constructed v3.6", include_str!("data/agentv/constructed-v3.6-stdin.json")),
    ("constructed v4.25", include_str!("data/agentv/constructed-v4.25-stdin.json")),
    ("v4.42.4", include_str!("data/agentv/v4.42.4-stdin.json")),
    ("v5", include_str!("data/agentv/v5-head-stdin.json")),
    ("workspace", include_str!("data/agentv/v4.42.4-stdin-workspace-multimodal.json")),
    ("output path", include_str!("data/agentv/v4.42.4-stdin-output-path.json")),
    ("pipeline grade", include_str!("data/agentv/v4.42.4-stdin-pipeline-grade.json")),
    ("eval assert", include_str!("data/agentv/v4.42.4-stdin-eval-assert.json")),
];

/// The first six are of the same conversation.
const SAME: usize = 6;

fn read(text: &str) -> CodeJudgeInput {
    CodeJudgeInput::from_json(text.as_bytes()).unwrap()
}

fn sample(name: &str) -> CodeJudgeInput {
    read(SAMPLES.iter().find(|(other, _)| *other == name).unwrap().1)
}

fn object(text: &str) -> serde_json::Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

/// As it reads after all its keys were put in camelCase.
fn in_camel_case(value: Value) -> Value {
    let camel = |key: String| {
        let mut words = key.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |name, word| {
            let mut letters = word.chars();
            let upper = letters.next().map(|letter| letter.to_ascii_uppercase());
            name + &upper.into_iter().chain(letters).collect::<String>()
        })
    };
    match value {
        Value::Object(object) => {
            object.into_iter().map(|(key, value)| (camel(key), in_camel_case(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(in_camel_case).collect(),
        other => other,
    }
}

mod detection {
    use super::*;

    fn of(document: &Value) -> Result<Contract, String> {
        detect(document.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn knows_every_sample_in_both_spellings() {
        for (name, text) in SAMPLES {
            assert_eq!(detect(text.as_bytes()).unwrap(), Contract::AgentV, "{name}");
            let camel = in_camel_case(Value::Object(object(text)));
            assert_eq!(of(&camel), Ok(Contract::AgentV), "{name}");
        }
    }

    #[test]
    fn knows_samples_without_any_one_of_their_keys() {
        for (name, text) in SAMPLES {
            for key in object(text).keys() {
                let mut document = object(text);
                document.remove(key);
                assert_eq!(of(&document.into()), Ok(Contract::AgentV), "{name} without {key}");
            }
        }
    }

    #[test]
    fn knows_what_is_written_by_hand() {
        for document in [
            json!({"candidate_answer": "a", "question": "q", "expected_outcome": "o"}),
            json!({"candidate_answer": "a"}),
            json!({"expected_outcome": "o"}),
            json!({"question": "q", "answer": "a"}),
            json!({"criteria": "c", "output": null}),
            json!({"criteria": "", "output_text": "a"}),
            json!({"criteria": "c", "outputPath": "/tmp/x"}),
            json!({"results": {"a": {"score": 1}}}),
        ] {
            assert_eq!(of(&document), Ok(Contract::AgentV), "{document}");
        }
    }

    #[test]
    fn does_not_claim_documents_of_others() {
        let adk = json!({"eval_metric": {}, "actual_invocations": [], "results": {}});
        assert_eq!(of(&adk), Ok(Contract::Adk));
        let agenta = json!({"inputs": {}, "output": "a", "question": "q"});
        assert_eq!(of(&agenta), Ok(Contract::Agenta));
        let agentevals = json!({"metric_name": "m", "expected_outcome": "o"});
        assert_eq!(of(&agentevals), Ok(Contract::Agentevals));
        let unnamed = json!({"invocations": [], "expected_outcome": "o"});
        assert_eq!(of(&unnamed), Ok(Contract::Agentevals));
        for document in [
            json!({"results": {}, "inputs": {}}),
            json!({"inputs": {}, "expected_output": "a"}),
            json!({"app_params": {}, "input_files": []}),
            json!({"question": "q"}),
            json!({"output": "a"}),
        ] {
            assert!(of(&document).unwrap_err().contains("of no known contract"), "{document}");
        }
    }

    #[test]
    fn names_the_candidates_of_an_ambiguous_document() {
        let document = json!({"criteria": "c", "output": "a", "inputs": {}});
        let of_two = |document: &Value, names: [&str; 2]| {
            let error = of(document).unwrap_err();
            assert!(error.starts_with("the document may be of several contracts"), "{error}");
            assert!(names.iter().all(|name| error.contains(name)), "{error}");
        };
        of_two(&document, ["agentv", "agenta"]);
        let document = json!({"metric_name": "m", "candidate_answer": "a"});
        of_two(&document, ["agentevals", "agentv"]);
    }
}

mod reading {
    use super::*;

    #[test]
    fn generations_say_the_same() {
        for (name, text) in &SAMPLES[..SAME] {
            let input = read(text);
            assert!(
                input.question().unwrap().ends_with("What is the capital of France?"),
                "{name}"
            );
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
        let by_hand =
            read(r#"{"candidate_answer": "a", "question": "q", "expected_outcome": "o"}"#);
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
        assert_eq!(
            answer(json!({"answer": "last", "output_text": "x", "output": said("x")})),
            last
        );
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
        assert_eq!(
            (input.candidate_answer(), input.unread_output()),
            (Some("from the é file"), None)
        );
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
        assert!(either.to_string().starts_with(
            "output: invalid type: object, expected a string or an array of messages"
        ));
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
            let keys = |object: &serde_json::Map<String, Value>| {
                object.keys().cloned().collect::<Vec<_>>()
            };
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
            error
                .to_string()
                .starts_with("results: this document holds results of other evaluators")
        );
    }
}

mod conversion {
    use super::*;

    #[test]
    fn generations_become_the_same_turns() {
        let [(_, first), rest @ ..] = &SAMPLES[..SAME] else { unreachable!() };
        let turns = |text: &str| {
            let mut input = read(text).to_eval_input("m").unwrap().input;
            for turn in &mut input.invocations {
                turn.performance_metrics = None;
            }
            input
        };
        let first = turns(first);
        assert_eq!(
            serde_json::to_value(&first.invocations).unwrap(),
            json!([{
                "invocation_id": "turn-1",
                "user_content": "What is the capital of France?",
                "final_response": "The capital of France is Paris.",
                "intermediate_steps": {
                    "tool_calls": [
                        {"name": "search", "args": {"query": "capital of France"}, "id": "call_1"},
                        {"name": "Read", "args": {"file_path": "notes.md"}, "id": null},
                    ],
                    "tool_responses": [
                        {"name": "search", "output": "Paris", "status": null, "id": "call_1", "response": "Paris"},
                        {"name": "Read", "output": "{\"num_lines\":3}", "status": null, "id": null, "response": {"num_lines": 3}},
                    ],
                },
                "performance_metrics": null,
                "trace_id": null,
                "span_id": null,
            }])
        );
        let golden = first.expected_invocations.as_ref().unwrap();
        assert_eq!(golden[0].final_response.as_deref(), Some("Paris"));
        assert_eq!((first.metric_name.as_str(), first.threshold), ("m", 0.5));
        for (name, text) in rest {
            let other = turns(text);
            assert_eq!(other.invocations, first.invocations, "{name}");
            assert_eq!(other.config, first.config, "{name}");
            let expected = if *name == "v5" { None } else { first.expected_invocations.clone() };
            assert_eq!(other.expected_invocations, expected, "{name}");
        }
    }

    #[test]
    fn numbers_become_performance_metrics() {
        let input = sample("v4.42.4").to_eval_input("m").unwrap().input;
        let one = |ms: f64| json!({"min": ms, "median": ms, "max": ms, "count": 1, "p50": ms, "p95": ms, "p99": ms});
        assert_eq!(
            json!(input.invocations[0].performance_metrics),
            json!({
                "latency": {"overall": one(1300.0), "tool_executions": one(250.0)},
                "tokens": {"total_prompt": 120, "total_output": 34, "total": 154, "cache_read_tokens": 5},
                "counts": {"llm_calls": 2, "tool_calls": 2, "invocations": 1},
                "event_count": 2, "error_count": 0, "cost_usd": 0.0012,
                "tool_names": ["Read", "search"], "tool_calls_by_name": {"Read": 1, "search": 1},
                "tool_durations": {"search": [250.0]},
                "start_time": "2026-01-01T00:00:00.000Z", "end_time": "2026-01-01T00:00:01.300Z",
            })
        );
    }

    #[test]
    fn what_is_dropped_is_listed() {
        let dropped = |name: &str| sample(name).to_eval_input("m").unwrap().dropped;
        assert_eq!(
            dropped("v2.5.1"),
            [
                "input_messages[0]",
                "input_messages[1].content[0]",
                "input_messages[1].content[1]",
                "output_messages[0].tool_calls[0].timestamp",
                "output_messages[1].timestamp",
                "output_messages[0].content",
                "question",
                "expected_outcome",
                "input_files",
            ]
        );
        assert_eq!(
            dropped("workspace"),
            [
                "input[0].content[0]",
                "input[0].content[1]",
                "messages[1].tool_calls[0].start_time",
                "messages[1].tool_calls[0].end_time",
                "messages[1].tool_calls[0].duration_ms",
                "messages[2].start_time",
                "messages[2].end_time",
                "messages[1].content",
                "criteria",
                "input_files",
                "file_changes",
                "workspace_path",
                "trace.events",
                "trace.metadata",
            ]
        );
        let plain = read(r#"{"question": "q", "candidate_answer": "a", "reference_answer": "b"}"#);
        let converted = plain.to_eval_input("m").unwrap();
        assert_eq!(converted.dropped, [""; 0]);
        assert_eq!(converted.input.invocations[0].user_content, "q");
        let golden = converted.input.expected_invocations.unwrap();
        assert_eq!(golden[0].final_response.as_deref(), Some("b"));
        let unknown = read(r#"{"criteria": "c", "output": "a", "brand_new": 1, "nothing": null}"#);
        assert_eq!(unknown.to_eval_input("m").unwrap().dropped, ["criteria", "brand_new"]);
    }

    #[test]
    fn failed_tool_calls_are_failed_responses() {
        let text = json!({
            "criteria": "c", "output": "sorry",
            "input": [{"role": "user", "content": "q"}],
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "tool_calls": [
                    {"tool": "a", "id": "1", "output": "boom"}, {"tool": "b"}, {"tool": "c", "output": {"x": 1}}, {"tool": "d"},
                ]},
                {"role": "assistant", "content": "sorry"},
            ],
            "trace": {"events": [
                {"type": "tool_call", "tool": {"name": "a", "call_id": "1", "status": "error"}},
                {"type": "tool_call", "tool": {"name": "b", "status": "timeout"}, "metadata": {"message_index": 1, "tool_index": 1}},
                {"type": "tool_call", "tool": {"name": "c", "status": "ok"}, "metadata": {"message_index": 1, "tool_index": 2}},
            ]},
        });
        let input = read(&text.to_string()).to_eval_input("m").unwrap().input;
        let responses = &input.invocations[0].intermediate_steps.tool_responses;
        let told: Vec<_> = responses
            .iter()
            .map(|response| (response.name.as_str(), response.is_error()))
            .collect();
        assert_eq!(told, [("a", true), ("b", true), ("c", false)]);
    }

    #[test]
    fn users_begin_turns_and_inputs_of_any_kind_fit() {
        let text = json!({
            "criteria": "c",
            "input": [{"role": "user", "content": "one"}],
            "output": [
                {"role": "assistant", "content": "first", "tool_calls": [{"tool": "sh", "input": "ls -l"}]},
                {"role": "tool", "name": "sh", "content": {"files": 2}, "tool_call_id": "7"},
                {"role": "user", "content": "two"},
                {"role": "assistant", "content": "second"},
                {"role": "user", "content": "three"},
            ],
            "answer": "second",
        });
        let converted = read(&text.to_string()).to_eval_input("m").unwrap();
        let turns = &converted.input.invocations;
        let said: Vec<_> = turns
            .iter()
            .map(|turn| (turn.user_content.as_str(), turn.final_response.as_deref()))
            .collect();
        assert_eq!(said, [("one", Some("first")), ("two", Some("second")), ("three", None)]);
        let steps = &turns[0].intermediate_steps;
        assert_eq!(json!(steps.tool_calls[0].args), json!({"input": "ls -l"}));
        assert_eq!(steps.tool_responses[0].response, json!({"files": 2}));
        assert_eq!(steps.tool_responses[0].id.as_deref(), Some("7"));
    }

    #[test]
    fn an_answer_that_nobody_read_is_an_error() {
        let unread = read(r#"{"criteria": "c", "output": null, "output_path": "/x"}"#);
        let error = unread.to_eval_input("m").unwrap_err();
        assert_eq!(
            error.to_string(),
            "output_path: the answer is in this file, which has not been read"
        );
        // Since 4.36 the transcript has the whole text as well.
        assert!(sample("output path").to_eval_input("m").is_ok());
    }

    #[test]
    fn an_agent_of_which_nothing_is_known_has_no_turns() {
        let text = r#"{"criteria": "", "output": null, "input": [{"role": "user", "content": "q"}], "config": {"a": 1}}"#;
        let converted = read(text).to_eval_input("m").unwrap();
        assert_eq!(
            (converted.input.invocations.len(), converted.input.expected_invocations),
            (0, None)
        );
        assert_eq!(converted.dropped, ["input"]);
        let measured =
            r#"{"criteria": "", "output": null, "duration_ms": 5, "trace": {"event_count": 0}}"#;
        assert_eq!(read(measured).to_eval_input("m").unwrap().dropped, ["trace", "duration_ms"]);
        // It is known to have said nothing.
        let silent =
            r#"{"criteria": "", "output": null, "messages": [{"role": "user", "content": "q"}]}"#;
        let turns = read(silent).to_eval_input("m").unwrap().input.invocations;
        assert_eq!(
            (turns.len(), turns[0].user_content.as_str(), &turns[0].final_response),
            (1, "q", &None)
        );
    }

    #[test]
    fn every_sample_converts() {
        for (name, text) in SAMPLES {
            let document = Document::read(text.as_bytes()).unwrap();
            assert_eq!((document.reply(), document.metric_name()), (Reply::AgentV, None), "{name}");
            let converted = document.to_eval_input(name).unwrap();
            assert_eq!(converted.input.invocations.len(), 1, "{name}");
            assert!(converted.input.invocations[0].final_response.is_some(), "{name}");
        }
    }
}

mod answers {
    use super::*;

    fn written(result: &CodeJudgeResult) -> Value {
        serde_json::to_value(result).unwrap()
    }

    #[test]
    fn every_generation_finds_its_rows() {
        let result = CodeJudgeResult::new(Score::new(0.7).unwrap())
            .reasoning("r")
            .assertion(Assertion::new("h", true).reason("x").evidence("e"))
            .miss("m")
            .detail("k", 1);
        assert_eq!(
            written(&result),
            json!({
                "pass": false, "score": 0.7, "reason": "r", "reasoning": "r", "hits": ["h"], "misses": ["m"],
                "assertions": [{"text": "h", "passed": true, "evidence": "e"}, {"text": "m", "passed": false}],
                "checks": [
                    {"text": "h", "pass": true, "reason": "x", "evidence": "e"},
                    {"text": "m", "pass": false, "reason": "m"},
                ],
                "details": {"k": 1},
            })
        );
        assert_eq!(
            written(&CodeJudgeResult::new(Score::ONE)),
            json!({"pass": true, "score": 1.0, "hits": [], "misses": [], "assertions": [], "checks": []})
        );
        assert_eq!(
            CodeJudgeResult::of([Assertion::new("a", true), Assertion::new("b", false)]).score,
            Score::ratio(1, 2)
        );
    }

    #[test]
    fn judges_of_every_generation_are_read() {
        let read = |value: Value| serde_json::from_value::<CodeJudgeResult>(value).unwrap();
        let old = read(json!({"score": 0.5, "hits": ["a"], "misses": ["b"], "reasoning": "r"}));
        assert_eq!(
            (old.hits(), old.misses(), old.reasoning.as_deref()),
            (vec!["a"], vec!["b"], Some("r"))
        );
        let middle = read(
            json!({"score": 1, "assertions": [{"text": "a", "passed": true, "evidence": "e"}]}),
        );
        assert_eq!(middle.assertions[0].evidence.as_deref(), Some("e"));
        let new = read(
            json!({"score": 0, "reason": "r", "checks": [{"text": "a", "pass": false, "reason": "why"}]}),
        );
        assert_eq!(
            (new.assertions[0].reason.as_deref(), new.reasoning.as_deref()),
            (Some("why"), Some("r"))
        );
        assert!(serde_json::from_value::<CodeJudgeResult>(json!({"score": 1.7})).is_err());
        assert!(serde_json::from_value::<CodeJudgeResult>(json!({"pass": true})).is_err());
    }

    #[test]
    fn not_evaluated_has_no_answer() {
        let reply = Reply::AgentV;
        let error = reply.answer(EvalResult::not_evaluated("no golden turns")).unwrap_err();
        assert_eq!(error.to_string(), "not evaluated: no golden turns");
        let answer = reply.answer(EvalResult::new(Score::ONE).status(EvalStatus::Failed)).unwrap();
        let line: Value = serde_json::from_slice(&answer.to_line().unwrap()).unwrap();
        assert_eq!((&line["score"], &line["pass"]), (&json!(0.0), &json!(false)));
    }
}

/// Any JSON, small.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        Just(json!("assistant")),
        Just(json!("text")),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "role",
            "content",
            "tool_calls",
            "tool",
            "input",
            "output",
            "type",
            "text",
            "value",
            "events",
            "messages",
            "event_count",
            "tool_durations",
            "metadata",
            "message_index",
            "status",
            "score",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,3}",
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..4)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

fn any_assertion() -> impl Strategy<Value = Assertion> {
    let text = || proptest::option::of(".{0,8}");
    (".{0,8}", any::<bool>(), text(), text()).prop_map(|(name, passed, evidence, reason)| {
        let mut assertion = Assertion::new(name, passed);
        assertion.evidence = evidence;
        // A reason that only repeats what stands in for it is none.
        assertion.reason = reason
            .filter(|reason| reason != assertion.evidence.as_ref().unwrap_or(&assertion.text));
        assertion
    })
}

proptest! {
    /// Whatever stands under a key of a sample: it is read or refused, and what is read is converted and written.
    #[test]
    fn mutated_samples_never_panic(
        sample in 0..SAMPLES.len(),
        key in any::<prop::sample::Index>(),
        value in any_json(),
    ) {
        let mut document = object(SAMPLES[sample].1);
        let keys: Vec<String> = document.keys().cloned().collect();
        let key = key.get(&keys).clone();
        document.insert(key.clone(), value);
        let text = Value::Object(document).to_string();
        prop_assert_eq!(detect(text.as_bytes()).unwrap(), Contract::AgentV);
        match CodeJudgeInput::from_json(text.as_bytes()) {
            Err(error) => prop_assert!(error.path.starts_with(&key), "{}", error),
            Ok(input) => {
                let written = serde_json::to_string(&input).unwrap();
                prop_assert_eq!(&read(&written), &input);
                // There is an answer, or none, and no other way to fail.
                if let Err(error) = input.to_eval_input("m") {
                    prop_assert_eq!(error.path, "output_path");
                }
            }
        }
    }

    #[test]
    fn results_survive_being_written(
        score in 0.0..=1.0_f64,
        assertions in prop::collection::vec(any_assertion(), 0..5),
        reasoning in proptest::option::of(".{0,12}"),
    ) {
        let mut result = CodeJudgeResult::new(Score::new(score).unwrap());
        result.assertions = assertions;
        result.reasoning = reasoning;
        let value = serde_json::to_value(&result).unwrap();
        prop_assert_eq!(value["hits"].as_array().unwrap().len(), result.hits().len());
        prop_assert_eq!(value["checks"].as_array().unwrap().len(), result.assertions.len());
        prop_assert_eq!(serde_json::from_value::<CodeJudgeResult>(value).unwrap(), result);
    }

    #[test]
    fn results_of_the_default_contract_are_answered(
        score in 0.0..=1.0_f64,
        turns in prop::collection::vec(proptest::option::of(0.0..=1.0_f64), 0..4),
        details in prop::collection::btree_map("[a-z]{1,4}|issues|hits|reason|assertions|score", any_json(), 0..4),
        status in proptest::option::of(prop_oneof![Just(EvalStatus::Passed), Just(EvalStatus::Failed)]),
    ) {
        let mut result = EvalResult::new(Score::new(score).unwrap())
            .per_invocation_scores(turns.into_iter().map(|score| score.map(|score| Score::new(score).unwrap())));
        result.status = status;
        result.details = Some(details.clone().into_iter().collect());
        let answer = CodeJudgeResult::from_eval_result(result);
        let kept = answer.details.clone().unwrap_or_default();
        for (key, value) in &details {
            prop_assert_eq!(&kept[key], value);
        }
        let failed = status == Some(EvalStatus::Failed);
        prop_assert!(!failed || answer.score.get() < 0.5);
        prop_assert!(failed || answer.score.get() == score);
    }
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
