use evaluator_sdk::{evaluator, protocol::agentv::CodeJudgeResult};

#[evaluator(contract = agenta)]
fn judge() -> CodeJudgeResult {
    CodeJudgeResult::new(evaluator_sdk::Score::ONE)
}

fn main() -> std::process::ExitCode {
    judge::run()
}
