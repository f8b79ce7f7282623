//! What evaluators return.

use super::*;

#[evaluator]
fn result(_: &EvalInput) -> EvalResult {
    EvalResult::new(Score::ONE).detail("why", "because")
}

#[evaluator]
fn score_itself(_: &EvalInput) -> Score {
    Score::ratio(1, 2)
}

#[evaluator]
fn opaque(_: &EvalInput) -> impl IntoOutcome + use<> {
    0.5
}

#[evaluator]
fn opaque_inside(_: &EvalInput) -> Result<impl IntoOutcome + use<>, std::fmt::Error> {
    Ok(0.5)
}

#[evaluator]
fn nan(_: &EvalInput) -> f64 {
    f64::NAN
}

#[evaluator]
fn with_anyhow(_: &EvalInput) -> anyhow::Result<f64> {
    use anyhow::Context as _;
    std::fs::read("/does/not/exist").context("cannot read the rules")?;
    Ok(1.0)
}

#[evaluator]
fn boxed(_: &EvalInput) -> Result<f64, Box<dyn std::error::Error>> {
    Ok("x".parse::<f64>()?)
}

#[evaluator]
fn sent(_: &EvalInput) -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
    Err("no")?
}

#[evaluator]
fn own_kind(_: &EvalInput) -> Result<bool, Failure> {
    Err(Failure::new("rate_limited", "over quota"))
}

#[evaluator]
fn panics(_: &EvalInput) -> bool {
    panic!("on {}", "purpose")
}

#[test]
fn become_answers() {
    let answer = testing::run(&result::EVALUATOR, &input()).unwrap();
    assert_eq!(answer, EvalResult::new(Score::ONE).detail("why", "because"));
    assert_eq!(score(&score_itself::EVALUATOR), 0.5);
    assert_eq!(score(&opaque::EVALUATOR), 0.5);
    assert_eq!(score(&opaque_inside::EVALUATOR), 0.5);
}

#[test]
fn become_failures() {
    let failure = |evaluator| {
        let failure = testing::run(&evaluator, &input()).unwrap_err();
        (failure.kind().to_owned(), failure.to_string())
    };
    let expect = |kind: &str, text: &str| (kind.to_owned(), text.to_owned());
    assert_eq!(
        failure(nan::EVALUATOR),
        expect("answer", "NaN is not a score: it must be finite (a division by zero?)")
    );
    let (kind, text) = failure(with_anyhow::EVALUATOR);
    assert_eq!(kind, "evaluator");
    assert!(text.starts_with("cannot read the rules: No such file"), "{text}");
    assert_eq!(failure(boxed::EVALUATOR), expect("evaluator", "invalid float literal"));
    assert_eq!(failure(sent::EVALUATOR), expect("evaluator", "no"));
    assert_eq!(failure(own_kind::EVALUATOR), expect("rate_limited", "over quota"));
    assert_eq!(failure(panics::EVALUATOR), expect("panic", "the evaluator panicked: on purpose"));
}
