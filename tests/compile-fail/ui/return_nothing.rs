use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn judge(_: &EvalInput) {}

fn main() -> std::process::ExitCode {
    judge::run()
}
