//! Which texts are configurations of ADK.

use crate::{
    config::{
        json::{self, Document},
        yaml::NodeKind,
    },
    json::ParseError,
};

/// Keys of the top level, in both spellings, that no other configuration has.
const KEYS: [&str; 7] = [
    "criteria",
    "custom_metrics",
    "customMetrics",
    "user_simulator_config",
    "userSimulatorConfig",
    "live_model_config",
    "liveModelConfig",
];

/// The key without which no other configuration is one.
const OTHERS: &str = "evaluators";

/// Reads `text` if it is, by its content, a configuration of ADK; `None` when it is something else, such as a
/// configuration of ours that was written as JSON.
///
/// Of a text that is no JSON it can only be guessed what it was meant to be.
pub(in crate::config) fn recognize(text: &str) -> Option<Result<Document, ParseError>> {
    let start = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    if !start.starts_with('{') {
        return None;
    }
    match json::read(text) {
        Ok(document) => {
            let NodeKind::Mapping(entries) = &document.root.kind else { return None };
            let has = |key: &str| entries.iter().any(|(name, _)| name.as_str() == Some(key));
            (!has(OTHERS) && KEYS.iter().any(|key| has(key))).then_some(Ok(document))
        }
        Err(error) => {
            let mentions = |key: &&str| text.contains(&format!("\"{key}\""));
            (!text.contains(OTHERS) && KEYS.iter().any(mentions)).then_some(Err(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::recognize;

    #[test]
    fn content_decides() {
        for (text, expected) in [
            (r#"{"criteria": {}}"#, Some(true)),
            (" \n{\"customMetrics\": {}}", Some(true)),
            (r#"{"user_simulator_config": {}}"#, Some(true)),
            (r#"{"criteria": {"a": 0.5},}"#, Some(false)),
            ("\u{feff}{\"criteria\": {}}", Some(false)),
            (r#"{"custom_metrics": {"#, Some(false)),
            (r#"{"evaluators": [], "criteria": {}}"#, None),
            (r#"{"evaluators": [{"name": "criteria""#, None),
            (r#"{"criterai": {}}"#, None),
            ("{}", None),
            ("{evaluators: []}", None),
            (r#"{"eval_set": "criteria"}"#, None),
            ("criteria: {a: 0.5}", None),
            (r#"["criteria"]"#, None),
            ("", None),
        ] {
            assert_eq!(recognize(text).map(|read| read.is_ok()), expected, "{text}");
        }
    }
}
