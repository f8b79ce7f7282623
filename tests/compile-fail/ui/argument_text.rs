use evaluator_sdk::evaluator;

#[evaluator]
fn judge(answer: &str) -> bool {
    answer.contains("please")
}

fn main() -> std::process::ExitCode {
    judge::run()
}
