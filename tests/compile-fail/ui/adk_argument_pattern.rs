use evaluator_sdk::{evaluator, protocol::adk::Invocation};

#[evaluator(contract = adk)]
fn judge((first, second): (Invocation, Invocation)) -> bool {
    first == second
}

fn main() -> std::process::ExitCode {
    judge::run()
}
