//! Readings of single replies.

use evaluator_json::{Value, object, python_eq};

use super::{
    super::reply::{
        Label, UnknownWord, match_label, normalize_rubric, object::whole, rubric_verdicts,
        sentence_labels, sentences, user_label,
    },
    text, vectors,
};

fn optional(text: Option<impl Into<String>>) -> Value {
    text.map_or(Value::Null, |text| Value::String(text.into()))
}

fn label(label: Option<Label>) -> Value {
    optional(label.map(|label| if label == Label::Valid { "valid" } else { "invalid" }))
}

fn blocks(reply: &str) -> Value {
    let blocks = rubric_verdicts(reply, None).unwrap_or_default().into_iter().map(|block| {
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
        "match_label" => label(match_label(reply, None, unknown).ok()),
        "user_label" => label(user_label(reply, None).ok()),
        "rubric_blocks" => blocks(reply),
        "normalize_rubric" => normalize_rubric(reply).into(),
        "sentences" => Value::Array(sentences(reply).into_iter().map(Value::String).collect()),
        "sentence_labels" => labels(reply),
        other => panic!("unknown function {other}"),
    }
}

/// Returns true if a reading differs from that of ADK on purpose: a label is read from one JSON object only; a reply with
/// blocks consists of nothing else; a verdict is its first word, so that a text that mentions a verdict is none; and an id
/// belongs to the block in which it is, not to the next one.
fn is_stricter(function: &str, reply: &str, found: &Value, theirs: &Value) -> bool {
    match function {
        "match_label" | "user_label" if theirs.is_null() => whole(reply).is_ok(),
        "match_label" | "user_label" => found.is_null(),
        "rubric_blocks" => {
            let blocks = |value: &Value| value.as_array().unwrap().to_vec();
            let (found, theirs) = (blocks(found), blocks(theirs));
            let score = |block: &Value| block.get("score").cloned().unwrap();
            let id_follows = reply
                .lines()
                .zip(reply.lines().skip(1))
                .any(|(line, next)| line.contains("Property: ") && next.contains("ID: "));
            let without = |block: &Value| {
                let members = block.as_object().unwrap().iter();
                let members =
                    members.filter(|(key, _)| *key != "score" && !(id_follows && *key == "id"));
                Value::Object(members.map(|(key, value)| (key.clone(), value.clone())).collect())
            };
            if found.is_empty() {
                return true;
            }
            found.len() == theirs.len()
                && found.iter().zip(&theirs).all(|(found, theirs)| {
                    let loses = score(found).is_null();
                    let denies = python_eq(&score(found), &Value::Float(0.0));
                    python_eq(&without(found), &without(theirs))
                        && (loses || denies || python_eq(&score(found), &score(theirs)))
                })
        }
        _ => false,
    }
}

#[test]
fn vectors_of_parsers() {
    let (mut wrong, mut stricter) = (Vec::new(), 0);
    for line in vectors("parsers.jsonl") {
        let (function, reply) = (text(&line, "fn"), text(&line, "input"));
        let expected = line.get("output").unwrap();
        let found = read(function, reply, UnknownWord::Valid);
        if !python_eq(&found, expected) && is_stricter(function, reply, &found, expected) {
            stricter += 1;
            continue;
        }
        if !python_eq(&found, expected) {
            wrong.push(format!("{function} {reply:?}\n  {expected:?}\n  {found:?}"));
        }
        let by_default = read(function, reply, UnknownWord::Unreadable);
        let is_stricter = is_stricter(function, reply, &by_default, expected);
        if !python_eq(&by_default, expected) && !is_stricter {
            wrong.push(format!("{function} {reply:?} differs by default: {by_default:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    assert!(stricter > 0, "the vectors have replies that are ambiguous");
}

#[test]
fn an_unknown_word_of_the_inverted_label_is_unreadable() {
    let reply = r#"{"is_the_agent_response_invalid": "maybe"}"#;
    assert!(match_label(reply, None, UnknownWord::Unreadable).is_err());
    assert_eq!(match_label(reply, None, UnknownWord::Valid), Ok(Label::Valid));
    let reply = r#"{"is_the_agent_response_invalid": false}"#;
    assert_eq!(match_label(reply, None, UnknownWord::Unreadable), Ok(Label::Valid));
}
