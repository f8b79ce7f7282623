//! The feature `schema`.

use evaluator_sdk::{Config, EvalInput, Evaluator, evaluator, schemars};
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[schemars(crate = "evaluator_sdk::schemars")]
struct Settings {
    /// Fewest characters.
    min_length: usize,
}

#[derive(serde::Deserialize)]
struct WithoutSchema {}

#[evaluator]
fn with(input: &EvalInput, Config(settings): Config<Settings>) -> bool {
    input.invocations.len() >= settings.min_length
}

#[evaluator]
fn optional(settings: Option<Config<Settings>>) -> bool {
    settings.is_none()
}

#[evaluator(contract = adk)]
fn of_a_criterion(_eval_metric: &Value, Config(settings): Config<Settings>) -> bool {
    settings.min_length > 0
}

#[evaluator]
fn without(_: Config<WithoutSchema>) -> bool {
    true
}

#[evaluator]
fn unconfigured(_: &EvalInput) -> bool {
    true
}

#[test]
fn a_type_with_a_schema_shows_it_and_others_still_work() {
    let min_length = |evaluator: &Evaluator| {
        evaluator.config_schema().map(|schema| schema["properties"]["min_length"].clone())
    };
    let expected = json!({"description": "Fewest characters.", "type": "integer", "format": "uint", "minimum": 0});
    assert_eq!(min_length(&with::EVALUATOR), Some(expected.clone()));
    assert_eq!(min_length(&optional::EVALUATOR), Some(expected.clone()));
    assert_eq!(min_length(&of_a_criterion::EVALUATOR), Some(expected));
    assert_eq!(without::EVALUATOR.config_schema(), None::<Value>);
    assert_eq!(unconfigured::EVALUATOR.config_schema(), None::<Value>);
}
