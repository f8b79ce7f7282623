use evaluator_sdk::{Config, evaluator};

struct Settings {
    min: usize,
}

#[evaluator(contract = adk)]
fn judge(Config(settings): Config<Settings>) -> bool {
    settings.min > 0
}

fn main() -> std::process::ExitCode {
    judge::run()
}
