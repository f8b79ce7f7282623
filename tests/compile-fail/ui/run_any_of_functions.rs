use evaluator_sdk::{EvalInput, evaluator, run_any};

#[evaluator]
fn judge(_: &EvalInput) -> f64 {
    1.0
}

fn main() -> std::process::ExitCode {
    run_any(&[judge])
}
