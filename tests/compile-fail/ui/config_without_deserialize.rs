use evaluator_sdk::{Config, evaluator};

struct Settings {
    min: usize,
}

#[evaluator]
fn judge(Config(settings): Config<Settings>) -> bool {
    settings.min > 1
}

fn main() -> std::process::ExitCode {
    judge::run()
}
