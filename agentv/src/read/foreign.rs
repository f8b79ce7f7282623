//! Files of other programs that look like eval files. One message says what such a file is, instead of one for each key.

use evaluator_document::{Node, NodeKind, Span};

use super::values::{TESTS, has_any};

/// What a file is that is not read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Foreign {
    /// Position of what shows it.
    pub(super) span: Span,
    /// Message.
    pub(super) message: &'static str,
    /// What to do.
    pub(super) hint: &'static str,
}

/// What a configuration of promptfoo is.
pub const PROMPTFOO: (&str, &str) = (
    "this is a configuration of promptfoo, which is not read",
    "run it with promptfoo, for which `evaluator export --for promptfoo` writes assertions; `agentv import promptfoo` makes an eval \
     file of it",
);

/// What to do with a file of AgentV 5.
const KEYS_OF_4: &str = "write it with the keys of AgentV 4: `input` and `assertions` of each test, and targets in targets.yaml";

const AGENTV_5: (&str, &str) = ("this is an eval file of AgentV 5, which is not read", KEYS_OF_4);

const EITHER: (&str, &str) = (
    "this is an eval file of AgentV 5 or a configuration of promptfoo, which are not read",
    KEYS_OF_4,
);

/// Keys of promptfoo alone.
const OF_PROMPTFOO: [&str; 6] = [
    "defaultTest",
    "evaluateOptions",
    "commandLineOptions",
    "outputPath",
    "derivedMetrics",
    "redteam",
];

/// Keys that AgentV 5 shares with promptfoo.
const OF_EITHER: [&str; 2] = ["providers", "prompts"];

/// Keys of AgentV 4 and 2 that hold the input of a test.
const INPUTS: [&str; 3] = ["input", "input_messages", "input_files"];

/// Returns what the file of this tree is, if it is of another program.
pub(super) fn find(root: &Node) -> Option<Foreign> {
    let NodeKind::Mapping(entries) = &root.kind else { return None };
    let key = |keys: &[&str]| {
        let is_one = |key: &Node| key.as_str().is_some_and(|key| keys.contains(&key));
        entries.iter().map(|(key, _)| key).find(|key| is_one(key))
    };
    let found = |node: &Node, (message, hint)| Some(Foreign { span: node.span, message, hint });
    if let Some(key) = key(&OF_PROMPTFOO) {
        return found(key, PROMPTFOO);
    }
    if let Some(key) = key(&["default_test"]) {
        return found(key, AGENTV_5);
    }
    if let Some(key) = key(&OF_EITHER) {
        return found(key, EITHER);
    }
    // Tests of AgentV 5 have their input among their variables.
    let tests = TESTS.iter().find_map(|key| root.get(key))?;
    let NodeKind::Sequence(tests) = &tests.kind else { return None };
    let has_input = has_any(root, &INPUTS) || tests.iter().any(|test| has_any(test, &INPUTS));
    let in_variables = |test: &&Node| test.get("vars").is_some_and(|it| has_any(it, &["input"]));
    let of_variables = tests.iter().find(in_variables)?;
    if has_input { None } else { found(of_variables, AGENTV_5) }
}
