use evaluator_sdk::{evaluator, protocol::adk::EvalMetric};

#[evaluator(contract = adk)]
fn judge(eval_metric: EvalMetric) -> String {
    eval_metric.metric_name
}

fn main() -> std::process::ExitCode {
    judge::run()
}
