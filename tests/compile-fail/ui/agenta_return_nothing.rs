use evaluator_sdk::evaluator;

#[evaluator(contract = agenta)]
fn judge(output: &str) -> () {
    assert!(!output.is_empty());
}

fn main() -> std::process::ExitCode {
    judge::run()
}
