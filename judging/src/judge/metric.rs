//! Metrics that a model judges.

use std::{any::Any, borrow::Cow, sync::Arc};

use evaluator_document::{Field, Fields};
use evaluator_metrics::{Metric, MetricInput, Outcome, Setting};

use super::{Criterion, Judge, Rubric};

const NO_MODEL: &str = "needs a judge model, and none is connected";
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

const RUBRICS: Setting = Setting::new(
    "rubrics",
    r#"{"description": "Statements that the judge checks.", "type": ["array", "null"]}"#,
    "",
);

const INTERMEDIATE: Setting = Setting::new(
    "include_intermediate_responses_in_final",
    r#"{"description": "Whether texts before the answer belong to the answer.", "type": "boolean", "default": false}"#,
    "",
)
.alias("includeIntermediateResponsesInFinal");

const CHECK_INTERMEDIATE: Setting = Setting::new(
    "evaluate_intermediate_nl_responses",
    r#"{"description": "Whether texts before the answer are checked, too.", "type": "boolean", "default": false}"#,
    "",
)
.alias("evaluateIntermediateNlResponses");

const STOP_SIGNAL: Setting = Setting::new(
    "stop_signal",
    r#"{"description": "Text with which the simulated user ends the conversation.", "type": "string", "minLength": 1, "default": "</finished>"}"#,
    "",
)
.alias("stopSignal");

/// A metric that a model judges.
#[derive(Clone, Debug)]
pub struct JudgeMetric {
    name: Cow<'static, str>,
    description: Cow<'static, str>,
    criterion: Criterion,
    /// `None` if no judge can be asked from here.
    judge: Option<Arc<dyn Judge>>,
    compares: bool,
    revision: Option<&'static str>,
}

impl JudgeMetric {
    /// Creates the metric of a judge of one's own, which has the name of the judge and no settings. `compares`: golden turns
    /// without a recording fail the evaluation. Its results are never reused.
    pub fn new(judge: Arc<dyn Judge>, description: impl Into<String>, compares: bool) -> Self {
        Self {
            name: judge.name().to_owned().into(),
            description: description.into().into(),
            criterion: Criterion::default(),
            judge: Some(judge),
            compares,
            revision: None,
        }
    }

    /// Returns the built-in metrics.
    pub fn all() -> impl Iterator<Item = Self> {
        let rows = BY_JUDGE.lines().chain(BY_SERVICE.lines());
        rows.filter_map(|line| line.split_once(": ")).map(|(name, description)| Self {
            name: name.into(),
            description: description.into(),
            criterion: Criterion::default(),
            judge: super::judge(name),
            compares: COMPARING.contains(&name),
            revision: Some(crate::REVISION),
        })
    }

    /// Returns what judges a metric, and the criterion of its settings; `None` if it asks no model. Samples, rules and prompts
    /// of the criterion are replaced by those of the judge's settings.
    pub fn judge_of(metric: &dyn Metric) -> Option<(Arc<dyn Judge>, Criterion)> {
        let metric: &Self = (metric as &dyn Any).downcast_ref()?;
        Some((metric.judge.clone()?, metric.criterion.clone()))
    }
}

impl Metric for JudgeMetric {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn settings(&self) -> &'static [Setting] {
        match &*self.name {
            _ if self.revision.is_none() => &[],
            "final_response_match_v2" => &[INTERMEDIATE],
            "rubric_based_final_response_quality_v1" => &[RUBRICS, INTERMEDIATE],
            "hallucinations_v1" => &[CHECK_INTERMEDIATE],
            "per_turn_user_simulator_quality_v1" => &[STOP_SIGNAL],
            name if name.starts_with("rubric_based_") => &[RUBRICS],
            _ => &[],
        }
    }

    fn configure(&self, fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        let mut configured = self.clone();
        let criterion = &mut configured.criterion;
        for setting in self.settings() {
            let field = match setting.alias {
                Some(alias) => fields.take_either(setting.key, alias),
                None => fields.take(setting.key),
            };
            let Some(field) = field else { continue };
            match setting.key {
                "rubrics" => criterion.rubrics = read_rubrics(field),
                "stop_signal" => criterion.stop_signal = field.sentence().unwrap_or_default(),
                key => {
                    let flag = field.flag().unwrap_or_default();
                    let is_answer = key == INTERMEDIATE.key;
                    let set = if is_answer {
                        &mut criterion.include_intermediate
                    } else {
                        &mut criterion.check_intermediate
                    };
                    *set = flag;
                }
            }
        }
        Some(Arc::new(configured))
    }

    fn unavailable(&self) -> Option<&str> {
        self.judge.is_none().then_some(SERVICE)
    }

    fn asks_judge(&self) -> bool {
        true
    }

    fn compares_golden_turns(&self) -> bool {
        self.compares
    }

    fn revision(&self) -> Option<&str> {
        self.revision
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        match input.golden_turns() {
            Err(not_evaluated) if self.compares_golden_turns() => not_evaluated,
            _ => {
                let reason = self.unavailable().unwrap_or(NO_MODEL);
                Outcome::Failed { reason: format!("{} {reason}", self.name) }
            }
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
    use evaluator_json::{Object, parse_python};
    use evaluator_metrics::Metrics;
    use evaluator_traces::eval_set::{EvalCase, Unmatched};

    #[test]
    fn only_metrics_that_compare_ask_for_a_golden_case_first() {
        let evaluate = |name: &str, golden| {
            let metric = JudgeMetric::all().find(|metric| metric.name() == name).unwrap();
            metric.evaluate(&MetricInput::new(&[], golden, 0.5))
        };
        let missing = Err(&Unmatched::NoEvalSet);
        let case = EvalCase::default();
        let outcome = evaluate("final_response_match_v2", missing);
        assert!(matches!(outcome, Outcome::NotEvaluated { .. }), "{outcome:?}");
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
        let metric = JudgeMetric::all()
            .find(|metric| metric.name() == "rubric_based_tool_use_quality_v1")
            .unwrap();
        let name = metric.name().to_owned();
        let mut metrics = Metrics::default();
        metrics.register(metric);
        let rubrics = r#"["Books once.", {"id": "polite", "text": "Says please."}, "Pays."]"#;
        let rubrics = ("rubrics".to_owned(), parse_python(rubrics).unwrap());
        let metric = metrics.configured(&name, &[rubrics].into_iter().collect()).unwrap();
        let (judge, criterion) = JudgeMetric::judge_of(&*metric).unwrap();
        assert_eq!(judge.name(), metric.name());
        let ids: Vec<&str> = criterion.rubrics.iter().map(|rubric| rubric.id.as_str()).collect();
        assert_eq!(ids, ["rubric_0", "polite", "rubric_2"]);
        let judges = |metric: &JudgeMetric| JudgeMetric::judge_of(metric).is_some();
        assert_eq!(JudgeMetric::all().filter(judges).count(), 6);
        assert!(JudgeMetric::all().all(|metric| metric.unavailable().is_some() != judges(&metric)));
    }

    #[test]
    fn a_registered_judge_is_the_judge_of_its_metric() {
        let judge = super::super::judge("hallucinations_v1").unwrap();
        let mut metrics = Metrics::default();
        metrics.register(JudgeMetric::new(judge, "Looks for statements.", false));
        let metric = metrics.configured("hallucinations_v1", &Object::default()).unwrap();
        let (judge, _) = JudgeMetric::judge_of(&*metric).unwrap();
        assert_eq!((judge.name(), metric.revision()), ("hallucinations_v1", None));
        let computed = metrics.get("tool_trajectory_avg_score").unwrap();
        assert!(JudgeMetric::judge_of(&*computed).is_none());
    }
}
