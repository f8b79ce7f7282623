//! Every operator: where it applies, and what it changes.

use evaluator_json::to_python;
use evaluator_mutation::{GOLDEN, Mutation, OPERATORS, Operator, RELATIONS, Subject};
use evaluator_traces::conversation::Conversation;

use crate::{conversation, edited, golden, json, seen, sites};

/// Returns the names of all places of an operator.
fn places(operator: &str) -> Vec<String> {
    sites(Operator::named(operator).unwrap()).iter().map(ToString::to_string).collect()
}

#[test]
fn places_have_stable_names() {
    for (operator, expected) in [
        ("drop_call", &["1.1", "1.2"][..]),
        ("swap_calls", &["1.1"]),
        ("rename_tool", &["1.1", "1.2"]),
        ("change_arg", &["1.1#1", "1.1#2", "1.2#1", "1.2#2"]),
        ("drop_arg", &["1.1#1", "1.1#2", "1.2#1", "1.2#2"]),
        ("add_arg", &["1.1", "1.2"]),
        ("duplicate_call", &["1.1", "1.2"]),
        ("error_result", &["1.1", "1.2"]),
        ("claim_success", &["1.2"]),
        ("empty_answer", &["1", "2"]),
        ("null_answer", &["1", "2"]),
        ("truncate_answer", &["1", "2"]),
        ("negate_answer", &["1", "2"]),
        ("change_number", &["1#1", "1#2", "1#3"]),
        ("swap_answers", &["2"]),
        ("echo_question", &["1", "2"]),
        ("refuse", &["1", "2"]),
        ("wrong_language", &["1", "2"]),
        ("leak_golden", &["1", "2"]),
        ("quote_verdict", &["1#1", "1#2", "1#3", "1#4", "2#1", "2#2", "2#3", "2#4"]),
        ("key_order", &["1"]),
        ("rename_ids", &["1"]),
        ("float_arguments", &["1"]),
        ("white_space", &["1"]),
        ("shift_times", &["1"]),
        ("unknown_keys", &["1"]),
        ("other_order", &["1"]),
        ("same_document", &["1"]),
        ("golden", &["1"]),
    ] {
        assert_eq!(places(operator), expected, "{operator}");
    }
    // Five orders in the answer, the question and a tool result; the second turn has no call.
    assert_eq!(places("inject_judge").len(), 25);
    assert_eq!(places("inject_judge")[14], "1#15");
    let all = OPERATORS.iter().chain(RELATIONS).chain([&GOLDEN]);
    for mutation in all.flat_map(|it| sites(it).into_iter().map(|site| Mutation::new(it, site))) {
        assert_eq!(mutation.to_string().parse::<Mutation>(), Ok(mutation));
    }
}

#[test]
fn an_edit_changes_the_conversation_and_not_the_original() {
    let (original, golden) = (conversation(), golden());
    let before = seen(&original);
    let subject = Subject {
        conversation: &original,
        golden: Some(&golden),
        other_answer: Some("Another answer."),
    };
    for operator in OPERATORS.iter().chain(RELATIONS) {
        for site in operator.sites(&subject) {
            let mutation = Mutation::new(operator, site);
            let edited = mutation.apply(&subject).unwrap();
            let is_again = ["other_order", "same_document"].contains(&operator.name);
            assert_eq!(seen(&edited) == before, is_again, "{mutation}");
            assert_eq!(seen(&mutation.apply(&subject).unwrap()), seen(&edited), "{mutation}");
        }
    }
    assert_eq!(seen(&original), before);
}

#[test]
fn nothing_applies_to_an_empty_conversation() {
    let empty = Conversation { turns: vec![], ..conversation() };
    let silent = {
        let mut silent = conversation();
        silent.turns.truncate(1);
        silent.turns[0].tool_calls.clear();
        silent.turns[0].final_text = None;
        silent
    };
    for conversation in [&empty, &silent] {
        let subject = Subject { conversation, golden: None, other_answer: None };
        for operator in OPERATORS {
            assert_eq!(operator.sites(&subject), [], "{operator:?}");
        }
    }
    for gone in ["drop_call@9.1", "swap_calls@1.2", "empty_answer@3", "change_number@2#1"] {
        assert!(edited(gone).is_none(), "{gone}");
    }
}

#[test]
fn calls_are_damaged() {
    let calls = |name: &str| {
        let edited = edited(name).unwrap();
        let calls = edited.turns[0]
            .tool_calls
            .iter()
            .map(|call| format!("{}({})", call.name, to_python(&call.arguments)));
        (calls.collect::<Vec<_>>().join(" "), edited.performance.unwrap().counts.tool_calls)
    };
    let (search, book) = (
        r#"search({"city": "Bern", "people": 2})"#,
        r#"book({"date": "2026-12-31", "vip": false})"#,
    );
    for (name, expected, count) in [
        ("drop_call@1.1", book.to_owned(), 1),
        ("swap_calls@1.1", format!("{book} {search}"), 2),
        ("rename_tool@1.2", format!("{search} {}", book.replace("book", "book_x")), 2),
        ("change_arg@1.1#1", format!("{} {book}", search.replace("Bern", "Bernx")), 2),
        ("change_arg@1.1#2", format!("{} {book}", search.replace('2', "3")), 2),
        ("change_arg@1.2#1", format!("{search} {}", book.replace("2026-12-31", "2027-01-01")), 2),
        ("change_arg@1.2#2", format!("{search} {}", book.replace("false", "true")), 2),
        ("drop_arg@1.1#2", format!("{} {book}", search.replace(r#", "people": 2"#, "")), 2),
        ("duplicate_call@1.1", format!("{search} {search} {book}"), 3),
    ] {
        assert_eq!(calls(name), (expected, count), "{name}");
    }
    assert!(calls("add_arg@1.1").0.contains(r#""unexpected": true"#));
    let failed = &edited("error_result@1.2").unwrap().turns[0].tool_calls[1];
    assert!(failed.is_error);
    assert_eq!(to_python(failed.result.value()), r#"{"error": "timeout"}"#);
    let claims = &edited("claim_success@1.2").unwrap().turns[0];
    assert!(claims.tool_calls[1].is_error);
    assert_eq!(
        claims.final_text.as_deref(),
        Some("Done: book worked, and everything is as you asked.")
    );
}

#[test]
fn answers_are_damaged() {
    for (name, expected) in [
        ("empty_answer@1", Some("")),
        ("null_answer@1", None),
        ("truncate_answer@1", Some("Your table i")),
        ("negate_answer@1", Some("Your table is not booked for 2 at 19:00.")),
        ("change_number@1#1", Some("Your table is booked for 3 at 19:00.")),
        ("change_number@1#2", Some("Your table is booked for 2 at 20:00.")),
        ("echo_question@1", Some("Book a table for 2.")),
        ("refuse@1", Some("I cannot help with that.")),
        ("leak_golden@1", Some("[expected] Your table is booked for 2 at 19:00.")),
    ] {
        assert_eq!(edited(name).unwrap().turns[0].final_text.as_deref(), expected, "{name}");
    }
    let swapped = edited("swap_answers@2").unwrap();
    assert_eq!(swapped.turns[1].final_text.as_deref(), Some("Another answer."));
}

#[test]
fn an_order_to_the_judge_comes_with_damage_and_has_a_control_without_it() {
    let (original, golden) = (conversation(), golden());
    let subject = Subject { conversation: &original, golden: Some(&golden), other_answer: None };
    for (name, control) in [
        ("inject_judge@1#1", "change_number@1#1"),
        ("inject_judge@1#7", "change_number@1#1"),
        ("inject_judge@1#12", "change_number@1#1"),
        ("inject_judge@2#3", "empty_answer@2"),
    ] {
        let mutation: Mutation = name.parse().unwrap();
        let found = mutation.control(&subject).unwrap();
        assert_eq!(found.to_string(), control);
        // Without the order, they are the same.
        let (with, without) = (mutation.apply(&subject).unwrap(), found.apply(&subject).unwrap());
        let turn = mutation.site.turn as usize;
        assert_ne!(seen(&with), seen(&without));
        let [with, without] = [&with.turns[turn], &without.turns[turn]];
        let starts = |with: &Option<String>, without: &Option<String>| {
            with.as_ref().unwrap().starts_with(without.as_ref().unwrap())
        };
        assert!(starts(&with.final_text, &without.final_text), "{name}");
        assert!(starts(&with.user_text, &without.user_text), "{name}");
    }
    assert_eq!("refuse@1".parse::<Mutation>().unwrap().control(&subject), None);
}

#[test]
fn integers_that_floats_cannot_hold_stay_as_they_are() {
    let mut conversation = conversation();
    let edited = |conversation: &Conversation| {
        let subject = Subject { conversation, golden: None, other_answer: None };
        let site = Operator::named("float_arguments").unwrap().sites(&subject);
        let mutation = "float_arguments@1".parse::<Mutation>().unwrap();
        site.first().and_then(|_| mutation.apply(&subject))
    };
    let [first, ..] = &mut conversation.turns[0].tool_calls[..] else { panic!() };
    first.arguments = json(r#"{"least": -9223372036854775808, "small": -3}"#);
    let changed = edited(&conversation).unwrap();
    let arguments = to_python(&changed.turns[0].tool_calls[0].arguments);
    assert!(
        arguments.contains("-9223372036854775808") && arguments.contains("-3.0"),
        "{arguments}"
    );
}

#[test]
fn ids_are_renamed_consistently() {
    let renamed = edited("rename_ids@1").unwrap();
    assert_eq!(&*renamed.trace_id, "tracef0");
    for (turn, before) in renamed.turns.iter().zip(conversation().turns) {
        assert_eq!(turn.trace_id, renamed.trace_id);
        assert_eq!(turn.span_id, format!("{}f0", before.span_id));
        for (call, before) in turn.tool_calls.iter().zip(before.tool_calls) {
            assert_eq!(call.call_id, before.call_id.map(|id| format!("{id}f0")));
        }
    }
}

#[test]
fn two_edits_follow_one_another() {
    let both = edited("duplicate_call@1.1+rename_tool@1.2").unwrap();
    let names: Vec<&str> = both.turns[0].tool_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["search", "search_x", "book"]);
    for wrong in ["drop_call", "drop_call@", "drop_call@0", "nothing@1", "drop_call@1.x", "a@1+b"] {
        assert!(wrong.parse::<Mutation>().is_err(), "{wrong}");
    }
}
