//! Built-in metrics of agentevals that a model judges. They are known, but cannot be computed yet.

use std::sync::Arc;

use evaluator_document::{Field, Fields};

use super::Rubric;
use crate::{Metric, MetricInput, Outcome, Setting};

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
    rubrics: Vec<Rubric>,
}

/// Returns all of these metrics.
pub(crate) fn all_metrics() -> impl Iterator<Item = impl Metric> {
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

    fn judge(&self) -> Option<(Arc<dyn super::Judge>, &[Rubric])> {
        Some((super::judge(self.name)?, &self.rubrics))
    }

    fn revision(&self) -> Option<&str> {
        Some(crate::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        match input.golden_turns() {
            Err(not_evaluated) if COMPARING.contains(&self.name) => not_evaluated,
            _ => Outcome::Failed { reason: format!("{} {}", self.name, self.reason) },
        }
    }
}

/// Reads a list whose items are texts, or mappings with `id` and `text`. The id of a text is `rubric_` and its index.
fn read_rubrics(field: Field<'_>) -> Vec<Rubric> {
    let mut rubrics: Vec<Rubric> = Vec::new();
    for (index, item) in field.items().unwrap_or_default().into_iter().enumerate() {
        let Some(rubric) = read_rubric(item, index) else { continue };
        if rubrics.iter().any(|other| other.id == rubric.id) {
            item.add(format!("two rubrics have the id `{}`", rubric.id));
        }
        rubrics.push(rubric);
    }
    rubrics
}

fn read_rubric(item: Field<'_>, index: usize) -> Option<Rubric> {
    if !item.is_mapping() {
        let text = Field { key: "rubrics[]", ..item }.sentence()?;
        return Some(Rubric { id: format!("rubric_{index}"), text: Some(text), kind: None });
    }
    let mut fields = item.fields("this rubric")?;
    let id = fields.require("id").and_then(|id| id.sentence());
    let text = fields.require("text").and_then(|text| text.sentence());
    fields.finish();
    Some(Rubric { id: id?, text: Some(text?), kind: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{configured, not_evaluated};
    use evaluator_traces::eval_set::{EvalCase, Unmatched};

    #[test]
    fn only_metrics_that_compare_ask_for_a_golden_case_first() {
        let evaluate = |name: &str, golden| {
            let metric = all_metrics().find(|metric| metric.name() == name).unwrap();
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

    #[test]
    fn rubrics_without_an_id_are_numbered() {
        let metric = all_metrics()
            .find(|metric| metric.name() == "rubric_based_tool_use_quality_v1")
            .unwrap();
        let yaml = "rubrics: [Books once., {id: polite, text: Says please.}, Pays.]";
        let metric = configured(yaml, |fields| metric.configure(fields)).unwrap();
        let (judge, rubrics) = metric.judge().unwrap();
        assert_eq!(judge.name(), metric.name());
        let ids: Vec<&str> = rubrics.iter().map(|rubric| rubric.id.as_str()).collect();
        assert_eq!(ids, ["rubric_0", "polite", "rubric_2"]);
        assert!(all_metrics().filter(|metric| metric.judge().is_some()).count() == 6);
        assert!(all_metrics().all(|metric| metric.unavailable().is_some()));
    }
}
