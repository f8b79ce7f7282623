use evaluator_sdk::{EvalInput, evaluator};

struct NoAnswer;

#[evaluator]
fn judge(_: &EvalInput) -> Result<f64, NoAnswer> {
    Err(NoAnswer)
}

fn main() -> std::process::ExitCode {
    judge::run()
}
