use evaluator_sdk::{InvocationData, evaluator};

#[evaluator(contract = agentv)]
fn judge(turns: &[InvocationData]) -> bool {
    turns.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
