use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn judge(input: &EvalInput) -> String {
    input.metric_name.clone()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
