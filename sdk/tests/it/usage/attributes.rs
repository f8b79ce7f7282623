//! Other attributes on the function.

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
