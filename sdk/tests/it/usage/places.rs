//! Names, visibility and places.

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
