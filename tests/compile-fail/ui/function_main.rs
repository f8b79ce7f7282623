use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn main(_: &EvalInput) -> f64 {
    1.0
}
