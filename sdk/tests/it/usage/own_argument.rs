//! An argument type of the author's own.

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
