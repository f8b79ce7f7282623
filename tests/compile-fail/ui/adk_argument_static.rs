use evaluator_sdk::{evaluator, protocol::adk::Invocation};

#[evaluator(contract = adk)]
fn judge(actual_invocations: &'static [Invocation]) -> bool {
    actual_invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
