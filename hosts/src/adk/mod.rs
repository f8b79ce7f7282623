//! Google ADK: documents of a custom metric, and its `EvaluationResult`.

mod answer;
mod conform;
mod document;
mod export;

use evaluator_protocol::{Contract, DecodeError, Document, Reply};

use super::{
    Answer, BadAnswer, Defaults, ForeignContract, ForeignHost, Functions, Keys, Question, Settings,
    serve::{add, add_threshold, object},
};
use crate::{
    conversation::Conversation,
    eval_set::EvalCase,
    json::{Object, Value},
};

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "adk",
    title: "Google ADK",
    contract: Contract::Adk,
    foreign: Some(&Adk),
    suite: Some(conform::SUITE),
    exporter: Some(export::EXPORTER),
};

#[derive(Debug)]
struct Adk;

const KEYS: Keys = Keys {
    answer: &[
        "overall_score",
        "overall_eval_status",
        "per_invocation_results",
        "overallScore",
        "overallEvalStatus",
        "perInvocationResults",
    ],
    bare_answers: false,
    document: &["actual_invocations", "eval_metric"],
    source: &["actual_invocations", "actualInvocations"],
    optional: &[],
};

const METRICS: Functions = Functions {
    name: None,
    is_called: |_, parameters| {
        ["eval_metric", "actual_invocations"]
            .iter()
            .all(|wanted| parameters.iter().any(|parameter| parameter == wanted))
    },
};

impl ForeignContract for Adk {
    fn keys(&self) -> &'static Keys {
        &KEYS
    }

    fn document(
        &self,
        settings: &Settings,
        conversation: &Conversation,
        case: Option<&EvalCase>,
    ) -> Value {
        document::document(settings, conversation, case)
    }

    fn answer(&self, answer: Value, turns: usize) -> Result<Answer, BadAnswer> {
        answer::answer(answer, turns)
    }

    fn add_defaults(&self, document: &mut Object, defaults: &Defaults) -> Option<()> {
        let metric = object(document, &["eval_metric", "evalMetric"])?;
        let has_threshold = metric.get("threshold").is_some_and(|given| !given.is_null());
        let criterion = object(metric, &["criterion"])?;
        add(criterion, &defaults.config);
        add_threshold(criterion, defaults.threshold.filter(|_| !has_threshold));
        Some(())
    }

    fn question(
        &self,
        document: Document,
        name: &str,
        defaults: &Defaults,
    ) -> Result<Question, DecodeError> {
        let has_threshold = matches!(document.reply(), Reply::Adk { threshold: Some(_), .. });
        Question::convert(document, name, defaults, has_threshold)
    }

    fn functions(&self) -> Option<&'static Functions> {
        Some(&METRICS)
    }

    fn names_evaluator(&self) -> bool {
        true
    }

    fn states_status(&self) -> bool {
        true
    }
}
