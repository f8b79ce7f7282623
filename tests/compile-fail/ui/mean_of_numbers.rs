use evaluator_sdk::{EvalInput, EvalResult, evaluator};

#[evaluator]
fn grade(_: &EvalInput) -> EvalResult {
    EvalResult::mean_of(vec![1.0])
}

fn main() -> std::process::ExitCode {
    grade::run()
}
