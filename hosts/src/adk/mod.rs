//! Google ADK: documents of a custom metric, and its `EvaluationResult`.

mod answer;
mod conform;
mod document;
mod export;

use evaluator_protocol::{Contract, Reply};

use super::{
    Defaults, ForeignContract, ForeignHost, Functions, Question,
    serve::{add, add_threshold, object},
};
use crate::json::Object;

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "adk",
    title: "Google ADK",
    contract: Contract::Adk,
    foreign: Some(&CONTRACT),
    suite: Some(conform::SUITE),
    exporter: Some(export::EXPORTER),
};

static CONTRACT: ForeignContract = ForeignContract {
    answer_keys: &[
        "overall_score",
        "overall_eval_status",
        "per_invocation_results",
        "overallScore",
        "overallEvalStatus",
        "perInvocationResults",
    ],
    document_keys: &["actual_invocations", "eval_metric"],
    source_keys: &["actual_invocations", "actualInvocations"],
    functions: Some(Functions {
        name: None,
        is_called: |_, parameters| {
            ["eval_metric", "actual_invocations"]
                .iter()
                .all(|wanted| parameters.iter().any(|parameter| parameter == wanted))
        },
    }),
    names_evaluator: true,
    states_status: true,
    question: |document, name, defaults| {
        let has_threshold = matches!(document.reply(), Reply::Adk { threshold: Some(_), .. });
        Question::convert(document, name, defaults, has_threshold)
    },
    ..ForeignContract::new(document::document, answer::answer, add_defaults)
};

/// Adds settings to the criterion.
fn add_defaults(document: &mut Object, defaults: &Defaults) -> Option<()> {
    let metric = object(document, &["eval_metric", "evalMetric"])?;
    let has_threshold = metric.get("threshold").is_some_and(|given| !given.is_null());
    let criterion = object(metric, &["criterion"])?;
    add(criterion, &defaults.config);
    add_threshold(criterion, defaults.threshold.filter(|_| !has_threshold));
    Some(())
}
