use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator};

#[evaluator]
fn grade(input: &EvalInput) -> EvalResult {
    let lengths = input.invocations.iter().map(|turn| turn.user_content.len());
    EvalResult::new(Score::ONE).per_invocation_scores(lengths)
}

fn main() -> std::process::ExitCode {
    grade::run()
}
