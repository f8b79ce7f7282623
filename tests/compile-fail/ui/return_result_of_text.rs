use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn judge(input: &EvalInput) -> Result<String, std::fmt::Error> {
    Ok(input.metric_name.clone())
}

fn main() -> std::process::ExitCode {
    judge::run()
}
