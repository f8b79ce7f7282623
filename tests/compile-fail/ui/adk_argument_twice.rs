use evaluator_sdk::{evaluator, protocol::adk::EvalMetric};

#[evaluator(contract = adk)]
fn judge(eval_metric: EvalMetric, _eval_metric: &EvalMetric) -> bool {
    eval_metric.threshold().is_some()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
