use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
async fn judge(input: &EvalInput) -> usize {
    input.invocations.len()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
