use evaluator_sdk::{EvalInput, evaluator};

#[evaluator(strict, strict)]
fn judge(_: &EvalInput) -> f64 {
    1.0
}

fn main() -> std::process::ExitCode {
    judge::run()
}
