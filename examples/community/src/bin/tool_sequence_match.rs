//! Does every turn call certain tools, and in order?

use std::process::ExitCode;

use evaluator_community::{
    python,
    result::{not_evaluated, without_issues},
};
use evaluator_sdk::{Config, EvalResult, InvocationData, Invocations, evaluator};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(default)]
struct Settings {
    /// Names of the tools, all of them; names that are no texts are taken as Python shows them. Without a list of names
    /// nothing is judged.
    expected_tool_names: Value,
    /// Whether they must be called in this order. Otherwise only how often each of them is called counts.
    #[serde(deserialize_with = "python::truth")]
    require_order: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { expected_tool_names: Value::Null, require_order: true }
    }
}

/// Scores 1 for every turn that calls exactly these tools, 0 for the others.
#[evaluator]
fn tool_sequence_match(turns: Invocations<'_>, Config(settings): Config<Settings>) -> EvalResult {
    let Value::Array(expected) = &settings.expected_tool_names else {
        let reason = "missing or invalid config: expected_tool_names (need a list of names)";
        return not_evaluated(&turns, reason);
    };
    if expected.is_empty() {
        return not_evaluated(&turns, "missing or empty config: expected_tool_names");
    }
    let expected: Vec<String> = expected.iter().map(python::str).collect();
    let ordered = |names: &[String]| {
        let mut names = names.to_vec();
        if !settings.require_order {
            names.sort_unstable();
        }
        names
    };
    let issue = |turn: &InvocationData| {
        let called: Vec<String> = turn.tool_names().map(str::to_owned).collect();
        (ordered(&called) != ordered(&expected)).then(|| {
            format!(
                "expected {}, got {} (require_order={})",
                python::repr(&json!(expected)),
                python::repr(&json!(called)),
                python::repr(&json!(settings.require_order)),
            )
        })
    };
    without_issues(&turns, "issues", turns.iter().map(issue).collect())
}

fn main() -> ExitCode {
    tool_sequence_match::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, testing};

    use super::*;

    fn judge(called: &[&str], expected: Value, require_order: bool) -> EvalResult {
        let start = testing::input("tool_sequence_match").turn("?", "!");
        let input = called.iter().fold(start, |input, name| input.tool_call(*name, json!({})));
        let settings = Settings { expected_tool_names: expected, require_order };
        tool_sequence_match(Invocations(&input.invocations), Config(settings))
    }

    #[test]
    fn the_same_calls_in_the_same_order_match() {
        testing::assert_score(&judge(&["search", "book"], json!(["search", "book"]), true), 1.0);
        testing::assert_score(&judge(&["book", "search"], json!(["search", "book"]), true), 0.0);
    }

    #[test]
    fn without_order_only_the_counts_matter() {
        testing::assert_score(&judge(&["book", "search"], json!(["search", "book"]), false), 1.0);
        testing::assert_score(&judge(&["book", "book"], json!(["search", "book"]), false), 0.0);
        testing::assert_score(&judge(&["book", "book"], json!(["book"]), false), 0.0);
    }

    #[test]
    fn a_difference_is_shown() {
        let result = judge(&["it's"], json!([1, null]), false);

        assert_eq!(
            result.details.unwrap()["issues"][0],
            ": expected ['1', 'None'], got [\"it's\"] (require_order=False)"
        );
    }

    #[test]
    fn without_a_list_of_names_nothing_is_judged() {
        for expected in [json!(null), json!("search"), json!([])] {
            let result = judge(&["search"], expected, true);

            assert_eq!(result.status, Some(EvalStatus::NotEvaluated));
            assert_eq!(result.per_invocation_scores, [None]);
        }
    }
}
