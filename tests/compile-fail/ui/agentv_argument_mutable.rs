use evaluator_sdk::{evaluator, protocol::agentv::CodeJudgeInput};

#[evaluator(contract = agentv)]
fn judge(input: &mut CodeJudgeInput) -> bool {
    *input == CodeJudgeInput::default()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
