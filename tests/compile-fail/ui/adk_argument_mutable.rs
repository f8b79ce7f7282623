use evaluator_sdk::{evaluator, protocol::adk::Invocation};

#[evaluator(contract = adk)]
fn judge(actual_invocations: &mut Vec<Invocation>) -> bool {
    actual_invocations.pop().is_some()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
