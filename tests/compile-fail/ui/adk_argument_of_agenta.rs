use evaluator_sdk::evaluator;

#[evaluator(contract = adk)]
fn judge(_correct_answer: String) -> bool {
    true
}

fn main() -> std::process::ExitCode {
    judge::run()
}
