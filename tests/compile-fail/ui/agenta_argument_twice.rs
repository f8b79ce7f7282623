use evaluator_sdk::evaluator;

#[evaluator(contract = agenta)]
fn judge(_output: &str, output: &str) -> bool {
    output.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
