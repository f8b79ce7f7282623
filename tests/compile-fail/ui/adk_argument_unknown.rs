use evaluator_sdk::{evaluator, protocol::adk::Invocation};

#[evaluator(contract = adk)]
fn judge(turns: &[Invocation]) -> bool {
    turns.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
