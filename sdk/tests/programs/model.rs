//! Evaluators that ask a model, one for each way to take it as an argument: `FIXTURE` says which one this program is.

use std::process::ExitCode;

use evaluator_sdk::{
    EvalInput, Score, evaluator,
    target::{TargetClient, TargetError},
};

fn ask(target: &TargetClient) -> Result<Score, TargetError> {
    Ok(Score::from(target.invoke("Is it good?")?.text()? == "yes"))
}

fn ask_if_there(target: Option<TargetClient>) -> Result<Score, TargetError> {
    target.as_ref().map_or(Ok(Score::ratio(1, 2)), ask)
}

#[evaluator]
fn optional(_: &EvalInput, target: Option<TargetClient>) -> Result<Score, TargetError> {
    ask_if_there(target)
}

#[evaluator]
fn needed(target: TargetClient) -> Result<Score, TargetError> {
    ask(&target)
}

#[evaluator(contract = agentv)]
fn agentv(model: Option<TargetClient>) -> Result<Score, TargetError> {
    ask_if_there(model)
}

#[evaluator(contract = adk)]
fn adk(target: Option<TargetClient>) -> Result<Score, TargetError> {
    ask_if_there(target)
}

#[evaluator(contract = agenta)]
fn agenta(output: &str, model: Option<TargetClient>) -> Result<Score, TargetError> {
    if output.is_empty() { Ok(Score::ZERO) } else { ask_if_there(model) }
}

fn main() -> ExitCode {
    match std::env::var("FIXTURE").as_deref() {
        Ok("optional") => optional::run(),
        Ok("needed") => needed::run(),
        Ok("agentv") => agentv::run(),
        Ok("adk") => adk::run(),
        Ok("agenta") => agenta::run(),
        _ => ExitCode::from(99),
    }
}
