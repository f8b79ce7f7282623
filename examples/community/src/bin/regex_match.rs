//! Does every answer match a pattern?

use std::process::ExitCode;

use evaluator_community::{
    python::{
        self,
        regex::{Flags, PatternError, Regex},
    },
    result::{answer, not_evaluated, without_issues},
};
use evaluator_sdk::{Config, EvalResult, Failure, Invocations, evaluator};
use serde::Deserialize;
use serde_json::Value;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    /// The pattern, in the dialect of Python's `re`; it may match anywhere in an answer. Without it nothing is judged.
    pattern: Value,
    /// `IGNORECASE`, `MULTILINE` and `DOTALL`, in any case: a list, or a text with commas or bars. Others are ignored.
    flags: Value,
}

impl Settings {
    fn flags(&self) -> Flags {
        let names: Vec<String> = match &self.flags {
            Value::String(names) => names.split(['|', ',']).map(str::to_owned).collect(),
            Value::Array(names) => names.iter().map(python::str).collect(),
            _ => Vec::new(),
        };
        let mut flags = Flags::default();
        for name in names {
            match python::strip(&name).to_uppercase().as_str() {
                "IGNORECASE" => flags.ignore_case = true,
                "MULTILINE" => flags.multi_line = true,
                "DOTALL" => flags.dot_all = true,
                _ => {}
            }
        }
        flags
    }
}

/// Scores 1 for every answer that the pattern matches, 0 for the others.
///
/// # Errors
///
/// The pattern has parts that are not supported, or takes too many steps on an answer.
#[evaluator]
fn regex_match(
    turns: Invocations<'_>,
    Config(settings): Config<Settings>,
) -> Result<EvalResult, Failure> {
    if !python::is_true(&settings.pattern) {
        return Ok(not_evaluated(&turns, "missing config: pattern"));
    }
    let regex = match Regex::new(&python::str(&settings.pattern), settings.flags()) {
        Ok(regex) => regex,
        Err(PatternError::Invalid(why)) => {
            return Ok(not_evaluated(&turns, "invalid regex pattern").detail("error", why));
        }
        Err(why @ PatternError::Unsupported(_)) => {
            return Err(Failure::new("config", format!("config.pattern: {why}")));
        }
    };
    let mut issues = Vec::new();
    for turn in turns.iter() {
        let id = &turn.invocation_id;
        let matches = regex.is_match(answer(turn)).map_err(|why| {
            Failure::new("pattern", format!("the response of turn `{id}`: {why}"))
        })?;
        let issue = || format!("no match for pattern {}", python::repr(&settings.pattern));
        issues.push((!matches).then(issue));
    }
    Ok(without_issues(&turns, "issues", issues))
}

fn main() -> ExitCode {
    regex_match::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, testing};
    use serde_json::json;

    use super::*;

    fn judge(answer: &str, pattern: &str, flags: Value) -> Result<EvalResult, Failure> {
        let input = testing::input("regex_match").turn("?", answer);
        let settings = Settings { pattern: pattern.into(), flags };
        regex_match(Invocations(&input.invocations), Config(settings))
    }

    fn score(answer: &str, pattern: &str, flags: Value) -> f64 {
        judge(answer, pattern, flags).unwrap().score.get()
    }

    #[test]
    fn matches_anywhere() {
        assert_eq!(score("The answer is 42.", r"\d+", json!(null)), 1.0);
        assert_eq!(score("The answer is 42.", r"^\d+", json!(null)), 0.0);
    }

    #[test]
    fn flags_are_a_list_or_a_text() {
        for flags in [
            json!("ignorecase | MULTILINE"),
            json!("MultiLine,IGNORECASE,bogus"),
            json!(["ignorecase ", "multiline", 7]),
        ] {
            assert_eq!(score("first\nTHE END", "^the end$", flags), 1.0);
        }
        assert_eq!(score("first\nTHE END", "^the end$", json!("IGNORECASE")), 0.0);
    }

    #[test]
    fn a_bad_pattern_is_not_the_agents_fault() {
        let result = judge("x", "(unclosed", json!(null)).unwrap();

        assert_eq!(result.status, Some(EvalStatus::NotEvaluated));
        assert_eq!(
            result.details.unwrap()["error"],
            "missing ), unterminated subpattern at position 0"
        );
    }

    #[test]
    fn a_pattern_that_takes_for_ever_is_an_error() {
        let failure = judge(&"a".repeat(40), r"(a|a)*\1b", json!(null)).unwrap_err();

        assert_eq!(failure.kind(), "pattern");
    }

    #[test]
    fn a_pattern_of_another_type_is_what_python_shows() {
        let input =
            testing::input("regex_match").turn("?", "42").turn("?", "3").config("pattern", 42);

        let result = testing::run(&regex_match::EVALUATOR, &input).unwrap();

        testing::assert_score(&result, 0.5);
        assert_eq!(result.details.unwrap()["issues"], json!([": no match for pattern 42"]));
    }
}
