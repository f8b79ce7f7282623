use evaluator_sdk::evaluator;

#[evaluator(contract = agenta)]
fn judge(answer: &str) -> bool {
    answer.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
