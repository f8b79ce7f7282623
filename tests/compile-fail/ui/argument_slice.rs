use evaluator_sdk::{InvocationData, evaluator};

#[evaluator]
fn judge(turns: &[InvocationData]) -> bool {
    turns.len() > 1
}

fn main() -> std::process::ExitCode {
    judge::run()
}
