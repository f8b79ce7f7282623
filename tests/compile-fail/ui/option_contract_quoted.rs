use evaluator_sdk::{EvalInput, evaluator};

#[evaluator(contract = "agentevals")]
fn judge(_: &EvalInput) -> f64 {
    1.0
}

fn main() -> std::process::ExitCode {
    judge::run()
}
