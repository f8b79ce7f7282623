use evaluator_sdk::evaluator;

#[evaluator(contract = agentv)]
fn judge(candidate_answer: &str) -> bool {
    candidate_answer.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
