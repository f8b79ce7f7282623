use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn judge(input: &'static EvalInput) -> bool {
    input.invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
