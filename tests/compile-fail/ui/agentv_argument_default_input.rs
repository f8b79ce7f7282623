use evaluator_sdk::{EvalInput, evaluator};

#[evaluator(contract = agentv)]
fn judge(input: &EvalInput) -> bool {
    input.invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
