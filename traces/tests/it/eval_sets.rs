//! Loading eval sets, and finding the golden case of a conversation.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_traces::{
    conversation::{Conversation, Turn},
    eval_set::{CaseIndex, Doubt, EvalCase, EvalSet, ExpectedTurn, Unmatched},
    json::to_python,
    trace::SpanStatus,
};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/eval_sets").join(name)
}

fn loaded(name: &str) -> EvalSet {
    EvalSet::load(&sample(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// The only turn of the only case.
fn only_turn(name: &str) -> ExpectedTurn {
    let set = loaded(name);
    let [case] = set.cases.as_slice() else { panic!("{name}: {} cases", set.cases.len()) };
    let [turn] = case.turns.as_slice() else { panic!("{name}: {} turns", case.turns.len()) };
    turn.clone()
}

fn refused(text: &str) -> String {
    EvalSet::from_text(text, Path::new("s.json")).expect_err(text).kind.to_string()
}

#[test]
fn the_form_of_the_files() {
    let set = loaded("library.json");
    assert_eq!(set.id, "es");
    assert_eq!(set.cases[0].id, "weather");
    let turn = &set.cases[0].turns[0];
    assert_eq!(turn.invocation_id, "gw");
    assert_eq!(turn.user_text(), "What is the weather in Paris?");
    assert_eq!(
        turn.final_text("\n").as_deref(),
        Some("It is 21 degrees and sunny in Paris today.")
    );
    let call = &turn.tool_calls[0];
    assert_eq!(
        (call.id.as_deref(), call.name.as_deref().unwrap_or_default()),
        (Some("e0"), "get_weather")
    );
    assert_eq!(to_python(&call.args), r#"{"city": "Paris"}"#);
    assert_eq!(to_python(&turn.tool_responses[0].response), r#"{"sky": "sunny", "temp": 21}"#);
}

#[test]
fn camel_case_below_the_top() {
    let turn = only_turn("camel.json");
    assert_eq!((turn.invocation_id.as_str(), turn.tool_calls.len()), ("gw", 1));
    assert_eq!(turn.final_parts, Some(vec!["It is 21 degrees".to_owned()]));
}

#[test]
fn absent_and_null_parts_of_a_turn() {
    let turn = only_turn("null_fields.json");
    assert!(turn.final_parts.is_none() && turn.tool_calls.is_empty());
    assert_eq!(only_turn("no_final.json").final_text(""), None);
    let turn = only_turn("missing_args.json");
    assert!(turn.tool_calls[0].args.is_null() && turn.tool_responses[0].response.is_null());
    assert_eq!(turn.tool_calls[0].id, None);
    let turn = only_turn("response_types.json");
    assert_eq!(
        to_python(&turn.tool_responses[0].response),
        r#"{"a": [1e+16, "\u00e9", null], "z": 1.0}"#
    );
    assert_eq!(to_python(&turn.tool_responses[1].response), "{}");
}

#[test]
fn texts_of_all_parts_count() {
    let turn = only_turn("multi_part.json");
    assert_eq!(turn.user_text(), "What is the weather in Paris?");
    assert_eq!(turn.final_text("\n").as_deref(), Some("It is 21\ndegrees and\nsunny in Paris."));
}

#[test]
fn calls_in_events_are_for_the_trajectory_only() {
    let turn = only_turn("invocation_events.json");
    assert!(turn.tool_calls.is_empty() && turn.tool_responses.is_empty());
    let calls: Vec<&str> =
        turn.trajectory().map(|call| call.name.as_deref().unwrap_or_default()).collect();
    assert_eq!(calls, ["get_weather"]);
}

#[test]
fn unknown_keys_pass_where_others_extend_the_format() {
    assert_eq!(loaded("extra_key_case.json").cases.len(), 1);
    assert_eq!(loaded("rubrics.json").cases.len(), 1);
    assert_eq!(loaded("scenario_only.json").cases[0].turns.len(), 0);
    assert_eq!(loaded("empty_cases.json").cases.len(), 0);
}

#[test]
fn broken_files_name_the_file_and_the_field() {
    for (name, expected) in [
        ("empty_file.json", "invalid JSON: expected a value at line 1 column 1 (byte 0)"),
        ("not_object.json", "the document: expected an object, found an array"),
        ("camel_top.json", "eval_set_id: required field is missing ('evalSetId' is not read here)"),
        ("missing_set_id.json", "eval_set_id: required field is missing"),
        ("int_eval_id.json", "eval_cases[0].eval_id: expected a string, found an integer"),
        (
            "no_conversation.json",
            "eval_cases[0]: expected exactly one of 'conversation' and 'conversation_scenario'",
        ),
        ("extra_key_invocation.json", "eval_cases[0].conversation[0].bogus: unknown key"),
        (
            "extra_key_part.json",
            "eval_cases[0].conversation[0].user_content.parts[0].bogus: unknown key",
        ),
    ] {
        let path = sample(name);
        let error = EvalSet::load(&path).expect_err(name).to_string();
        assert_eq!(error, format!("Failed to load eval set '{}': {expected}", path.display()));
    }
    let malformed =
        EvalSet::load(&sample("malformed.json")).expect_err("malformed").kind.to_string();
    assert!(
        malformed.starts_with("invalid JSON: unexpected end of text at line 1 column 22"),
        "{malformed}"
    );
    let missing = EvalSet::load(&sample("missing.json")).expect_err("missing").to_string();
    assert!(
        missing.starts_with(&format!(
            "Failed to load eval set '{}': ",
            sample("missing.json").display()
        ))
    );
}

#[test]
fn every_field_is_checked_at_its_place() {
    let turn = |turn: &str| {
        format!(
            r#"{{"eval_set_id": "s", "eval_cases": [{{"eval_id": "c", "conversation": [{turn}]}}]}}"#
        )
    };
    let at = "eval_cases[0].conversation[0]";
    for (text, expected) in [
        (r#"{"eval_set_id": "s"}"#.to_owned(), "eval_cases: required field is missing".to_owned()),
        (r#"{"eval_set_id": "s", "eval_cases": {}}"#.to_owned(), "eval_cases: expected an array, found an object".to_owned()),
        (r#"{"eval_set_id": "s", "eval_cases": [7]}"#.to_owned(), "eval_cases[0]: expected an object, found an integer".to_owned()),
        (
            r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [], "conversationScenario": {"startingPrompt": "x", "conversationPlan": "y"}}]}"#.to_owned(),
            "eval_cases[0]: expected exactly one of 'conversation' and 'conversation_scenario'".to_owned(),
        ),
        (
            r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation_scenario": {"starting_prompt": "x"}}]}"#.to_owned(),
            "eval_cases[0].conversation_scenario.conversation_plan: required field is missing".to_owned(),
        ),
        (turn("null"), format!("{at}: expected an object, found null")),
        (turn("{}"), format!("{at}.user_content: required field is missing")),
        (turn(r#"{"user_content": "hi"}"#), format!("{at}.user_content: expected an object, found a string")),
        (turn(r#"{"user_content": {"parts": "hi"}}"#), format!("{at}.user_content.parts: expected an array, found a string")),
        (turn(r#"{"user_content": {"parts": [{"text": 5}]}}"#), format!("{at}.user_content.parts[0].text: expected a string, found an integer")),
        (turn(r#"{"user_content": {"part": []}}"#), format!("{at}.user_content.part: unknown key (did you mean 'parts'?)")),
        (turn(r#"{"user_content": {}, "final_respnse": {}}"#), format!("{at}.final_respnse: unknown key (did you mean 'final_response'?)")),
        (turn(r#"{"user_content": {}, "finalResponse": 1.5}"#), format!("{at}.final_response: expected an object, found a number")),
        (
            turn(r#"{"user_content": {}, "intermediate_data": {"tool_uses": [{}, {"args": "x"}]}}"#),
            format!("{at}.intermediate_data.tool_uses[1].args: expected an object, found a string"),
        ),
        (
            turn(r#"{"user_content": {}, "intermediate_data": {"tool_responses": [{"response": []}]}}"#),
            format!("{at}.intermediate_data.tool_responses[0].response: expected an object, found an array"),
        ),
        (
            turn(r#"{"user_content": {}, "intermediate_data": {"intermediate_responses": [["author"]]}}"#),
            format!("{at}.intermediate_data.intermediate_responses[0]: expected a pair of author and parts, found an array"),
        ),
        (
            turn(r#"{"user_content": {}, "intermediate_data": {"invocation_events": [{"content": {}}]}}"#),
            format!("{at}.intermediate_data.invocation_events[0].author: required field is missing"),
        ),
        (
            turn(r#"{"user_content": {}, "intermediate_data": {"invocationEvents": [], "tool_uses": []}}"#),
            format!("{at}.intermediate_data.tool_uses: unknown key"),
        ),
        (turn(r#"{"user_content": {}, "invocation_id": null}"#), format!("{at}.invocation_id: expected a string, found null")),
        (turn(r#"{"user_content": {}, "userContent": {}}"#), format!("{at}.user_content: the key is also present in camelCase")),
        (
            turn(r#"{"user_content": {}, "intermediate_data": {"tool_uses": null}}"#),
            format!("{at}.intermediate_data.tool_uses: expected an array, found null"),
        ),
    ] {
        assert_eq!(refused(&text), expected, "{text}");
    }
}

#[test]
fn what_is_not_read_is_checked_too() {
    let case_of = |conversation: &str, more: &str| {
        format!(
            r#"{{"eval_set_id": "s", "eval_cases": [{{"eval_id": "c", "conversation": [{conversation}], {more}}}]}}"#
        )
    };
    let case = |more: &str| case_of("", more);
    for (more, expected) in [
        (
            r#""session_input": {"app_name": "a"}"#,
            "session_input.user_id: required field is missing",
        ),
        (r#""final_session_state": []"#, "final_session_state: expected an object, found an array"),
        (r#""creation_timestamp": "x""#, "creation_timestamp: expected a number, found a string"),
        (
            r#""rubrics": [{"rubric_id": "r"}]"#,
            "rubrics[0].rubric_content: required field is missing",
        ),
        (
            r#""rubrics": [{"rubricId": "r", "rubricContent": {"text": "x"}}]"#,
            "rubrics[0].rubric_content.text: unknown key (did you mean 'text_property'?)",
        ),
    ] {
        assert_eq!(refused(&case(more)), format!("eval_cases[0].{expected}"));
    }
    for (part, expected) in [
        (r#"{"thought": "perhaps"}"#, "thought: expected a boolean, found a string"),
        (r#"{"part_metadata": 1}"#, "part_metadata: expected an object, found an integer"),
        (
            r#"{"inlineData": {"data": "**"}}"#,
            "inline_data.data: expected a string in base64, found a string",
        ),
        (
            r#"{"functionResponse": {"parts": [{"x": 1}]}}"#,
            "function_response.parts[0].x: unknown key",
        ),
    ] {
        let text = case_of(&format!(r#"{{"user_content": {{"parts": [{part}]}}}}"#), r#""x": 0"#);
        let at = "eval_cases[0].conversation[0].user_content.parts[0]";
        assert_eq!(refused(&text), format!("{at}.{expected}"));
    }
    let lenient = r#""creation_timestamp": " 12.5 ", "session_input": {"appName": "a", "user_id": "u", "other": 1}, "other": []"#;
    EvalSet::from_text(&case(lenient), Path::new("s.json")).unwrap();
}

#[test]
fn what_a_turn_says_without_words_is_nothing() {
    let text = r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [
        {"user_content": {}, "final_response": {"parts": [{"text": ""}]}, "intermediate_data": {
            "tool_uses": [{"args": {}}],
            "intermediate_responses": [["agent", [{"function_call": {"name": "late"}}]]]}}]}]}"#;
    let set = EvalSet::from_text(text, Path::new("s.json")).unwrap();
    let turn = &set.cases[0].turns[0];
    assert_eq!((turn.user_text(), turn.final_text("")), (String::new(), None));
    // A call without a name is one that nothing matches; those in intermediate responses come after the others.
    let calls: Vec<_> = turn.trajectory().map(|call| call.name.as_deref()).collect();
    assert_eq!(calls, [None, Some("late")]);
}

fn conversation(said: &[Option<&str>]) -> Conversation {
    let turn = |said: &Option<&str>| Turn {
        trace_id: Arc::from("t"),
        span_id: "s".to_owned(),
        root_anchored: false,
        agent_name: None,
        user_text: said.map(str::to_owned),
        final_text: None,
        llm_calls: Vec::new(),
        tool_calls: Vec::new(),
        start_ns: 0,
        end_ns: 0,
        status: SpanStatus::Unset,
        ..Turn::default()
    };
    Conversation {
        trace_id: Arc::from("t"),
        file: "t.json".into(),
        turns: said.iter().map(turn).collect(),
        case_id: None,
        warnings: Vec::new(),
        errors: Vec::new(),
        operations: Vec::new(),
        dropped_copies: 0,
        labels: Default::default(),
        performance: None,
    }
}

/// A set with a case per entry: its id and what the user says in each turn.
fn set(cases: &[(&str, &[&str])]) -> EvalSet {
    let turn = |said: &&str| ExpectedTurn {
        user_parts: vec![(*said).to_owned()],
        ..ExpectedTurn::default()
    };
    let case = |(id, said): &(&str, &[&str])| EvalCase {
        id: (*id).to_owned(),
        turns: said.iter().map(turn).collect(),
        ..EvalCase::default()
    };
    EvalSet { id: "s".to_owned(), cases: cases.iter().map(case).collect() }
}

fn matched(set: &EvalSet, conversation: &Conversation, groups: usize) -> Result<String, String> {
    CaseIndex::new(Some(set))
        .find(conversation, groups)
        .map(|matched| matched.case.id.clone())
        .map_err(|error| error.to_string())
}

#[test]
fn without_a_set_there_is_no_case() {
    let unmatched = CaseIndex::new(None).find(&conversation(&[Some("hi")]), 1).expect_err("no set");
    assert_eq!(
        (unmatched.to_string().as_str(), unmatched),
        ("no eval set provided", Unmatched::NoEvalSet)
    );
}

#[test]
fn the_first_user_text_decides() {
    let set = set(&[("hi", &["Hi  there\u{a0}Straße!"]), ("bye", &["bye"]), ("none", &[])]);
    assert_eq!(
        matched(&set, &conversation(&[Some(" hi THERE strasse!\n"), Some("bye")]), 2),
        Ok("hi".to_owned())
    );
    assert_eq!(
        matched(&set, &conversation(&[Some("other")]), 1),
        Err("no matching eval case".to_owned())
    );
    assert_eq!(
        matched(&set, &conversation(&[None, Some("bye")]), 1),
        Err("no user input to match".to_owned())
    );
    assert_eq!(
        matched(&set, &conversation(&[Some(" \n")]), 1),
        Err("no user input to match".to_owned())
    );
    assert_eq!(matched(&set, &conversation(&[]), 1), Err("no user input to match".to_owned()));
}

#[test]
fn one_case_and_one_conversation_belong_together() {
    let set = set(&[("none", &[]), ("hi", &["hi"])]);
    for said in [Some("other"), None] {
        assert_eq!(matched(&set, &conversation(&[said]), 1), Ok("hi".to_owned()));
        assert!(matched(&set, &conversation(&[said]), 2).is_err());
    }
}

#[test]
fn being_alone_is_a_reason_to_doubt_and_strictly_none_to_match() {
    let doubt = |golden: &str, said: Option<&str>| {
        let set = set(&[("none", &[]), ("only", &[golden])]);
        let strict = CaseIndex::new(Some(&set)).strict(true);
        let index = CaseIndex::new(Some(&set));
        let matched = index.find(&conversation(&[said]), 1).expect("they are alone");
        assert_eq!((matched.position, &*matched.case.id), (1, "only"));
        assert_eq!(strict.find(&conversation(&[said]), 1).is_ok(), matched.doubt.is_none());
        matched.doubt
    };
    assert_eq!(doubt("Hi there", Some(" hi  THERE")), None);
    assert_eq!(
        doubt("Hi", Some("Bye")),
        Some(Doubt::PromptsDiffer { recorded: "Bye".to_owned(), golden: "Hi".to_owned() })
    );
    assert_eq!(doubt("Hi", None), Some(Doubt::NoRecordedPrompt));
    assert_eq!(doubt("", Some("Hi")), Some(Doubt::NoGoldenPrompt));
    // Prompts may be long, and of several lines.
    let long = doubt("a\nb", Some(&"é".repeat(1000))).map(|doubt| doubt.to_string());
    let text = long.unwrap_or_default();
    assert!(text.ends_with("is recorded, and \"a\\nb\" is expected"), "{text}");
    assert!(text.chars().count() < 160, "{text}");
}

#[test]
fn the_number_of_turns_decides_between_equals() {
    let set = set(&[
        ("one", &["q"]),
        ("two", &["q", "more"]),
        ("also two", &["Q", "x"]),
        ("three", &["q", "x", "y"]),
    ]);
    let turns = |count| vec![Some("q"); count];
    assert_eq!(matched(&set, &conversation(&turns(1)), 1), Ok("one".to_owned()));
    assert_eq!(matched(&set, &conversation(&turns(3)), 1), Ok("three".to_owned()));
    for count in [2, 4] {
        assert_eq!(
            matched(&set, &conversation(&turns(count)), 1),
            Err("ambiguous eval case".to_owned())
        );
    }
}

#[test]
fn a_named_case_wins_or_is_not_found() {
    let set = set(&[("a", &["hi"]), ("b", &["bye"]), ("b", &["later"]), ("none", &[])]);
    let named =
        |id: &str| Conversation { case_id: Some(id.to_owned()), ..conversation(&[Some("hi")]) };
    let found = CaseIndex::new(Some(&set)).find(&named("b"), 9).expect("a case");
    assert_eq!((found.position, &found.doubt), (1, &None));
    assert_eq!(found.case.turns[0].user_parts, ["bye"], "the first of a repeated id");
    assert_eq!(matched(&set, &named("c"), 1), Err("eval case 'c' not found".to_owned()));
    assert_eq!(matched(&set, &named("none"), 1), Err("eval case 'none' not found".to_owned()));
}
