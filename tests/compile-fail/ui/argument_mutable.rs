use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn judge(input: &mut EvalInput) -> bool {
    input.invocations.pop().is_some()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
