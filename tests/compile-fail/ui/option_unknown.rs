use evaluator_sdk::{EvalInput, evaluator};

#[evaluator(nam = "polite")]
fn judge(_: &EvalInput) -> f64 {
    1.0
}

fn main() -> std::process::ExitCode {
    judge::run()
}
