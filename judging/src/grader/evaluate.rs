//! Graders as metrics.

use evaluator_metrics::{Metric, MetricInput, Outcome};

use super::{CallResults, Grader};

/// A grader as a metric of that name. The score is the mean of the evaluated turns, each of which has to pass.
///
/// It is computed by this program. A grader that needs anything from outside is an error; see [`Grader::plan`] for those.
#[derive(Clone, Debug)]
pub struct LocalGrader {
    name: String,
    grader: Grader,
}

impl LocalGrader {
    /// Creates a metric.
    pub fn new(name: impl Into<String>, grader: Grader) -> Self {
        Self { name: name.into(), grader }
    }
}

impl Metric for LocalGrader {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "A grader of OpenAI's API, computed here."
    }

    fn compares_golden_turns(&self) -> bool {
        self.grader.compares()
    }

    fn revision(&self) -> Option<&str> {
        Some(crate::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        match self.grader.plan(input) {
            Ok(plan) => plan.finish(&CallResults::default()),
            Err(outcome) => outcome,
        }
    }
}
