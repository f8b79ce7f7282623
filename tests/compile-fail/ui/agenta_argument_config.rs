use evaluator_sdk::{Config, evaluator};

#[derive(serde::Deserialize)]
struct Settings {
    min: usize,
}

#[evaluator(contract = agenta)]
fn judge(output: &str, Config(settings): Config<Settings>) -> bool {
    output.len() > settings.min
}

fn main() -> std::process::ExitCode {
    judge::run()
}
