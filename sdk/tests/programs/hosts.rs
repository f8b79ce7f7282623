//! Evaluators for the documents of every host.

use std::{collections::BTreeMap, process::ExitCode};

use evaluator_sdk::{
    EvalInput, EvalResult, Expected, Invocations, JsonObject, Score, evaluator,
    protocol::{agenta::EvaluateResult, agentv::CodeJudgeInput},
    run_any,
};
use serde_json::Value;

/// Does not look at the document.
#[evaluator]
fn steady(_: &EvalInput) -> Result<Score, std::fmt::Error> {
    Ok(Score::ratio(3, 4))
}

/// Compares the last answers.
#[evaluator]
fn same_answer(turns: Invocations<'_>, golden: Option<Expected<'_>>) -> EvalResult {
    let Some(golden) = golden else {
        return EvalResult::not_evaluated("nothing to compare with");
    };
    let last = |turns: &[evaluator_sdk::InvocationData]| turns.last()?.final_response.clone();
    EvalResult::new(Score::from(last(&turns) == last(&golden))).detail("expected", last(&golden))
}

#[evaluator(contract = agentv)]
fn for_agentv(_: &CodeJudgeInput) -> Score {
    Score::ratio(1, 4)
}

#[evaluator(contract = adk)]
fn for_adk(actual_invocations: Vec<Value>) -> bool {
    !actual_invocations.is_empty()
}

/// As Agenta's guide has it.
#[evaluator(contract = agenta)]
#[expect(clippy::needless_pass_by_value, reason = "it is what is tested")]
fn for_agenta(
    app_params: BTreeMap<String, String>,
    inputs: BTreeMap<String, String>,
    output: &str,
    correct_answer: String,
) -> f64 {
    assert!(app_params.is_empty() && inputs.contains_key("country"));
    if output == correct_answer { 1.0 } else { 0.0 }
}

/// As interface v3 has it.
#[evaluator(contract = agenta)]
#[expect(clippy::needless_pass_by_value, reason = "it is what is tested")]
fn rich(inputs: JsonObject, outputs: Value, trace: Option<JsonObject>) -> EvaluateResult {
    let spans = trace.map_or(Value::Null, |trace| trace["spans"].clone());
    let result = EvaluateResult::new(Score::ratio(1, 2));
    result.metric("inputs", inputs.len()).metric("outputs", outputs).metric("spans", spans)
}

/// The program of that name.
pub(crate) fn run(fixture: &str) -> Option<ExitCode> {
    Some(match fixture {
        "steady" => steady::run(),
        "same_answer" => same_answer::run(),
        "for_agentv" => for_agentv::run(),
        "for_adk" => for_adk::run(),
        "for_agenta" => for_agenta::run(),
        "rich" => rich::run(),
        "steady and same_answer" => run_any(&[steady::EVALUATOR, same_answer::EVALUATOR]),
        _ => return None,
    })
}
