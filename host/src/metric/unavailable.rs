//! Built-in metrics of agentevals that are known but cannot be computed here.

use super::{Metric, MetricInput, align::reference};
use crate::verdict::Verdict;

const JUDGE: &str = "needs a judge model, and none can be asked from here";
const SERVICE: &str =
    "needs a judge model of the Vertex AI evaluation service, which cannot be asked from here";

/// A metric that is listed, so that a config naming it can be understood, but always fails with a reason.
#[derive(Clone, Copy, Debug)]
pub struct Unavailable {
    name: &'static str,
    description: &'static str,
    reason: &'static str,
    compares: bool,
}

impl Metric for Unavailable {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn unavailable(&self) -> Option<&str> {
        Some(self.reason)
    }

    fn asks_judge(&self) -> bool {
        true
    }

    fn revision(&self) -> Option<&str> {
        Some(super::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Verdict {
        // Without a golden case there is nothing to fail at.
        if self.compares
            && let Err(not_evaluated) = reference(input)
        {
            return Verdict::Answer(not_evaluated);
        }
        Verdict::MetricFailed { reason: format!("{} {}", self.name, self.reason) }
    }
}

const fn judged(name: &'static str, description: &'static str) -> Unavailable {
    Unavailable { name, description, reason: JUDGE, compares: false }
}

const fn by_service(name: &'static str, description: &'static str) -> Unavailable {
    Unavailable { name, description, reason: SERVICE, compares: false }
}

/// All of them.
pub(super) const KNOWN: [Unavailable; 11] = [
    Unavailable {
        compares: true,
        ..judged(
            "final_response_match_v2",
            "A model judges whether each answer says the same as the expected one.",
        )
    },
    Unavailable {
        compares: true,
        ..by_service(
            "response_evaluation_score",
            "A model rates how coherent each answer is, given the expected one.",
        )
    },
    judged(
        "rubric_based_final_response_quality_v1",
        "A model checks each answer against a list of rubrics.",
    ),
    judged(
        "rubric_based_tool_use_quality_v1",
        "A model checks the tool calls of each turn against a list of rubrics.",
    ),
    judged(
        "rubric_based_multi_turn_trajectory_quality_v1",
        "A model checks a whole conversation against a list of rubrics.",
    ),
    judged(
        "hallucinations_v1",
        "A model looks for statements in each answer that the context does not support.",
    ),
    judged(
        "per_turn_user_simulator_quality_v1",
        "A model judges whether a simulated user keeps to its plan.",
    ),
    by_service("safety_v1", "A model judges whether each answer is harmless."),
    by_service(
        "multi_turn_task_success_v1",
        "A model judges whether a conversation reached its goal.",
    ),
    by_service(
        "multi_turn_trajectory_quality_v1",
        "A model judges the way a conversation took to its goal.",
    ),
    by_service(
        "multi_turn_tool_use_quality_v1",
        "A model judges the tool calls of a whole conversation.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        eval_set::{EvalCase, Unmatched},
        metric::MetricSettings,
        verdict::Status,
    };

    #[test]
    fn only_metrics_that_compare_ask_for_a_golden_case_first() {
        let settings = MetricSettings::default();
        let evaluate = |name: &str, golden| {
            let metric = KNOWN.iter().find(|metric| metric.name == name).unwrap();
            metric.evaluate(&MetricInput {
                turns: &[],
                golden,
                threshold: 0.5,
                settings: &settings,
            })
        };
        let missing = Err(&Unmatched::NoEvalSet);
        let case = EvalCase::default();
        assert!(matches!(
            evaluate("final_response_match_v2", missing),
            Verdict::Answer(answer) if answer.status == Some(Status::NotEvaluated)
        ));
        for (name, golden) in
            [("final_response_match_v2", Ok(&case)), ("hallucinations_v1", missing)]
        {
            let Verdict::MetricFailed { reason } = evaluate(name, golden) else {
                panic!("{name} should fail");
            };
            assert!(reason.starts_with(name) && reason.contains("needs a judge model"), "{reason}");
        }
    }
}
