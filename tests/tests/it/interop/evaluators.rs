//! The examples that hosts run, and the settings they have there.

use serde_json::{Value, json};

/// An evaluator of the default contract, for every host.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    /// The program that it is in.
    pub(crate) program: &'static str,
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) config: Value,
    /// True if it does not work without its settings.
    pub(crate) needs_config: bool,
    /// True if it judges tool calls.
    pub(crate) judges_tools: bool,
}

/// An evaluator with the contract of one host, and its expected result for the host's conversation.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    /// Name of the host in `--for`.
    pub(crate) target: &'static str,
    pub(crate) program: &'static str,
    pub(crate) name: &'static str,
    pub(crate) config: Value,
    pub(crate) score: f64,
    pub(crate) turns: &'static [f64],
    /// Text in its explanation.
    pub(crate) reason: &'static str,
}

pub(crate) fn examples() -> Vec<Example> {
    let example = |program, name, config| Example {
        program,
        name,
        label: name,
        config,
        needs_config: false,
        judges_tools: false,
    };
    let of_tools =
        |program, name, config| Example { judges_tools: true, ..example(program, name, config) };
    let fields = json!({"people": "number", "year": "number"});
    vec![
        example("response_quality", "response_quality", json!({"min_length": 30})),
        example("exact_match", "exact_match", json!({})),
        example("consensus", "consensus", json!({})),
        of_tools("hygiene", "no_repeated_calls", json!({})),
        of_tools("hygiene", "no_failed_tools", json!({})),
        Example {
            needs_config: true,
            ..of_tools(
                "tool_call_checker",
                "tool_call_checker",
                json!({"tools": {"capital": ["country"], "weather": ["city"]}}),
            )
        },
        Example {
            needs_config: true,
            ..example("json_shape", "json_shape", json!({"fields": fields}))
        },
        Example {
            label: "json_shape of YAML",
            needs_config: true,
            ..example(
                "json_shape",
                "json_shape",
                json!({"fields": fields, "when_user_says": "YAML"}),
            )
        },
    ]
}

pub(crate) fn own() -> Vec<Own> {
    vec![
        Own {
            target: "agentv",
            program: "keyword_check",
            name: "keyword_check",
            config: json!({"keywords": ["Paris", "Seine"]}),
            score: 0.5,
            turns: &[],
            reason: "Missing required keyword: Seine",
        },
        Own {
            target: "agentv",
            program: "expected_outcome",
            name: "expected_outcome",
            config: json!({}),
            score: 1.0,
            turns: &[],
            reason: "Answer matches expected outcome",
        },
        Own {
            target: "adk",
            program: "adk_profanity",
            name: "profanity",
            config: json!({"words": ["guess"]}),
            score: 0.5,
            turns: &[0.0, 1.0],
            reason: "",
        },
        Own {
            target: "agenta",
            program: "agenta_exact_match",
            name: "exact_match",
            config: json!({}),
            score: 0.0,
            turns: &[],
            reason: "",
        },
    ]
}
