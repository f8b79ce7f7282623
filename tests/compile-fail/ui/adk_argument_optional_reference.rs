use evaluator_sdk::{evaluator, protocol::adk::Invocation};

#[evaluator(contract = adk)]
fn judge(expected_invocations: Option<&[Invocation]>) -> bool {
    expected_invocations.is_some()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
