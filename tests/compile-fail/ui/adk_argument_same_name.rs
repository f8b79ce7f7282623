use evaluator_sdk::{evaluator, protocol::adk::EvalMetric};

#[evaluator(contract = adk)]
#[allow(unused_variables)]
fn judge(eval_metric: EvalMetric, eval_metric: EvalMetric) -> bool {
    eval_metric.threshold().is_some()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
