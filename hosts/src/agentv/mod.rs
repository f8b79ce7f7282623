//! AgentV: documents of a code judge, code grader or script grader of any generation, and their answers.

mod answer;
mod conform;
mod document;
mod export;

use evaluator_protocol::Contract;

use super::{
    Answer, BadAnswer, Defaults, ForeignContract, ForeignHost, Keys, Settings,
    serve::{add, object},
};
use crate::{
    conversation::Conversation,
    eval_set::EvalCase,
    json::{Object, Value},
};

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "agentv",
    title: "AgentV",
    contract: Contract::AgentV,
    foreign: Some(&AgentV),
    suite: Some(conform::SUITE),
    exporter: Some(export::EXPORTER),
};

#[derive(Debug)]
struct AgentV;

const CRITERIA_HINT: &str = "give `criteria` in the `config` of its entry";
const REFERENCE_HINT: &str = "give an eval set with an expected answer for the last turn";

const KEYS: Keys = Keys {
    answer: &["hits", "misses", "assertions", "checks", "reasoning", "pass"],
    bare_answers: false,
    document: &[
        "candidate_answer",
        "expected_outcome",
        "reference_answer",
        "expected_messages",
        "input_messages",
        "output_messages",
        "trace_summary",
    ],
    source: &[
        "candidate_answer",
        "candidateAnswer",
        "expected_messages",
        "input_messages",
        "output_messages",
        "trace_summary",
        "traceSummary",
    ],
    optional: &[
        ("criteria", CRITERIA_HINT),
        ("expected_outcome", CRITERIA_HINT),
        ("reference_answer", REFERENCE_HINT),
        ("expected_output_text", REFERENCE_HINT),
    ],
};

impl ForeignContract for AgentV {
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

    fn answer(&self, answer: Value, _turns: usize) -> Result<Answer, BadAnswer> {
        answer::answer(answer)
    }

    /// The threshold is AgentV's own, and not part of the document.
    fn add_defaults(&self, document: &mut Object, defaults: &Defaults) -> Option<()> {
        add(object(document, &["config"])?, &defaults.config);
        Some(())
    }
}
