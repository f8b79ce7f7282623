//! The sdk under another path, and evaluators written by macros.

use super::*;

pub(super) mod reexported {
    pub(crate) use evaluator_sdk as sdk;
}

#[evaluator(crate = reexported::sdk)]
fn relative(_: &EvalInput) -> bool {
    true
}

#[evaluator(crate = crate::usage::paths::reexported::sdk, name = "absolute")]
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
