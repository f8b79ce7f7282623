//! An evaluator, by its type.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::{
    Context, composite, judge, program,
    subject::{Evaluated, Subject},
};
use crate::{
    grade::{self, Score},
    model::{Check, Evaluator, Gate, TextCheck},
    report::{EvaluatorResult, Status},
};

/// Score from which on an evaluator passes.
pub(super) const PASS: f64 = 0.8;

/// Score from which on a failed evaluator is shown as borderline.
pub(super) const BORDERLINE: f64 = 0.6;

/// Time limit of a search by a pattern, which may take exponential time.
const SEARCH: Duration = Duration::from_secs(10);

/// Evaluates an output. `is_member`: the evaluator is a member of a composite. Boxed, because composites contain evaluators.
pub(super) fn evaluate<'e>(
    context: Context<'e>,
    evaluator: &'e Evaluator,
    subject: Subject<'e>,
    is_member: bool,
) -> BoxFuture<'e, EvaluatorResult> {
    Box::pin(async move {
        let evaluated = check(context, evaluator, subject).await;
        result(evaluator, evaluated, subject, is_member)
    })
}

async fn check(context: Context<'_>, evaluator: &Evaluator, subject: Subject<'_>) -> Evaluated {
    let Subject { test, output, .. } = subject;
    let answer = || output.answer().unwrap_or_default();
    match &evaluator.check {
        Check::Text(_) | Check::Fields(_) if output.answer().is_none() => {
            let reason = "there is no answer to grade: no message of the assistant has `content`";
            Err(reason.to_owned()).into()
        }
        Check::Text(text) if grade::needs_search(text) => {
            search(text.clone(), answer().into_owned()).await.into()
        }
        Check::Text(text) => Ok(grade::text(text, &answer())).into(),
        Check::Trajectory(trajectory) => Ok(grade::trajectory(trajectory, output)).into(),
        Check::Fields(fields) => grade::fields(fields, &answer(), &test.expected).into(),
        Check::Limits(limits) => grade::limits(limits, output).into(),
        Check::Judge(asked) => judge::judge(context, evaluator, asked, subject).await,
        Check::Program(program) => program::judge(context, program, subject).await,
        Check::Composite(composite) => {
            composite::evaluate(context, evaluator, composite, subject).await
        }
    }
}

/// Searches on a thread of its own, for a bounded time.
async fn search(check: TextCheck, answer: String) -> Result<Score, String> {
    let searching = tokio::task::spawn_blocking(move || grade::text(&check, &answer));
    match timeout(SEARCH, searching).await {
        Ok(Ok(score)) => Ok(score),
        Ok(Err(error)) => Err(format!("the search was abandoned: {error}")),
        Err(_) => Err(format!(
            "the search by the pattern took longer than {} s; its time may grow exponentially with the answer",
            SEARCH.as_secs()
        )),
    }
}

fn result(
    evaluator: &Evaluator,
    evaluated: Evaluated,
    subject: Subject<'_>,
    is_member: bool,
) -> EvaluatorResult {
    let required = match evaluator.gate {
        Gate::Open => None,
        Gate::Minimum(minimum) => Some(minimum),
        Gate::Threshold => Some(subject.threshold),
    };
    let mut result = EvaluatorResult {
        name: evaluator.name.clone(),
        kind: evaluator.kind.clone(),
        status: Status::Error,
        score: None,
        verdict: "error",
        weight: (!is_member).then_some(evaluator.weight),
        required,
        rows: Vec::new(),
        reason: None,
        missed: Vec::new(),
        judge: evaluated.judge,
        proxy: evaluated.proxy,
        members: evaluated.members,
    };
    let mut graded = match evaluated.score {
        Ok(graded) => graded,
        Err(reason) => return EvaluatorResult { reason: Some(reason), ..result },
    };
    if evaluator.negate {
        (graded.score, graded.passes) = (1.0 - graded.score, None);
        graded.rows.iter_mut().for_each(|row| row.passed = !row.passed);
    }
    let passes = graded.passes.unwrap_or(graded.score >= PASS);
    (result.status, result.verdict) = match passes {
        true => (Status::Passed, "pass"),
        false if (BORDERLINE..PASS).contains(&graded.score) => (Status::Failed, "borderline"),
        false => (Status::Failed, "fail"),
    };
    (result.score, result.rows, result.reason) = (Some(graded.score), graded.rows, graded.reason);
    result.missed = graded.missed;
    result
}
