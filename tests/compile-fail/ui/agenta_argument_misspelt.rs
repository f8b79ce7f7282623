use evaluator_sdk::evaluator;

#[evaluator(contract = agenta)]
fn judge(output: &str, correct_awnser: &str) -> bool {
    output == correct_awnser
}

fn main() -> std::process::ExitCode {
    judge::run()
}
