//! Arguments, alone and together.

use super::*;

#[derive(Debug, Default, serde::Deserialize)]
struct Settings {
    #[serde(default)]
    min: usize,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Debug, serde::Deserialize)]
struct Rule {
    weight: f64,
}

#[evaluator]
fn nothing() -> bool {
    true
}

#[evaluator]
fn borrowed(input: &EvalInput) -> bool {
    input.metric_name == "metric"
}

#[evaluator]
fn owned(mut input: EvalInput) -> bool {
    input.invocations.clear();
    input.invocations.is_empty() && input.metric_name == "metric"
}

#[evaluator]
fn owned_twice(mut first: EvalInput, second: EvalInput) -> bool {
    first.invocations.clear();
    second.invocations.len() == 1
}

#[evaluator]
#[expect(clippy::too_many_arguments, reason = "all there are")]
fn all(
    input: &EvalInput,
    Config(settings): Config<Settings>,
    Threshold(threshold): Threshold,
    name: MetricName<'_>,
    turns: Invocations<'_>,
    golden: Option<Expected<'_>>,
    missing: Option<Config<Settings>>,
    always: Option<Threshold>,
) -> bool {
    let turns_agree = turns.iter().eq(&input.invocations);
    assert!(settings.rules.iter().all(|rule| rule.weight >= 0.0));
    turns_agree
        && threshold == 0.5
        && always == Some(Threshold(0.5))
        && &*name == "metric"
        && settings.min == 0
        && golden.is_none()
        && missing.is_none()
}

#[evaluator]
fn destructured(EvalInput { metric_name, .. }: EvalInput, _: Threshold) -> bool {
    metric_name == "metric"
}

#[evaluator]
fn golden(expected: Expected<'_>) -> bool {
    expected.into_iter().count() == 1
}

#[evaluator]
fn configured(config: Option<Config<Settings>>) -> bool {
    config.is_some_and(|Config(settings)| settings.min == 3)
}

#[test]
fn are_taken_from_the_document() {
    for evaluator in [
        nothing::EVALUATOR,
        borrowed::EVALUATOR,
        owned::EVALUATOR,
        owned_twice::EVALUATOR,
        all::EVALUATOR,
        destructured::EVALUATOR,
    ] {
        assert_eq!(score(&evaluator), 1.0, "{evaluator:?}");
    }
    let with_golden = input().expected("question", "golden");
    testing::assert_score(&testing::run(&golden::EVALUATOR, &with_golden).unwrap(), 1.0);
    let with_config = input().config("min", 3);
    testing::assert_score(&testing::run(&configured::EVALUATOR, &with_config).unwrap(), 1.0);
}

#[test]
fn that_are_missing_or_wrong_are_named_by_path() {
    // Golden turns are missing where a conversation has no golden case, which is not an error.
    let unjudged = testing::run(&golden::EVALUATOR, &input()).unwrap();
    assert_eq!(unjudged.status, Some(evaluator_sdk::EvalStatus::NotEvaluated));
    let reason = unjudged.details.as_ref().and_then(|details| details["reason"].as_str());
    assert!(reason.unwrap().starts_with("expected_invocations: this evaluator compares"));

    let wrong = input().config("rules", json!([{"weight": 1}, {"weight": "heavy"}]));
    for evaluator in [all::EVALUATOR, configured::EVALUATOR] {
        let failure = testing::run(&evaluator, &wrong).unwrap_err();
        assert_eq!(failure.kind(), "config");
        assert_eq!(
            failure.message(),
            "config.rules[1].weight: invalid type: string \"heavy\", expected f64"
        );
    }
}
