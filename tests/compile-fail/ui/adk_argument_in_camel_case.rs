use evaluator_sdk::{evaluator, protocol::adk::EvalMetric};

#[evaluator(contract = adk)]
#[allow(non_snake_case)]
fn judge(evalMetric: EvalMetric) -> bool {
    evalMetric.threshold().is_some()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
