//! Does the agent answer in JSON of the right shape when it is asked for JSON?

use std::{collections::BTreeMap, process::ExitCode};

use evaluator_sdk::{Config, EvalInput, EvalResult, Score, evaluator};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Only turns whose user says this are judged.
    #[serde(default = "json")]
    when_user_says: String,
    /// The fields an answer must have.
    fields: BTreeMap<String, Type>,
}

fn json() -> String {
    "JSON".to_owned()
}

/// What a field may hold. A type that does not exist is an error in the config, with the list of those that do.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Type {
    String,
    Number,
    Boolean,
    Array,
    Object,
}

impl Type {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// Scores the share of fields that are there and of the right type. An answer that is not a JSON object scores 0.
#[evaluator]
fn json_shape(input: &EvalInput, Config(settings): Config<Settings>) -> EvalResult {
    let mut problems = Vec::new();
    let mut per_turn = Vec::new();
    for turn in &input.invocations {
        if !turn.user_content.contains(&settings.when_user_says) {
            per_turn.push(None);
            continue;
        }
        let answer = turn.final_response.as_deref().unwrap_or_default();
        let Ok(Value::Object(object)) = serde_json::from_str(answer) else {
            problems.push(format!("not a JSON object: {answer:?}"));
            per_turn.push(Some(Score::ZERO));
            continue;
        };
        let mut good = 0;
        for (name, wanted) in &settings.fields {
            match object.get(name) {
                Some(value) if wanted.fits(value) => good += 1,
                Some(value) => problems.push(format!("{name}: {value} is not a {wanted:?}")),
                None => problems.push(format!("{name}: missing")),
            }
        }
        // Without any fields, an object is all that is asked for.
        per_turn.push(Score::checked_ratio(good, settings.fields.len()).or(Some(Score::ONE)));
    }
    match Score::mean(per_turn.iter().copied().flatten()) {
        Some(score) => {
            EvalResult::new(score).per_invocation_scores(per_turn).detail("problems", problems)
        }
        None => EvalResult::not_evaluated(format!("no user says {:?}", settings.when_user_says)),
    }
}

fn main() -> ExitCode {
    json_shape::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalStatus, testing};

    use super::*;

    /// The settings as they stand in a configuration, which tests their form, too.
    fn input() -> testing::Input {
        testing::input("json_shape")
            .config("fields", serde_json::json!({"total": "number", "currency": "string"}))
    }

    fn judge(input: &EvalInput) -> EvalResult {
        testing::run(&json_shape::EVALUATOR, input).unwrap()
    }

    #[test]
    fn fields_of_the_right_type_score() {
        let input = input()
            .turn("As JSON, please.", r#"{"total": "79 euros", "currency": "EUR"}"#)
            .turn("Thanks!", "You are welcome.");

        let result = judge(&input);

        assert_eq!(result.per_invocation_scores, [Some(Score::ratio(1, 2)), None]);
        assert_eq!(result.details.unwrap()["problems"][0], "total: \"79 euros\" is not a Number");
    }

    #[test]
    fn prose_around_the_json_scores_nothing() {
        testing::assert_score(
            &judge(&input().turn("As JSON, please.", "Sure: {\"total\": 79}")),
            0.0,
        );
    }

    #[test]
    fn other_conversations_are_not_judged() {
        let result = judge(&input().turn("Hi", "Hello."));

        assert_eq!(result.status, Some(EvalStatus::NotEvaluated));
    }

    #[test]
    fn a_type_that_does_not_exist_is_an_error() {
        let input = input().config("fields", serde_json::json!({"total": "float"}));

        let failure = testing::run(&json_shape::EVALUATOR, &input).unwrap_err().to_string();

        assert!(
            failure.contains("config.fields.total") && failure.contains("`number`"),
            "{failure}"
        );
    }
}
