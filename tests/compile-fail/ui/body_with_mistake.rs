use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn judge(input: &EvalInput) -> bool {
    input.invocation.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
