use evaluator_sdk::{EvalInput, evaluator};

#[evaluator(contract = agenta)]
fn judge(input: EvalInput) -> bool {
    input.invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
