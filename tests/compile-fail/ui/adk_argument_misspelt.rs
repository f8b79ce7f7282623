use evaluator_sdk::{evaluator, protocol::adk::Invocation};

#[evaluator(contract = adk)]
fn judge(actual_invocations: &[Invocation], expected_invocation: Option<Vec<Invocation>>) -> bool {
    expected_invocation.is_some_and(|expected| expected.len() == actual_invocations.len())
}

fn main() -> std::process::ExitCode {
    judge::run()
}
