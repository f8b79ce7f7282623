use evaluator_sdk::{EvalInput, Threshold, evaluator};

#[evaluator]
fn judge(input: &EvalInput, #[cfg(all())] _: Threshold) -> bool {
    input.invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
