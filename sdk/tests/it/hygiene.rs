//! The expansion holds where nothing means what it usually does, and no lint of the author's reaches into it.

#![no_implicit_prelude]
#![forbid(unsafe_code)]
#![deny(
    warnings,
    clippy::all,
    clippy::pedantic,
    clippy::absolute_paths,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::exhaustive_enums,
    clippy::missing_inline_in_public_items,
    clippy::must_use_candidate,
    clippy::empty_enums,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_camel_case_types,
    rust_2018_idioms,
    single_use_lifetimes,
    trivial_casts,
    unnameable_types,
    unreachable_pub,
    unused_lifetimes,
    unused_qualifications,
    unused_results
)]
#![expect(clippy::absolute_paths, reason = "there is no other way to name anything here")]

mod std {}
mod core {}
mod evaluator_sdk {}
mod serde_json {}
mod contract {}

#[expect(dead_code, reason = "shadows the type of the prelude")]
type Result<T> = ::std::option::Option<T>;
#[expect(dead_code, reason = "shadows the function of the prelude")]
struct Ok;
#[expect(dead_code, reason = "shadows the function of the prelude")]
struct None;
#[expect(dead_code, reason = "shadows the type")]
struct Evaluator;
#[expect(dead_code, reason = "shadows the trait")]
trait FromInput {}

/// Functions called like what an expansion might call its own.
#[::evaluator_sdk::evaluator]
pub(crate) fn context(
    document: &::evaluator_sdk::EvalInput,
    argument_0: ::evaluator_sdk::EvalInput,
) -> bool {
    let ::evaluator_sdk::EvalInput { metric_name, .. } = argument_0;
    document.metric_name == metric_name
}

#[::evaluator_sdk::evaluator]
fn call(name: ::evaluator_sdk::MetricName<'_>) -> f64 {
    if name.0 == "call" { 1.0 } else { 0.0 }
}

#[::evaluator_sdk::evaluator]
fn run() -> ::std::result::Result<f64, ::std::num::ParseFloatError> {
    "0.25".parse()
}

#[::evaluator_sdk::evaluator]
async fn evaluator(threshold: ::evaluator_sdk::Threshold) -> f64 {
    ::std::future::ready(threshold.0).await
}

/// Arguments that are matched by name, which no lint may report as unused.
#[::evaluator_sdk::evaluator(contract = adk)]
async fn parameter(
    eval_metric: &::serde_json::Value,
    actual_invocations: &[::evaluator_sdk::protocol::adk::Invocation],
    _conversation_scenario: ::std::option::Option<::serde_json::Value>,
    ::evaluator_sdk::Config(config): ::evaluator_sdk::Config<::serde_json::Value>,
) -> bool {
    ::std::future::ready(eval_metric.is_object() && config.is_object()).await
        && actual_invocations.is_empty()
}

#[::std::prelude::v1::test]
fn they_all_run() {
    use ::std::string::ToString as _;

    let score = |evaluator: &::evaluator_sdk::Evaluator| {
        let input = ::evaluator_sdk::testing::input(evaluator.name());
        ::evaluator_sdk::testing::run(evaluator, &input).unwrap().score.get()
    };
    ::std::assert_eq!(score(&context::EVALUATOR).to_string(), "1");
    ::std::assert_eq!(score(&call::EVALUATOR).to_string(), "1");
    ::std::assert_eq!(score(&run::EVALUATOR).to_string(), "0.25");
    ::std::assert_eq!(score(&evaluator::EVALUATOR).to_string(), "0.5");
    let document = r#"{"eval_metric": {"metric_name": "m"}, "actual_invocations": []}"#;
    let answer = ::evaluator_sdk::testing::answer_json(&parameter::EVALUATOR, document).unwrap();
    ::std::assert_eq!(
        answer.to_string(),
        r#"{"overall_eval_status":4,"overall_score":1.0,"per_invocation_results":[]}"#
    );
}
