use evaluator_sdk::{Config, EvalInput, evaluator};

#[evaluator]
fn judge<T>(input: &EvalInput, _: Config<T>) -> bool {
    input.invocations.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
