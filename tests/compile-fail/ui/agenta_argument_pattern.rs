use evaluator_sdk::evaluator;

struct Answer(String);

#[evaluator(contract = agenta)]
fn judge(Answer(text): Answer) -> bool {
    text.is_empty()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
