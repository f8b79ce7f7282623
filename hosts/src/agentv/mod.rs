//! AgentV: documents of a code judge, code grader or script grader of any generation, and their answers.

mod answer;
mod conform;
mod document;
mod export;

use evaluator_protocol::Contract;

use super::{
    ForeignContract, ForeignHost,
    serve::{add, object},
};

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "agentv",
    title: "AgentV",
    contract: Contract::AgentV,
    foreign: Some(&CONTRACT),
    suite: Some(conform::SUITE),
    exporter: Some(export::EXPORTER),
};

const CRITERIA_HINT: &str = "give `criteria` in the `config` of its entry";
const REFERENCE_HINT: &str = "give an eval set with an expected answer for the last turn";

static CONTRACT: ForeignContract = ForeignContract {
    answer_keys: &["hits", "misses", "assertions", "checks", "reasoning", "pass"],
    document_keys: &[
        "candidate_answer",
        "expected_outcome",
        "reference_answer",
        "expected_messages",
        "input_messages",
        "output_messages",
        "trace_summary",
    ],
    source_keys: &[
        "candidate_answer",
        "candidateAnswer",
        "expected_messages",
        "input_messages",
        "output_messages",
        "trace_summary",
        "traceSummary",
    ],
    optional_keys: &[
        ("criteria", CRITERIA_HINT),
        ("expected_outcome", CRITERIA_HINT),
        ("reference_answer", REFERENCE_HINT),
        ("expected_output_text", REFERENCE_HINT),
    ],
    // The threshold is AgentV's own, and not part of the document.
    ..ForeignContract::new(document::document, answer::answer, |document, defaults| {
        add(object(document, &["config"])?, &defaults.config);
        Some(())
    })
};
