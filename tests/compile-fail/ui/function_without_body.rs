use evaluator_sdk::{EvalInput, evaluator};

trait Judge {
    #[evaluator]
    fn judge(input: &EvalInput) -> bool;
}

fn main() {}
