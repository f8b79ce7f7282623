use evaluator_sdk::evaluator;

struct Settings {
    min: usize,
}

#[evaluator(contract = agenta)]
fn judge(app_params: Settings, output: &str) -> bool {
    output.len() > app_params.min
}

fn main() -> std::process::ExitCode {
    judge::run()
}
