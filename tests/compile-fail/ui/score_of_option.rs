use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator};

#[evaluator]
fn grade(input: &EvalInput) -> EvalResult {
    let answered = input.invocations.iter().filter(|turn| turn.final_response.is_some()).count();
    EvalResult::new(Score::checked_ratio(answered, input.invocations.len()))
}

fn main() -> std::process::ExitCode {
    grade::run()
}
