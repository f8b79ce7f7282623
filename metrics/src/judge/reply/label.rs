//! Labels: one word that says whether something is valid.

use std::sync::LazyLock;

use evaluator_json::strip;
use regex_lite::Regex;

use super::pattern;

/// What a judge says about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// It is valid.
    Valid,
    /// It is not valid, or only in part.
    Invalid,
}

/// How a word is read that is no known label and stands after the key `is_the_agent_response_invalid`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownWord {
    /// The reply is unreadable.
    #[default]
    Unreadable,
    /// The answer is valid, as ADK reads it.
    Valid,
}

static VALID: LazyLock<Regex> =
    LazyLock::new(|| labelled("is_the_agent_response_valid", r#"[^"^\]~]*"#));
static INVALID: LazyLock<Regex> =
    LazyLock::new(|| labelled("is_the_agent_response_invalid", r#"[^"^\]~]*"#));
static USER: LazyLock<Regex> = LazyLock::new(|| labelled("is_valid", r#"[^"\]]*"#));

/// Returns the pattern of a JSON member whose value may be bare, quoted or in a list.
fn labelled(key: &str, label: &str) -> Regex {
    pattern(&format!(r#""{key}":[~]*\[*[~]*"*({label})"*[~]*\]*[~]*[,\n}}]"#))
}

fn find<'t>(pattern: &Regex, text: &'t str) -> Option<&'t str> {
    Some(pattern.captures(text)?.get(1)?.as_str())
}

/// Returns the label of a reply of `final_response_match_v2`; `None` if it cannot be read.
#[must_use]
pub fn match_label(reply: &str, unknown: UnknownWord) -> Option<Label> {
    if let Some(label) = find(&VALID, reply) {
        return match label.trim_end_matches([',', '}']) {
            "invalid" | "almost" | "false" | "partially_valid" | "partially" => {
                Some(Label::Invalid)
            }
            "valid" | "true" => Some(Label::Valid),
            _ => None,
        };
    }
    match (find(&INVALID, reply)?.trim_end_matches([',', '}']), unknown) {
        ("true" | "invalid", _) => Some(Label::Invalid),
        ("false" | "valid", _) | (_, UnknownWord::Valid) => Some(Label::Valid),
        (_, UnknownWord::Unreadable) => None,
    }
}

/// Returns the label of a reply of `per_turn_user_simulator_quality_v1`; `None` if it cannot be read.
#[must_use]
pub fn user_label(reply: &str) -> Option<Label> {
    let label = find(&USER, reply)?.trim_matches('}').replace(',', "");
    match strip(&label).to_lowercase().as_str() {
        "invalid" | "almost" | "false" | "partially_valid" | "partially valid" | "partially" => {
            Some(Label::Invalid)
        }
        "valid" | "true" => Some(Label::Valid),
        _ => None,
    }
}
