use evaluator_sdk::{evaluator, protocol::adk::EvalMetric};

#[evaluator(contract = adk)]
async fn judge(eval_metric: EvalMetric) {
    let _ = eval_metric;
}

fn main() -> std::process::ExitCode {
    judge::run()
}
