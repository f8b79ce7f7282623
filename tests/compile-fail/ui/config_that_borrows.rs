use evaluator_sdk::{Config, evaluator};

#[derive(serde::Deserialize)]
struct Settings<'a> {
    word: &'a str,
}

#[evaluator]
fn judge(Config(settings): Config<Settings<'_>>) -> bool {
    settings.word.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
