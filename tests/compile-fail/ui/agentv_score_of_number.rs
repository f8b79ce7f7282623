use evaluator_sdk::{agentv::CodeJudgeInput, agentv::CodeJudgeResult, evaluator};

#[evaluator(contract = agentv)]
fn grade(_: &CodeJudgeInput) -> CodeJudgeResult {
    CodeJudgeResult::new(1)
}

fn main() -> std::process::ExitCode {
    grade::run()
}
