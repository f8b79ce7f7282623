//! Errors of servers that refuse a parameter.

use serde_json::{Map, Value};

/// Parameters that are sent in any case: limits of tokens, without which a call may cost more than the user permits, and the
/// format of vectors, which distinguishes requests for vectors from chats.
const KEPT: [&str; 4] = ["maxtokens", "maxcompletiontokens", "maxoutputtokens", "encodingformat"];

/// Phrases of servers that refuse a parameter, in lower case.
const PHRASES: [&str; 14] = [
    "unsupported",
    "not support",
    "n't support",
    "unrecognized",
    "unknown name",
    "unknown parameter",
    "unknown field",
    "not permitted",
    "not allowed",
    "not available",
    "unavailable",
    "deprecated",
    "cannot both",
    "only be set to",
];

/// An error of a server that refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Code and parameter that the server states apart from its message.
    pub(crate) code: Option<String>,
    pub(crate) param: Option<String>,
    /// Whether a word of the error says that a parameter or its value is not supported.
    pub(crate) is_of_parameter: bool,
    /// Names in an error that may refuse a parameter, in order, without case and underscores.
    names: Vec<String>,
    /// Whether two parameters exclude each other, so that one of them may stay.
    is_either: bool,
}

impl Refusal {
    /// Reads an error.
    pub(crate) fn read(code: Option<String>, param: Option<String>, message: &str) -> Self {
        let text = message.to_lowercase();
        let is_refusal = PHRASES.iter().any(|phrase| text.contains(phrase));
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let words = param.as_deref().into_iter().chain([message]).filter(|_| is_refusal);
        let words = words.flat_map(|text| text.split(move |c| !is_name(c)));
        let names = words.map(plain).filter(|name| !name.is_empty()).collect();
        let is_either = text.contains("cannot both");
        Self { code, param, is_of_parameter: false, names, is_either }
    }

    /// Returns which key of the configuration to remove or rename, for a request that was made of one.
    pub(crate) fn hint(&self) -> String {
        match self.param.as_deref().filter(|_| self.is_of_parameter) {
            Some("max_tokens") => "; set `params.max_tokens_key: max_completion_tokens`".to_owned(),
            Some("max_completion_tokens") => "; set `params.max_tokens_key: max_tokens`".to_owned(),
            Some(name) => format!("; remove `params.{name}`, or set `drop_params: true`"),
            None => String::new(),
        }
    }

    /// Returns the first of the parameters that were sent that the error names; of two that exclude each other the second.
    pub(crate) fn parameter(&self, sent: &Map<String, Value>) -> Option<String> {
        let sent = || sent.keys().filter(|name| !KEPT.contains(&&*plain(name)));
        let is_sent = |name: &String| sent().find(|sent| plain(sent) == *name).cloned();
        let mut named = self.names.iter().filter_map(is_sent);
        if self.is_either { named.next_back() } else { named.next() }
    }
}

/// Returns a name without case and underscores: servers name `topP` also `top_p`.
fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names the parameter that an error with these words refuses, of a request with all of them.
    fn refused(param: Option<&str>, message: &str) -> Option<String> {
        let names = [
            "max_completion_tokens",
            "reasoning_effort",
            "response_format",
            "seed",
            "stop",
            "temperature",
            "topP",
            "top_k",
            "top_p",
        ];
        let sent = names.into_iter().map(|name| (name.to_owned(), Value::from(1))).collect();
        Refusal::read(None, param.map(str::to_owned), message).parameter(&sent)
    }

    #[test]
    fn the_words_of_servers_name_the_refused_parameter() {
        for (param, message, name) in [
            (
                Some("temperature"),
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
                "temperature",
            ),
            (
                Some("temperature"),
                "Unsupported parameter: 'temperature' is not supported with this model.",
                "temperature",
            ),
            (
                Some("response_format"),
                "Invalid parameter: 'response_format' of type 'json_object' is not supported with this model.",
                "response_format",
            ),
            (
                Some("response_format.json_schema"),
                "This value is not supported.",
                "response_format",
            ),
            (None, "Unrecognized request argument supplied: seed", "seed"),
            (None, "Unrecognized request arguments supplied: top_k, seed", "top_k"),
            (None, "Argument not supported on this model: reasoningEffort", "reasoning_effort"),
            (
                None,
                "gpt-5-nano doesn't support temperature=0.1 while reasoning is active.",
                "temperature",
            ),
            (None, "openai does not support parameters: ['seed'], for model=o1", "seed"),
            (None, "property 'top_k' is unsupported", "top_k"),
            (None, "`temperature` is deprecated for this model.", "temperature"),
            (None, "`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
            (
                None,
                "`temperature` and `top_k` cannot both be specified for this model. Please use only one.",
                "top_k",
            ),
            (None, "top_k: Extra inputs are not permitted", "top_k"),
            (
                None,
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":123}]}"#,
                "seed",
            ),
            (
                None,
                r#"Invalid JSON payload received. Unknown name "seed" at 'generation_config': Cannot find field."#,
                "seed",
            ),
            (None, "This response_format type is unavailable now", "response_format"),
        ] {
            assert_eq!(refused(param, message).as_deref(), Some(name), "{message}");
        }
        for (param, message) in [
            // The value is wrong, not the parameter.
            (
                Some("temperature"),
                "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
            ),
            (
                Some("response_format"),
                "Invalid schema for response_format 'reply': In context=(), 'additionalProperties' is required.",
            ),
            // A limit of tokens stays.
            (
                Some("max_completion_tokens"),
                "Unsupported parameter: 'max_completion_tokens' is not supported with this model.",
            ),
            // Nothing that was sent is named.
            (None, "Developer instruction is not supported for this model"),
            (None, "temperatures are not supported"),
            (None, ""),
        ] {
            assert_eq!(refused(param, message), None, "{message}");
        }
    }

    #[test]
    fn spelling_of_a_name_does_not_matter() {
        let sent = Map::from_iter([("topP".to_owned(), Value::from(1))]);
        let refusal = Refusal::read(None, None, r#"Unknown name "top_p": Cannot find field."#);
        assert_eq!(refusal.parameter(&sent).as_deref(), Some("topP"));
    }
}
