//! Every way to write an evaluator that the documentation allows, and some that only happen.

#![deny(warnings, unreachable_pub, missing_docs)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::marker::PhantomData;

use evaluator_sdk::{
    Config, Context, EvalInput, EvalResult, Expected, Failure, FromInput, IntoOutcome, Invocations,
    MetricName, Rejection, Score, Threshold, evaluator, testing,
};
use serde_json::json;

fn input() -> testing::Input {
    testing::input("metric").turn("question", "answer")
}

fn score(evaluator: &evaluator_sdk::Evaluator) -> f64 {
    testing::run(evaluator, &input()).unwrap().score.get()
}

/// Arguments, alone and together.
mod arguments {
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
        let failure = testing::run(&golden::EVALUATOR, &input()).unwrap_err();
        assert_eq!(failure.kind(), "input");
        assert!(failure.message().starts_with("expected_invocations: this evaluator compares"));

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
}

/// Arguments taken apart, by names that are not imported.
mod patterns {
    use super::{Context, EvalInput, FromInput, Rejection, evaluator, score};

    mod nested {
        pub(super) use evaluator_sdk::{Config, Threshold};
    }

    #[derive(Debug, serde::Deserialize)]
    struct Settings {
        #[serde(default)]
        min: usize,
    }

    enum Half {
        First(usize),
        Second(usize),
    }

    impl FromInput<'_> for Half {
        fn from_input(context: &Context) -> Result<Self, Rejection> {
            let turns = context.input().invocations.len();
            Ok(if turns < 2 { Self::First(turns) } else { Self::Second(turns) })
        }
    }

    #[evaluator]
    fn by_paths(
        nested::Config(first): nested::Config<Settings>,
        nested::Config(Settings { min, .. }): nested::Config<Settings>,
        ::evaluator_sdk::Threshold(threshold): ::evaluator_sdk::Threshold,
        nested::Config::<Option<Settings>>(_): nested::Config<Option<Settings>>,
    ) -> bool {
        first.min == min && threshold == 0.5
    }

    #[evaluator]
    #[rustfmt::skip]
    #[expect(clippy::needless_borrowed_reference, clippy::toplevel_ref_arg, reason = "odd on purpose")]
    fn in_odd_ways(
        &EvalInput { ref metric_name, .. }:&EvalInput,
        (Half::First(turns) | Half::Second(turns)): Half,
        nested::Config(Settings { min: 0 | 1.. }): nested::Config<Settings>,
        whole @ nested::Threshold(0.0.. | _):nested::Threshold,
        ref part: nested::Threshold,
        #[allow(unused_variables, reason = "the attribute is what is tested")] unused : Half ,
    )->bool where fn(&EvalInput) -> bool: Copy, {
        metric_name == "metric" && turns == 1 && whole == *part
    }

    #[test]
    fn take_arguments_apart() {
        assert_eq!(score(&by_paths::EVALUATOR), 1.0);
        assert_eq!(score(&in_odd_ways::EVALUATOR), 1.0);
    }
}

/// An argument type of the author's own.
mod own_argument {
    use super::*;

    struct First<'a>(&'a str);

    impl<'a> FromInput<'a> for First<'a> {
        fn from_input(context: &'a Context) -> Result<Self, Rejection> {
            match context.input().invocations.first() {
                Some(turn) => Ok(Self(&turn.user_content)),
                None => Err(Rejection::new("", "there are no turns")),
            }
        }
    }

    #[evaluator]
    fn first_is_question(first: First<'_>) -> bool {
        first.0 == "question"
    }

    #[evaluator]
    fn pattern(First(text): First<'_>) -> bool {
        text.is_empty()
    }

    #[test]
    fn is_taken_and_rejected() {
        assert_eq!(score(&first_is_question::EVALUATOR), 1.0);
        let message = |evaluator| {
            testing::run(&evaluator, &testing::input("m")).unwrap_err().message().to_owned()
        };
        assert_eq!(message(first_is_question::EVALUATOR), "argument `first`: there are no turns");
        assert_eq!(message(pattern::EVALUATOR), "argument `First<'_>`: there are no turns");
    }
}

/// What evaluators return.
mod returns {
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
        assert_eq!(
            failure(panics::EVALUATOR),
            expect("panic", "the evaluator panicked: on purpose")
        );
    }
}

/// Names, visibility and places.
mod places {
    use super::*;

    pub(super) mod inner {
        use super::*;

        #[evaluator]
        pub(super) fn up_one(_: &EvalInput) -> bool {
            true
        }

        #[evaluator]
        pub(in super::super) fn up_two(_: &EvalInput) -> bool {
            true
        }

        #[evaluator]
        pub(crate) fn for_the_crate(_: &EvalInput) -> bool {
            true
        }

        #[evaluator]
        #[expect(unreachable_pub, reason = "about the function, and about nothing generated")]
        pub fn for_everyone(_: &EvalInput) -> bool {
            true
        }
    }

    use inner::{for_everyone, up_one};

    #[evaluator]
    fn r#match(_: &EvalInput) -> bool {
        true
    }

    #[evaluator(name = "with spaces and ünïcode", strict)]
    fn renamed(_: &EvalInput) -> bool {
        true
    }

    #[evaluator(contract = agentevals)]
    fn with_contract(_: &EvalInput) -> bool {
        true
    }

    #[test]
    fn are_where_the_function_is() {
        assert!(up_one(&input()) && for_everyone(&input()));
        for evaluator in [
            up_one::EVALUATOR,
            for_everyone::EVALUATOR,
            inner::for_the_crate::EVALUATOR,
            with_contract::EVALUATOR,
        ] {
            assert_eq!(score(&evaluator), 1.0, "{evaluator:?}");
        }
    }

    #[test]
    fn have_names() {
        assert_eq!(r#match::EVALUATOR.name(), "match");
        assert_eq!(up_one::EVALUATOR.name(), "up_one");
        assert_eq!(renamed::EVALUATOR.name(), "with spaces and ünïcode");
        assert!(renamed::EVALUATOR.is_strict() && !up_one::EVALUATOR.is_strict());
        assert_eq!(with_contract::EVALUATOR.contract(), "agentevals");
    }

    #[test]
    fn may_be_inside_a_function() {
        const LIMIT: usize = 3;

        #[evaluator]
        fn nested(input: &EvalInput) -> bool {
            input.metric_name.len() > LIMIT
        }

        assert!(nested(&input()));
        assert_eq!(score(&nested::EVALUATOR), 1.0);
    }
}

#[test]
fn reachable_from_two_modules_up() {
    assert_eq!(score(&places::inner::up_two::EVALUATOR), 1.0);
}

/// Attributes beside ours.
mod attributes {
    use super::*;

    /// Scores nothing.
    ///
    /// With a second paragraph,
    ///     and an indented line.
    #[evaluator]
    fn documented(_: &EvalInput) -> bool {
        true
    }

    /**
     * In a block.
     *
     * With stars.
     */
    #[evaluator]
    fn documented_in_a_block(_: &EvalInput) -> bool {
        true
    }

    #[evaluator]
    #[doc = "Below, "]
    #[doc = concat!("and ", "computed.")]
    fn documented_below(_: &EvalInput) -> bool {
        true
    }

    #[evaluator]
    #[inline]
    #[must_use]
    #[track_caller]
    #[cold]
    fn decorated(_: &EvalInput) -> bool {
        true
    }

    #[evaluator]
    #[cfg(not(test))]
    fn absent(_: NoSuchType) -> bool {
        true
    }

    #[evaluator]
    #[cfg(test)]
    fn absent(_: &EvalInput) -> bool {
        true
    }

    #[evaluator]
    #[deprecated(note = "use another one")]
    fn old(_: &EvalInput) -> bool {
        true
    }

    #[evaluator]
    #[allow(dead_code, non_snake_case, reason = "the lint is what is tested")]
    fn unusedAndOddlyNamed(
        _: &EvalInput,
        #[allow(unused_mut, reason = "likewise")] mut t: Threshold,
    ) -> bool {
        t.0 == 0.5
    }

    #[test]
    fn carry_over() {
        assert_eq!(
            documented::EVALUATOR.description(),
            "Scores nothing.\n\nWith a second paragraph,\n    and an indented line."
        );
        assert_eq!(documented_in_a_block::EVALUATOR.description(), "In a block.\n\nWith stars.");
        assert_eq!(documented_below::EVALUATOR.description(), "Below,\nand computed.");
        assert_eq!(decorated::EVALUATOR.description(), "");
        assert!(decorated(&input()));
        assert_eq!(score(&absent::EVALUATOR), 1.0);
    }

    #[test]
    #[expect(deprecated, reason = "the warning must come from here alone")]
    fn warn_where_they_are_used() {
        assert_eq!(score(&old::EVALUATOR), 1.0);
    }
}

/// Async functions, without any runtime.
mod futures {
    use std::{future::poll_fn, task::Poll, thread};

    use super::*;

    #[evaluator]
    async fn woken_elsewhere(input: &EvalInput, turns: Invocations<'_>) -> Result<f64, String> {
        let mut asked = false;
        poll_fn(|context| {
            if std::mem::replace(&mut asked, true) {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            Poll::Pending
        })
        .await;
        if turns.len() == input.invocations.len() { Ok(1.0) } else { Err("lost".to_owned()) }
    }

    #[test]
    fn run_to_their_end() {
        assert_eq!(score(&woken_elsewhere::EVALUATOR), 1.0);
    }
}

/// The sdk under another path, and evaluators written by macros.
mod paths {
    use super::*;

    pub(super) mod reexported {
        pub(crate) use evaluator_sdk as sdk;
    }

    #[evaluator(crate = reexported::sdk)]
    fn relative(_: &EvalInput) -> bool {
        true
    }

    #[evaluator(crate = crate::paths::reexported::sdk, name = "absolute")]
    fn from_the_root(_: &EvalInput) -> bool {
        true
    }

    macro_rules! evaluators {
        ($($(#[$attr:meta])* $vis:vis $name:ident($pat:pat, $ty:ty) => $out:ty = $value:expr;)*) => {$(
            #[evaluator]
            $(#[$attr])*
            $vis fn $name($pat: $ty) -> $out {
                $value
            }
        )*};
    }

    evaluators! {
        by_macro(_, &EvalInput) => bool = true;
        pub(super) by_macro_too(_, Option<Config<serde_json::Value>>) => f64 = 1.0;
        #[inline]
        by_macro_in_parts(Threshold(_), Threshold) => impl IntoOutcome + use<> = true;
    }

    #[test]
    fn lead_to_the_sdk() {
        for evaluator in [
            relative::EVALUATOR,
            from_the_root::EVALUATOR,
            by_macro::EVALUATOR,
            by_macro_too::EVALUATOR,
            by_macro_in_parts::EVALUATOR,
        ] {
            assert_eq!(score(&evaluator), 1.0, "{evaluator:?}");
        }
    }
}

/// Types in the function's own words.
mod types {
    use super::*;

    type Input = EvalInput;
    type Outcome = Result<EvalResult, std::num::ParseIntError>;

    #[evaluator]
    fn aliased(input: &'_ Input) -> Outcome {
        let one: usize = "1".parse()?;
        Ok(EvalResult::new(Score::ratio(input.invocations.len(), one)))
    }

    /// Is told nothing by the document, and all by its type.
    struct Told<T, const N: usize = 0>(PhantomData<T>);

    impl<T, const N: usize> FromInput<'_> for Told<T, N> {
        fn from_input(_: &Context) -> Result<Self, Rejection> {
            Ok(Self(PhantomData))
        }
    }

    impl<T, const N: usize> Told<T, N> {
        fn size(&self) -> usize {
            size_of::<T>() + N
        }
    }

    const TWO: usize = 2;

    #[evaluator]
    #[expect(clippy::too_many_arguments, clippy::type_complexity, reason = "all there are")]
    fn computed(
        literal: Told<(), 4>,
        sum: Told<[(); 3], { TWO + 2 }>,
        block: Told<
            (),
            {
                let two = TWO;
                two * two
            },
        >,
        product: Told<[u8; TWO * 2]>,
        branch: Told<[u8; if TWO < 3 { 4 } else { 0 }]>,
        item: Told<
            [u8; {
                const fn four() -> usize {
                    4
                }
                four()
            }],
        >,
        pointer: Told<fn(u8, Told<u8>) -> Option<u8>, { size_of::<u8>() - 1 }>,
        qualified: <Vec<Told<[u8; 4]>> as IntoIterator>::Item,
    ) -> Result<bool, <String as std::str::FromStr>::Err> {
        let sizes = [literal.size(), sum.size(), block.size(), product.size(), branch.size()];
        Ok(sizes == [4; { TWO + 3 }]
            && item.size() == 4
            && pointer.size() == size_of::<usize>()
            && qualified.size() == 4)
    }

    #[test]
    fn are_taken_as_they_are() {
        assert_eq!(score(&aliased::EVALUATOR), 1.0);
        assert_eq!(score(&computed::EVALUATOR), 1.0);
    }
}

#[test]
fn documents_go_the_whole_way() {
    #[evaluator]
    fn count(input: &EvalInput) -> Score {
        Score::ratio(input.invocations.len(), 2)
    }

    let answer = testing::run_json(
        &count::EVALUATOR,
        r#"{"metric_name": "any", "invocations": [{"user_content": "a"}]}"#,
    );
    testing::assert_score(&answer.unwrap(), 0.5);
    let failure = testing::run_json(&count::EVALUATOR, "{}").unwrap_err();
    assert_eq!(failure.kind(), "input");
    assert!(failure.message().starts_with("missing field `metric_name`"), "{failure}");
}

#[test]
fn parts_of_the_document_can_be_printed() {
    assert_eq!(format!("{:>3}, {:.2}", MetricName("x"), Threshold(0.5)), "  x, 0.50");
}
