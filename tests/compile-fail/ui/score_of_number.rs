use evaluator_sdk::{EvalInput, EvalResult, evaluator};

#[evaluator]
fn grade(_: &EvalInput) -> EvalResult {
    EvalResult::new(0.5)
}

fn main() -> std::process::ExitCode {
    grade::run()
}
