use evaluator_sdk::evaluator;

#[evaluator(contract = adk)]
fn judge(eval_metric: &std::path::Path) -> bool {
    eval_metric.exists()
}

fn main() -> std::process::ExitCode {
    judge::run()
}
