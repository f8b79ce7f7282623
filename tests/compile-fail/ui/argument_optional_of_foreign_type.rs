use evaluator_sdk::evaluator;

#[evaluator]
fn judge(_: Option<bool>) -> f64 {
    1.0
}

fn main() -> std::process::ExitCode {
    judge::run()
}
