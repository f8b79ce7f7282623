use evaluator_sdk::{EvalInput, evaluator};

struct Judge;

impl Judge {
    #[evaluator]
    fn judge(&self, input: &EvalInput) -> bool {
        input.invocations.is_empty()
    }
}

fn main() {
    Judge.judge(&EvalInput::default());
}
