use evaluator_sdk::{evaluator, protocol::adk::Invocation};

#[evaluator(contract = adk)]
fn judge(actual_invocations: impl Iterator<Item = Invocation>) -> bool {
    actual_invocations.count() > 0
}

fn main() -> std::process::ExitCode {
    judge::run()
}
