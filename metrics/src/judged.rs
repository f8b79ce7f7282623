//! Built-in metrics of agentevals that a model judges. They are known, but cannot be computed yet.

use std::sync::Arc;

use evaluator_document::{Field, Fields};

use super::{Metric, MetricInput, Outcome, Setting};

const JUDGE: &str = "needs a judge model, and none can be asked from here";
const SERVICE: &str =
    "needs a judge model of the Vertex AI evaluation service, which cannot be asked from here";

/// Names and descriptions of metrics that need a judge model.
const BY_JUDGE: &str = "\
final_response_match_v2: A model judges whether each answer says the same as the expected one.
rubric_based_final_response_quality_v1: A model checks each answer against a list of rubrics.
rubric_based_tool_use_quality_v1: A model checks the tool calls of each turn against a list of rubrics.
rubric_based_multi_turn_trajectory_quality_v1: A model checks a whole conversation against a list of rubrics.
hallucinations_v1: A model looks for statements in each answer that the context does not support.
per_turn_user_simulator_quality_v1: A model judges whether a simulated user keeps to its plan.";

/// Names and descriptions of metrics that need the evaluation service.
const BY_SERVICE: &str = "\
response_evaluation_score: A model rates how coherent each answer is, given the expected one.
safety_v1: A model judges whether each answer is harmless.
multi_turn_task_success_v1: A model judges whether a conversation reached its goal.
multi_turn_trajectory_quality_v1: A model judges the way a conversation took to its goal.
multi_turn_tool_use_quality_v1: A model judges the tool calls of a whole conversation.";

/// Metrics that compare with golden answers.
const COMPARING: [&str; 2] = ["final_response_match_v2", "response_evaluation_score"];

/// Prefix of the names of metrics that have rubrics.
const RUBRIC_BASED: &str = "rubric_based_";

const RUBRICS: [Setting; 1] = [Setting::new(
    "rubrics",
    r#"{"description": "Statements that the judge checks.", "type": ["array", "null"]}"#,
    "",
)];

/// A metric that a model judges.
#[derive(Clone, Debug)]
struct Judged {
    name: &'static str,
    description: &'static str,
    reason: &'static str,
    #[expect(
        dead_code,
        reason = "judges are not implemented yet; the rubrics are checked already"
    )]
    rubrics: Vec<Rubric>,
}

/// A statement that a judge checks.
#[derive(Clone, Debug)]
struct Rubric {
    /// Unique id; `None` if only the text was given.
    id: Option<String>,
    #[expect(dead_code, reason = "judges are not implemented yet; the text is checked already")]
    text: String,
}

/// Returns all of these metrics.
pub(super) fn all() -> impl Iterator<Item = impl Metric> {
    [(BY_JUDGE, JUDGE), (BY_SERVICE, SERVICE)].into_iter().flat_map(|(table, reason)| {
        let rows = table.lines().filter_map(|line| line.split_once(": "));
        rows.map(move |(name, description)| Judged {
            name,
            description,
            reason,
            rubrics: Vec::new(),
        })
    })
}

impl Metric for Judged {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn settings(&self) -> &'static [Setting] {
        if self.name.starts_with(RUBRIC_BASED) { &RUBRICS } else { &[] }
    }

    fn configure(&self, fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        let rubrics = if self.settings().is_empty() { None } else { fields.take("rubrics") };
        let rubrics = rubrics.map(read_rubrics).unwrap_or_default();
        Some(Arc::new(Self { rubrics, ..self.clone() }))
    }

    fn unavailable(&self) -> Option<&str> {
        Some(self.reason)
    }

    fn unsuitable(&self) -> Option<&str> {
        (self.name == "per_turn_user_simulator_quality_v1")
            .then_some("it judges a simulated user, and a recording has none")
    }

    fn asks_judge(&self) -> bool {
        true
    }

    fn revision(&self) -> Option<&str> {
        Some(super::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        match input.golden_turns() {
            Err(not_evaluated) if COMPARING.contains(&self.name) => not_evaluated,
            _ => Outcome::Failed { reason: format!("{} {}", self.name, self.reason) },
        }
    }
}

/// Reads a list whose items are texts, or mappings with `id` and `text`.
fn read_rubrics(field: Field<'_>) -> Vec<Rubric> {
    let mut rubrics: Vec<Rubric> = Vec::new();
    for item in field.items().unwrap_or_default() {
        let Some(rubric) = read_rubric(item) else { continue };
        if let Some(id) = &rubric.id
            && rubrics.iter().any(|other| other.id.as_ref() == Some(id))
        {
            item.add(format!("two rubrics have the id `{id}`"));
        }
        rubrics.push(rubric);
    }
    rubrics
}

fn read_rubric(item: Field<'_>) -> Option<Rubric> {
    if !item.is_mapping() {
        let text = Field { key: "rubrics[]", ..item }.sentence()?;
        return Some(Rubric { id: None, text });
    }
    let mut fields = item.fields("this rubric")?;
    let id = fields.require("id").and_then(|id| id.sentence());
    let text = fields.require("text").and_then(|text| text.sentence());
    fields.finish();
    Some(Rubric { id: Some(id?), text: text? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::not_evaluated;
    use evaluator_traces::eval_set::{EvalCase, Unmatched};

    #[test]
    fn only_metrics_that_compare_ask_for_a_golden_case_first() {
        let evaluate = |name: &str, golden| {
            let metric = all().find(|metric| metric.name() == name).unwrap();
            metric.evaluate(&MetricInput::new(&[], golden, 0.5))
        };
        let missing = Err(&Unmatched::NoEvalSet);
        let case = EvalCase::default();
        not_evaluated(evaluate("final_response_match_v2", missing));
        for (name, golden) in
            [("final_response_match_v2", Ok(&case)), ("hallucinations_v1", missing)]
        {
            let Outcome::Failed { reason } = evaluate(name, golden) else {
                panic!("{name} should fail");
            };
            assert!(reason.starts_with(name) && reason.contains("needs a judge model"), "{reason}");
        }
    }
}
