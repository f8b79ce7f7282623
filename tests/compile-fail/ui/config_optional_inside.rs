use evaluator_sdk::{Config, evaluator};

struct Settings {
    min: usize,
}

#[evaluator]
fn judge(config: Option<Config<Settings>>) -> bool {
    config.is_some_and(|Config(settings)| settings.min > 1)
}

fn main() -> std::process::ExitCode {
    judge::run()
}
