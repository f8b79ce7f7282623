use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn judge<'a>(input: &'a EvalInput) -> bool {
    input.invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
