//! Tests of the examples: those in the sources of the programs, here as modules, and the programs themselves. One
//! binary is linked faster than one for each program.

#![expect(dead_code, reason = "the `main` of each program and what only it calls")]

mod guides;

#[path = "../../adk/exact_match.rs"]
mod adk_exact_match;
#[path = "../../adk/profanity.rs"]
mod adk_profanity;
#[path = "../../agenta/cited_answer.rs"]
mod agenta_cited_answer;
#[path = "../../agenta/exact_match.rs"]
mod agenta_exact_match;
#[path = "../../evaluators/consensus.rs"]
mod consensus;
#[path = "../../agentv/contextual_precision.rs"]
mod contextual_precision;
#[path = "../../evaluators/exact_match.rs"]
mod exact_match;
#[path = "../../agentv/execution_metrics.rs"]
mod execution_metrics;
#[path = "../../agentv/expected_outcome.rs"]
mod expected_outcome;
#[path = "../../evaluators/hygiene.rs"]
mod hygiene;
#[path = "../../evaluators/json_shape.rs"]
mod json_shape;
#[path = "../../agentv/keyword_check.rs"]
mod keyword_check;
#[path = "../../generator/main.rs"]
mod make_traces;
#[path = "../../evaluators/raw.rs"]
mod raw;
#[path = "../../evaluators/response_quality.rs"]
mod response_quality;
#[path = "../../evaluators/retrieval_precision.rs"]
mod retrieval_precision;
#[path = "../../evaluators/tool_call_checker.rs"]
mod tool_call_checker;
#[path = "../../evaluators/tool_check.rs"]
mod tool_check;
