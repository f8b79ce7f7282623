//! A test: its output, its evaluators, its score.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use evaluator_judging::call;
use evaluator_models::{Message, Request};
use futures_util::future::join_all;

use super::{
    Shared,
    evaluate::{Subject, evaluate},
    payload,
    plan::{Planned, Source},
    wording,
};
use crate::{
    model::Test,
    output::Output,
    report::{EvaluatorResult, Status, TestResult},
    targets::{Invocation, Ran},
};

/// Runs a test. Its result holds no secret of this machine, whatever programs and models say.
pub(super) async fn run(shared: &Shared, planned: &Planned) -> TestResult {
    let started = Instant::now();
    let mut result = result(shared, planned).await;
    result.redact(&|text| shared.plan.targets.session.redact(text));
    result.duration = started.elapsed();
    result
}

async fn result(shared: &Shared, planned: &Planned) -> TestResult {
    let Planned { test, threshold, source, judge, tested } = planned;
    let output = match shared.plan.targets.cancellation.is_cancelled() {
        true => Err("the run was stopped before this test".to_owned()),
        false => output(shared, test, source).await,
    };
    let output = output.and_then(|output| output.check().map(|()| output));
    let evaluators = match &output {
        Ok(output) => {
            let (threshold, judge, tested) = (*threshold, judge.as_deref(), tested.as_ref());
            let subject = Subject { test, output, threshold, judge, tested };
            join_all(test.evaluators.iter().map(|it| evaluate(shared, it, subject, false))).await
        }
        Err(_) => Vec::new(),
    };
    finished(test, *threshold, evaluators, output.err())
}

/// Scores a test. An error of an evaluator is an error of the test. `error`: there is no output.
fn finished(
    test: &Test,
    threshold: f64,
    evaluators: Vec<EvaluatorResult>,
    error: Option<String>,
) -> TestResult {
    let mut warnings = Vec::new();
    let is_broken = evaluators.iter().any(|evaluator| evaluator.status == Status::Error);
    let score = (!is_broken && error.is_none()).then(|| {
        let weight = |evaluator: &EvaluatorResult| evaluator.weight.unwrap_or(1.0);
        let total: f64 = evaluators.iter().map(weight).sum();
        let sum: f64 = evaluators.iter().map(|it| weight(it) * it.score.unwrap_or_default()).sum();
        let is_gated = evaluators
            .iter()
            .any(|it| it.required.is_some_and(|least| it.score.is_some_and(|score| score < least)));
        if total <= 0.0 {
            warnings.push("all weights are 0, so the score is 0".to_owned());
        }
        if is_gated || total <= 0.0 { 0.0 } else { sum / total }
    });
    let status = match score {
        None => Status::Error,
        Some(score) if score >= threshold => Status::Passed,
        Some(_) => Status::Failed,
    };
    if status == Status::Passed {
        let missed = evaluators.iter().filter(|evaluator| !evaluator.missed.is_empty());
        warnings.extend(missed.map(|it| {
            format!(
                "it passes by its score, though `{}` misses what is required: {}",
                it.name,
                it.missed.join(", ")
            )
        }));
    }
    let proxies =
        evaluators.iter().filter_map(|it| Some((it, it.proxy.as_ref()?.warning.as_ref()?)));
    warnings.extend(proxies.map(|(it, warning)| format!("`{}`: {warning}", it.name)));
    warnings.extend(evaluators.iter().flat_map(asked_again));
    let (id, duration) = (test.id.clone(), Duration::ZERO);
    TestResult { id, status, score, threshold, error, warnings, evaluators, duration }
}

/// Returns a warning for each judge, also of members, whose first reply does not count.
fn asked_again(evaluator: &EvaluatorResult) -> Vec<String> {
    let asked = evaluator.judge.as_ref().map_or(0, |judge| judge.attempts);
    let counts = asked > 1 && evaluator.status != Status::Error;
    let own = counts.then(|| {
        let name = &evaluator.name;
        format!("`{name}`: its judge was asked {asked} times until a reply could be read")
    });
    own.into_iter().chain(evaluator.members.iter().flat_map(asked_again)).collect()
}

/// Returns the output that is graded.
async fn output(shared: &Shared, test: &Test, source: &Source) -> Result<Output, String> {
    match source {
        Source::Recorded(output) => output.clone().map(|output| *output),
        Source::Model(connection) => {
            let request = Request {
                params: connection.settings().params.clone(),
                location: format!("test {}, the tested target", test.id),
                ..Request::new(vec![Message::user(wording::question(test))])
            };
            let answer = call(Arc::clone(connection), 0, request, None).await;
            let reply = answer.map_err(|error| error.to_string())?.reply;
            let text = reply.readable();
            text.map(Output::of_text).map_err(|why| format!("the reply of the target is {why}"))
        }
        Source::Command(command, places) => {
            let prompt = wording::prompt(test, shared.plan.suite.is_v2());
            let files: Vec<PathBuf> = payload::files(test).map(PathBuf::from).collect();
            let directory = &shared.plan.suite.directory;
            let mut invocation = Invocation::new(command, directory, &prompt, &test.id);
            invocation.files = &files;
            let worker = match places {
                // It is never closed.
                Some(places) => places.acquire().await.ok(),
                None => None,
            };
            let output = run_command(shared, invocation).await;
            drop(worker);
            output
        }
    }
}

/// Runs a command, again if it took too long.
async fn run_command(shared: &Shared, invocation: Invocation<'_>) -> Result<Output, String> {
    let targets = &shared.plan.targets;
    let retries = shared.plan.options.max_retries;
    let mut attempt = 0;
    loop {
        let invocation = Invocation { attempt, ..invocation };
        let place = shared.places.acquire().await;
        let ran = invocation.run(targets.variables(), &targets.cancellation).await;
        drop(place);
        match ran {
            Ran::Output { text, duration } => {
                let mut output = Output::read(&text).map_err(|reason| {
                    format!("the output of the target cannot be used: {reason}")
                })?;
                // The time of the command stands in for one that is not recorded.
                output.duration_ms.get_or_insert(duration.as_secs_f64() * 1000.0);
                return Ok(output);
            }
            Ran::TimedOut(_) if attempt < retries => attempt = attempt.saturating_add(1),
            Ran::TimedOut(limit) => {
                let count = attempt.saturating_add(1);
                return Err(format!(
                    "the command of the target took longer than {} s ({count} of {count} attempts)",
                    limit.as_secs_f64()
                ));
            }
            Ran::Cancelled => return Err("the run was stopped".to_owned()),
            Ran::Failed(reason) => return Err(reason),
        }
    }
}
