use evaluator_sdk::evaluator;

struct Metric;

#[evaluator(contract = adk)]
fn judge(eval_metric: Metric) -> bool {
    let Metric = eval_metric;
    true
}

fn main() -> std::process::ExitCode {
    judge::run()
}
