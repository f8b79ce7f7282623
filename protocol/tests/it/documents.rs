//! Reading and writing documents, as a host or an evaluator meets them.

use evaluator_protocol::{
    DecodeErrorKind, Description, ErrorBody, EvalInput, EvalResult, EvalStatus, Frame,
    InvocationData, MAX_DEPTH, Manifest, ProtocolVersion, Score, ToolCallData, ToolResponseData,
    decode,
};
use proptest::prelude::*;
use serde_json::json;

const FULL: &str = r#"{
  "protocol_version": "1.1", "metric_name": "echo", "threshold": 0.7, "config": {"min": 1}, "invocations": [{
    "invocation_id": "s1", "user_content": "hi", "final_response": null,
    "intermediate_steps": {
      "tool_calls": [{"name": "get_weather", "args": {"city": "Paris"}, "id": "c1"}],
      "tool_responses": [{"name": "get_weather", "output": "{\"t\": 1}", "status": null, "id": "c1", "response": {"t": 1}}]
    },
    "performance_metrics": {"counts": {"llm_calls": 2}}, "trace_id": "t", "span_id": "s1"
  }], "expected_invocations": []
}"#;

fn error(text: &str) -> String {
    decode::<EvalInput>(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_full_document_reads_and_writes_back_the_same() {
    let input: EvalInput = decode(FULL.as_bytes()).unwrap();
    assert_eq!(input.invocations[0].tool_names().collect::<Vec<_>>(), ["get_weather"]);
    let expected: serde_json::Value = serde_json::from_str(FULL).unwrap();
    assert_eq!(serde_json::to_value(&input).unwrap(), expected);
}

#[test]
fn everything_but_the_name_has_a_default() {
    let input: EvalInput = decode(br#"{"metric_name": "m"}"#).unwrap();
    assert_eq!(input, EvalInput::new("m"));
    assert_eq!((input.threshold, input.protocol_version), (0.5, ProtocolVersion::CURRENT));
    assert_eq!(input.expected_invocations, None);
    let turn: InvocationData = decode(b"{}").unwrap();
    assert_eq!(turn, InvocationData::default());
}

#[test]
fn a_document_of_version_1_0_reads() {
    let text = r#"{"protocol_version": "1.0", "metric_name": "m", "invocations": [{"invocation_id": "a",
        "user_content": "q", "final_response": "r", "intermediate_steps":
        {"tool_calls": [{"name": "t", "args": {}}], "tool_responses": [{"name": "t", "output": "{'a': 1}"}]}}]}"#;
    let input: EvalInput = decode(text.as_bytes()).unwrap();
    assert_eq!(input.protocol_version, ProtocolVersion::new(1, 0));
    let response = &input.invocations[0].intermediate_steps.tool_responses[0];
    assert_eq!((response.output.as_str(), &response.response), ("{'a': 1}", &json!(null)));
}

#[test]
fn unknown_fields_are_ignored_at_every_level() {
    let text = r#"{"metric_name": "m", "new": [1], "invocations": [{"new": {}, "intermediate_steps":
        {"new": 1, "tool_calls": [{"name": "t", "new": 1}], "tool_responses": [{"name": "t", "new": 1}]}}]}"#;
    let input: EvalInput = decode(text.as_bytes()).unwrap();
    assert_eq!(input.invocations[0].intermediate_steps.tool_calls[0], ToolCallData::new("t"));
    let result: EvalResult = decode(br#"{"score": 1, "new": 1}"#).unwrap();
    assert_eq!(result, EvalResult::new(Score::ONE));
}

#[test]
fn errors_name_the_field_and_show_the_place() {
    assert_eq!(
        error(r#"{"metric_name": "m", "invocations": [{}, {"final_response": 5}]}"#),
        "invocations[1].final_response: invalid type: integer `5`, expected a string at line 1 column 61, \
         near `\"invocations\": [{}, {\"final_response\": 5}]}`"
    );
    assert!(error("{}").starts_with("missing field `metric_name` at line 1 column 2"));
    assert!(
        error(r#"{"metric_name": "m", "config": null}"#)
            .starts_with("config: invalid type: null, expected an object")
    );
    assert!(
        error(r#"{"metric_name": "m", "threshold": "high"}"#)
            .starts_with("threshold: invalid value: string \"high\"")
    );
    assert!(
        error(r#"{"metric_name": "m", "protocol_version": "one"}"#)
            .starts_with("protocol_version: `one` is not")
    );
    assert!(
        error(r#"{"metric_name": "m", "invocations": [{"intermediate_steps": {"tool_calls": [{"args": {}}]}}]}"#)
            .starts_with("invocations[0].intermediate_steps.tool_calls[0]: missing field `name`")
    );
}

#[test]
fn numbers_may_come_as_text() {
    let input: EvalInput = decode(br#"{"metric_name": "m", "threshold": "0.3"}"#).unwrap();
    assert_eq!(input.threshold, 0.3);
}

#[test]
fn what_is_not_a_document_has_an_error_of_its_own() {
    let kind = |bytes: &[u8]| decode::<EvalInput>(bytes).unwrap_err().kind;
    assert_eq!(kind(b""), DecodeErrorKind::Empty);
    assert_eq!(kind(b" \n"), DecodeErrorKind::Empty);
    assert_eq!(kind(b"\xef\xbb\xbf{\"metric_name\": \"m\"}"), DecodeErrorKind::ByteOrderMark);
    assert_eq!(kind(b"{\"metric_name\": \"\xff\"}"), DecodeErrorKind::NotUtf8 { offset: 17 });
    for text in [
        "nope",
        "{\"metric_name\": \"m\"",
        "{\"metric_name\": \"m\"} {}",
        "{\"metric_name\": \"m\", \"threshold\": NaN}",
    ] {
        assert!(matches!(kind(text.as_bytes()), DecodeErrorKind::Syntax { .. }), "{text}");
    }
    assert!(matches!(kind(br#"{"metric_name": "\ud800"}"#), DecodeErrorKind::Syntax { .. }));
    assert_eq!(kind(b"[\"1.1\", \"m\"]"), DecodeErrorKind::NotAnObject);
    assert_eq!(error("5"), "expected a JSON object, near `5`");
    assert_eq!(
        error("{\"metric_name\":\n nope}"),
        "invalid JSON: expected ident at line 2 column 3, near `{\"metric_name\": nope}`"
    );
}

#[test]
fn a_repeated_key_is_an_error_for_fields_and_the_last_wins_in_free_form_objects() {
    assert!(
        error(r#"{"metric_name": "a", "metric_name": "b"}"#)
            .contains("duplicate field `metric_name`")
    );
    let input: EvalInput = decode(br#"{"metric_name": "m", "config": {"a": 1, "a": 2}}"#).unwrap();
    assert_eq!(input.config["a"], json!(2));
}

#[test]
fn integers_beyond_64_bits_become_the_nearest_float() {
    let input: EvalInput = decode(br#"{"metric_name": "m", "config": {"n": 123456789012345678901234567890, "u": 18446744073709551615}}"#).unwrap();
    assert_eq!(input.config["n"], json!(123456789012345678901234567890_f64));
    assert_eq!(input.config["u"], json!(u64::MAX));
}

#[test]
fn nesting_is_read_to_a_limit_and_refused_beyond_it_on_a_small_stack() {
    let nested = |levels: usize| {
        // The document, `config` and the arrays.
        let arrays = levels - 2;
        format!(
            r#"{{"metric_name": "m", "config": {{"deep": {}{}}}}}"#,
            "[".repeat(arrays),
            "]".repeat(arrays)
        )
    };
    let check = move || {
        assert!(decode::<EvalInput>(nested(MAX_DEPTH).as_bytes()).is_ok());
        for levels in [MAX_DEPTH + 1, 1_000_000] {
            let error = decode::<EvalInput>(nested(levels).as_bytes()).unwrap_err();
            assert_eq!(error.kind, DecodeErrorKind::TooDeep);
        }
        // Unclosed brackets and brackets inside strings.
        let open = format!(r#"{{"metric_name": {}"#, "[".repeat(1_000_000));
        assert_eq!(
            decode::<EvalInput>(open.as_bytes()).unwrap_err().kind,
            DecodeErrorKind::TooDeep
        );
        let text = format!(r#"{{"metric_name": "\"{}"}}"#, "[".repeat(10_000));
        assert!(decode::<EvalInput>(text.as_bytes()).is_ok());
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn a_hundred_megabytes_are_read() {
    let mut text = String::from(r#"{"metric_name": "m", "invocations": [{"final_response": ""#);
    text.extend(std::iter::repeat_n('x', 100 << 20));
    text.push_str("\"}]}");
    let input: EvalInput = decode(text.as_bytes()).unwrap();
    assert_eq!(input.invocations[0].final_response.as_ref().map(String::len), Some(100 << 20));
}

#[test]
fn results_write_every_field() {
    let result = EvalResult::new(Score::ratio(1, 4))
        .status(EvalStatus::NotEvaluated)
        .per_invocation_scores([Some(Score::ONE), None])
        .detail("why", "because");
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"score":0.25,"status":"NOT_EVALUATED","per_invocation_scores":[1.0,null],"details":{"why":"because"}}"#
    );
}

#[test]
fn results_outside_the_contract_are_refused_by_path() {
    let refused = |text: &str| decode::<EvalResult>(text.as_bytes()).unwrap_err().to_string();
    assert!(refused(r#"{"score": 1.5}"#).starts_with("score: 1.5 is not a score"));
    assert!(refused(r#"{"score": 1, "status": "OK"}"#).starts_with("status: unknown variant `OK`"));
    assert!(
        refused(r#"{"score": 1, "per_invocation_scores": [1, "x"]}"#)
            .starts_with("per_invocation_scores[1]: ")
    );
    assert!(refused("{}").starts_with("missing field `score`"));
}

#[test]
fn a_mean_is_that_of_the_turns_that_were_scored() {
    let half = Some(Score::ratio(1, 2));
    assert_eq!(EvalResult::mean_of([Score::ONE, Score::ZERO]).score, Score::ratio(1, 2));
    let skipped = EvalResult::mean_of([None, half, None, Some(Score::ONE)]);
    assert_eq!(skipped.score, Score::ratio(3, 4));
    assert_eq!(skipped.per_invocation_scores, [None, half, None, Some(Score::ONE)]);
    assert_eq!(skipped.status, None);
    assert_eq!(skipped.details, None);
}

#[test]
fn a_mean_of_nothing_says_what_there_is_not() {
    let reason = |result: &EvalResult| {
        assert_eq!(result.status, Some(EvalStatus::NotEvaluated));
        result.details.as_ref().unwrap()["reason"].as_str().unwrap().to_owned()
    };
    let no_turns = EvalResult::mean_of(Vec::<Score>::new());
    assert_eq!(reason(&no_turns), "the conversation has no turns");
    let no_scores = EvalResult::mean_of([None::<Score>; 2]);
    assert_eq!(reason(&no_scores), "no turn was scored");
    assert_eq!(no_scores.per_invocation_scores, [None, None]);
}

#[test]
fn there_is_a_score_for_each_turn_or_none() {
    let result =
        |scores: usize| EvalResult::new(Score::ONE).per_invocation_scores(vec![Score::ONE; scores]);
    for (scores, turns) in [(0, 0), (0, 3), (1, 1), (3, 3)] {
        assert_eq!(result(scores).check_turns(turns), Ok(()), "{scores} of {turns}");
    }
    let refused = |scores, turns| result(scores).check_turns(turns).unwrap_err().to_string();
    assert_eq!(
        refused(1, 2),
        "1 score for a conversation of 2 turns; give one for each turn, in order, null for a turn that is not scored, or \
         none at all"
    );
    assert!(refused(2, 1).starts_with("2 scores for a conversation of 1 turn; "));
    assert!(refused(2, 0).starts_with("2 scores for a conversation of 0 turns; "));
}

#[test]
fn tool_responses_carry_text_and_value() {
    let response = ToolResponseData::new("t", json!({"a": 1})).failed();
    assert_eq!((response.output.as_str(), response.is_error()), (r#"{"a":1}"#, true));
    assert_eq!(ToolResponseData::new("t", "plain").output, "plain");
}

#[test]
fn frames_are_one_line_each() {
    let result = Frame::Result(EvalResult::new(Score::ONE).detail("text", "two\nlines"));
    let error = Frame::Error(ErrorBody::new("config", "config.min: not\na number"));
    for frame in [result, error] {
        let line = frame.to_line().unwrap();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(Frame::from_line(&line).unwrap(), frame);
    }
    assert!(Frame::from_line(b"{\"error\": 5}").is_err());
}

#[test]
fn descriptions_of_newer_programs_read() {
    let text = r#"{"sdk": "x", "sdk_version": "9", "protocol_version": "1.7", "capabilities": ["stream", "telepathy"],
        "evaluators": [{"name": "a", "contract": "agentevals", "new": 1}]}"#;
    let description: Description = decode(text.as_bytes()).unwrap();
    assert!(description.streams());
    assert_eq!(description.evaluators[0].name, "a");
}

#[test]
fn manifests_need_a_name_and_an_entrypoint() {
    let manifest: Manifest = decode(br#"{"name": "a", "entrypoint": "a.py"}"#).unwrap();
    assert_eq!(manifest.tags, Vec::<String>::new());
    assert!(decode::<Manifest>(br#"{"name": "a"}"#).is_err());
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|v| json!(v)),
        any::<i64>().prop_map(|v| json!(v)),
        (-1e300..1e300_f64).prop_map(|v| json!(v)),
        ".{0,8}".prop_map(|v: String| json!(v)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|v| json!(v)),
            proptest::collection::btree_map(".{0,6}", inner, 0..4).prop_map(|v| json!(v)),
        ]
    })
}

fn invocation() -> impl Strategy<Value = InvocationData> {
    (".{0,12}", ".{0,12}", any::<bool>(), json_value(), json_value()).prop_map(
        |(user, answer, answered, args, response)| {
            let turn = InvocationData::new(user, answer)
                .tool_call(ToolCallData::new("t").arg("value", args).id("c"))
                .tool_response(ToolResponseData::new("t", response));
            if answered { turn } else { turn.unanswered() }
        },
    )
}

proptest! {
    #[test]
    fn inputs_round_trip(turns in proptest::collection::vec(invocation(), 0..4), golden in proptest::option::of(invocation()), config in json_value()) {
        let mut input = EvalInput::new("m").config("c", config);
        input.invocations = turns;
        input.expected_invocations = golden.map(|turn| vec![turn]);
        let text = serde_json::to_vec(&input).unwrap();
        prop_assert_eq!(decode::<EvalInput>(&text).unwrap(), input);
    }

    #[test]
    fn results_round_trip(score in 0.0..=1.0_f64, per in proptest::collection::vec(proptest::option::of(0.0..=1.0_f64), 0..5), detail in json_value()) {
        let scores = per.into_iter().map(|score| score.map(|score| Score::new(score).unwrap()));
        let result = EvalResult::new(Score::new(score).unwrap()).per_invocation_scores(scores).detail("d", detail);
        let line = Frame::Result(result.clone()).to_line().unwrap();
        prop_assert_eq!(Frame::from_line(&line).unwrap(), Frame::Result(result));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode::<EvalInput>(&bytes);
    }

    #[test]
    fn a_truncated_document_is_an_error_with_a_position(end in 1..FULL.len()) {
        prop_assume!(FULL.is_char_boundary(end));
        let error = decode::<EvalInput>(&FULL.as_bytes()[..end]).unwrap_err();
        prop_assert!(matches!(error.kind, DecodeErrorKind::Syntax { line: 1.., .. }), "{}", error);
    }
}
