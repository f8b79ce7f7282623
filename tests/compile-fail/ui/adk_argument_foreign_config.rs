use evaluator_sdk::evaluator;

struct Config {
    min: usize,
}

#[evaluator(contract = adk)]
fn judge(config: Config) -> bool {
    config.min > 0
}

fn main() -> std::process::ExitCode {
    judge::run()
}
