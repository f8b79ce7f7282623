use evaluator_sdk::evaluator;

#[evaluator]
fn judge(input: &EvalInptu) -> bool {
    input.invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
