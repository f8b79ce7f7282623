//! Labels: one word, valid or not.

use evaluator_json::{Value, strip};

use super::object::verdict;
use crate::judge::code::Code;

/// Verdict of a judge about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// It is valid.
    Valid,
    /// It is not valid, or only in part.
    Invalid,
}

/// Reading of a word that is not a known label, after the key `is_the_agent_response_invalid`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownWord {
    /// The reply is unreadable.
    #[default]
    Unreadable,
    /// The answer is valid, as ADK reads it.
    Valid,
}

/// Returns the word of a label: a text, a truth value, or one of them in a list.
fn word(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Array(items) if items.len() == 1 => word(&items[0]),
        other => Err(format!("the label is {}", other.kind())),
    }
}

/// Returns the label of a reply of `final_response_match_v2`.
///
/// # Errors
///
/// The reply is unreadable.
pub fn match_label(
    reply: &str,
    code: Option<&Code>,
    unknown: UnknownWord,
) -> Result<Label, String> {
    let verdict = verdict(reply, code)?;
    let keys = ["is_the_agent_response_valid", "is_the_agent_response_invalid"];
    if keys.iter().all(|key| verdict.members.contains_key(&verdict.key(key))) {
        return Err(
            "the reply says both whether the answer is valid and whether it is not".to_owned()
        );
    }
    if let Some(value) = verdict.members.get(&verdict.key("is_the_agent_response_valid")) {
        return match word(value)?.to_lowercase().as_str() {
            "invalid" | "almost" | "false" | "partially_valid" | "partially" => Ok(Label::Invalid),
            "valid" | "true" => Ok(Label::Valid),
            other => Err(format!("{other:?} is not a label")),
        };
    }
    let value = verdict.members.get(&verdict.key("is_the_agent_response_invalid"));
    let value = value.ok_or("the reply has no `is_the_agent_response_valid`")?;
    match (&*word(value)?, unknown) {
        ("true" | "invalid", _) => Ok(Label::Invalid),
        ("false" | "valid", _) => Ok(Label::Valid),
        (word, UnknownWord::Valid) if !word.contains(char::is_whitespace) => Ok(Label::Valid),
        (other, _) => Err(format!("{other:?} is not a label")),
    }
}

/// Returns the label of a reply of `per_turn_user_simulator_quality_v1`.
///
/// # Errors
///
/// The reply is unreadable.
pub fn user_label(reply: &str, code: Option<&Code>) -> Result<Label, String> {
    let verdict = verdict(reply, code)?;
    let value = verdict.members.get(&verdict.key("is_valid"));
    let label = word(value.ok_or("the reply has no `is_valid`")?)?;
    match strip(&label).trim_end_matches(',').to_lowercase().as_str() {
        "invalid" | "almost" | "false" | "partially_valid" | "partially valid" | "partially" => {
            Ok(Label::Invalid)
        }
        "valid" | "true" => Ok(Label::Valid),
        other => Err(format!("{other:?} is not a label")),
    }
}
