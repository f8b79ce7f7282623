#![deny(unused_must_use)]

use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn grade(input: &EvalInput) -> bool {
    !input.invocations.is_empty()
}

fn main() {
    grade::run();
}
