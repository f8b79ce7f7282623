//! Arguments taken apart, by names that are not imported.

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
