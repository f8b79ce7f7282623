use evaluator_sdk::{evaluator, protocol::adk::EvalMetric};

struct Judge;

impl Judge {
    #[evaluator(contract = adk)]
    fn judge(&self, eval_metric: EvalMetric) -> bool {
        eval_metric.threshold().is_some()
    }
}

fn main() {}
