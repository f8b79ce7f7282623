use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
#[tokio::main(flavor = "current_thread")]
async fn judge(input: &EvalInput) -> bool {
    input.invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
