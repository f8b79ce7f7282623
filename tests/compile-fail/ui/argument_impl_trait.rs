use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn judge(input: impl AsRef<EvalInput>) -> bool {
    input.as_ref().invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
