//! Is every answer a certain text?

use std::process::ExitCode;

use evaluator_community::{
    python,
    result::{answer, not_evaluated, without_issues},
};
use evaluator_sdk::{Config, EvalResult, InvocationData, Invocations, evaluator};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(default)]
struct Settings {
    /// The answer; what is not a text is compared as Python shows it, e.g. `4.0` or `['a', 1]`. Without it nothing is
    /// judged.
    expected: Option<Value>,
    /// Whether upper and lower case are the same.
    #[serde(deserialize_with = "python::truth")]
    case_insensitive: bool,
    /// Whether blanks around the texts are left out.
    #[serde(deserialize_with = "python::truth")]
    strip: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { expected: None, case_insensitive: false, strip: true }
    }
}

impl Settings {
    fn normalized(&self, text: &str) -> String {
        let text = if self.strip { python::strip(text) } else { text };
        if self.case_insensitive { text.to_lowercase() } else { text.to_owned() }
    }
}

/// Scores 1 for every answer that equals the expected one, 0 for the others.
#[evaluator]
fn equals(turns: Invocations<'_>, Config(settings): Config<Settings>) -> EvalResult {
    let Some(expected) = &settings.expected else {
        return not_evaluated(&turns, "missing config: expected");
    };
    let wanted = settings.normalized(&python::str(expected));
    let issue = |turn: &InvocationData| {
        let got = turn.final_response.as_deref().map_or("None".to_owned(), python::repr_text);
        (settings.normalized(answer(turn)) != wanted)
            .then(|| format!("expected {}, got {got}", python::repr(expected)))
    };
    without_issues(&turns, "issues", turns.iter().map(issue).collect())
}

fn main() -> ExitCode {
    equals::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, testing};
    use serde_json::json;

    use super::*;

    fn judge(answer: &str, settings: Settings) -> EvalResult {
        let input = testing::input("equals").turn("?", answer);
        equals(Invocations(&input.invocations), Config(settings))
    }

    fn expecting(expected: Value) -> Settings {
        Settings { expected: Some(expected), ..Settings::default() }
    }

    #[test]
    fn blanks_around_make_no_difference_and_case_does() {
        testing::assert_score(&judge(" yes\n", expecting(json!("yes"))), 1.0);
        testing::assert_score(&judge("Yes", expecting(json!("yes"))), 0.0);
        let same_case = Settings { case_insensitive: true, ..expecting(json!("yes")) };
        testing::assert_score(&judge("Yes", same_case), 1.0);
        let exact = Settings { strip: false, ..expecting(json!("yes")) };
        testing::assert_score(&judge("yes ", exact), 0.0);
    }

    #[test]
    fn other_types_are_compared_as_python_shows_them() {
        for (expected, answer) in [
            (json!(4.0), "4.0"),
            (json!(true), "True"),
            (json!(["a", 1]), "['a', 1]"),
            (json!(""), " "),
        ] {
            testing::assert_score(&judge(answer, expecting(expected)), 1.0);
        }
    }

    #[test]
    fn a_difference_is_shown() {
        let input = testing::input("equals").turn("?", "it's 5").unanswered("?");

        let result = equals(Invocations(&input.invocations), Config(expecting(json!("4"))));

        let details = result.details.unwrap();
        assert_eq!(
            details["issues"],
            json!([": expected '4', got \"it's 5\"", ": expected '4', got None"])
        );
    }

    #[test]
    fn null_is_nothing_to_expect() {
        let input = testing::input("equals").turn("?", "None").config("expected", json!(null));

        let result = testing::run(&equals::EVALUATOR, &input).unwrap();

        assert_eq!(result.status, Some(EvalStatus::NotEvaluated));
    }
}
