use evaluator_sdk::{evaluator, protocol::{adk::EvaluationResult, agentv::CodeJudgeInput}};

#[evaluator(contract = agentv)]
fn judge(_: &CodeJudgeInput) -> EvaluationResult {
    EvaluationResult::not_evaluated()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
