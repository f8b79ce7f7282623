//! Readings of single replies.

use evaluator_json::{Value, python_eq};

use super::{
    super::reply::{
        Label, UnknownWord, match_label, normalize_rubric, rubric_blocks, sentence_labels,
        sentences, user_label,
    },
    text, vectors,
};
use crate::turns::object;

fn optional(text: Option<impl Into<String>>) -> Value {
    text.map_or(Value::Null, |text| Value::String(text.into()))
}

fn label(label: Option<Label>) -> Value {
    optional(label.map(|label| if label == Label::Valid { "valid" } else { "invalid" }))
}

fn blocks(reply: &str) -> Value {
    let blocks = rubric_blocks(reply).into_iter().map(|block| {
        object([
            ("id", optional(block.id)),
            ("property", block.property.into()),
            ("rationale", block.rationale.into()),
            ("score", block.score.map_or(Value::Null, Value::Float)),
        ])
    });
    Value::Array(blocks.collect())
}

fn labels(reply: &str) -> Value {
    let labels = sentence_labels(reply).into_iter().map(|label| {
        object([
            ("sentence", label.sentence.into()),
            ("label", label.label.into()),
            ("rationale", label.rationale.into()),
            ("supporting_excerpt", optional(label.supporting_excerpt)),
            ("contradicting_excerpt", optional(label.contradicting_excerpt)),
        ])
    });
    Value::Array(labels.collect())
}

fn read(function: &str, reply: &str, unknown: UnknownWord) -> Value {
    match function {
        "match_label" => label(match_label(reply, unknown)),
        "user_label" => label(user_label(reply)),
        "rubric_blocks" => blocks(reply),
        "normalize_rubric" => normalize_rubric(reply).into(),
        "sentences" => Value::Array(sentences(reply).into_iter().map(Value::String).collect()),
        "sentence_labels" => labels(reply),
        other => panic!("unknown function {other}"),
    }
}

#[test]
fn vectors_of_parsers() {
    let mut wrong = Vec::new();
    for line in vectors("parsers.jsonl") {
        let (function, reply) = (text(&line, "fn"), text(&line, "input"));
        let expected = line.get("output").unwrap();
        let found = read(function, reply, UnknownWord::Valid);
        if !python_eq(&found, expected) {
            wrong.push(format!("{function} {reply:?}\n  {expected:?}\n  {found:?}"));
        }
        let by_default = read(function, reply, UnknownWord::Unreadable);
        if !python_eq(&by_default, expected) && !reply.contains("is_the_agent_response_invalid") {
            wrong.push(format!("{function} {reply:?} differs by default: {by_default:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

#[test]
fn an_unknown_word_of_the_inverted_label_is_unreadable() {
    let reply = r#"{"is_the_agent_response_invalid": "maybe"}"#;
    assert_eq!(match_label(reply, UnknownWord::Unreadable), None);
    assert_eq!(match_label(reply, UnknownWord::Valid), Some(Label::Valid));
    let reply = r#"{"is_the_agent_response_invalid": false}"#;
    assert_eq!(match_label(reply, UnknownWord::Unreadable), Some(Label::Valid));
}
