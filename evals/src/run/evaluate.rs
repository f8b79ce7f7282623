//! An evaluator, by its type.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use tokio::time::timeout;

use super::{Shared, composite, judge, program};
use crate::{
    grade::{self, Row, Score},
    model::{Check, Evaluator, Gate, Test, TextCheck},
    output::Output,
    report::{EvaluatorResult, JudgeUse, ProxyUse, Status},
};

/// Score from which on an evaluator passes.
pub(super) const PASS: f64 = 0.8;

/// Time limit of a search by a pattern, which may take exponential time.
const SEARCH: Duration = Duration::from_secs(10);

/// The output of a test, and who judges it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'s> {
    pub(super) test: &'s Test,
    pub(super) output: &'s Output,
    /// Score from which on the test passes.
    pub(super) threshold: f64,
    /// Name of the judge of entries that name none.
    pub(super) judge: Option<&'s str>,
}

/// A score with everything that led to it.
#[derive(Debug, Default)]
pub(super) struct Graded {
    pub(super) score: f64,
    pub(super) rows: Vec<Row>,
    pub(super) reason: Option<String>,
    /// Whether it passes, if the score does not decide.
    pub(super) passes: Option<bool>,
    pub(super) missed: Vec<String>,
}

/// What an evaluator led to.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) graded: Result<Graded, String>,
    pub(super) judge: Option<JudgeUse>,
    pub(super) proxy: Option<ProxyUse>,
    pub(super) members: Vec<EvaluatorResult>,
}

impl Evaluated {
    pub(super) fn new(graded: Result<Graded, String>) -> Self {
        Self { graded, judge: None, proxy: None, members: Vec::new() }
    }
}

impl From<Score> for Graded {
    fn from(score: Score) -> Self {
        Self { score: score.score, rows: score.rows, reason: score.reason, ..Self::default() }
    }
}

impl From<judge::Judged> for Graded {
    fn from(judged: judge::Judged) -> Self {
        let judge::Judged { score, rows, reason, missed } = judged;
        let passes = (!missed.is_empty()).then_some(false);
        Self { score, rows, reason, passes, missed }
    }
}

/// A result that is awaited. Boxed, because composites contain evaluators.
pub(super) type Evaluation<'e> = Pin<Box<dyn Future<Output = EvaluatorResult> + Send + 'e>>;

/// Evaluates an output. `is_member`: the evaluator is a member of a composite.
pub(super) fn evaluate<'e>(
    shared: &'e Arc<Shared>,
    evaluator: &'e Evaluator,
    subject: Subject<'e>,
    is_member: bool,
) -> Evaluation<'e> {
    Box::pin(async move {
        let evaluated = check(shared, evaluator, subject).await;
        result(evaluator, evaluated, subject, is_member)
    })
}

async fn check(shared: &Arc<Shared>, evaluator: &Evaluator, subject: Subject<'_>) -> Evaluated {
    let Subject { test, output, judge, .. } = subject;
    match &evaluator.check {
        Check::Text(text) if grade::needs_search(text) => {
            Evaluated::new(search(text.clone(), output.answer().into_owned()).await)
        }
        Check::Text(text) => Evaluated::new(Ok(grade::text(text, &output.answer()).into())),
        Check::Trajectory(trajectory) => {
            Evaluated::new(Ok(grade::trajectory(trajectory, output).into()))
        }
        Check::Fields(fields) => {
            let graded = grade::fields(fields, &output.answer(), &test.expected);
            Evaluated::new(graded.map(Graded::from))
        }
        Check::Limits(limits) => Evaluated::new(grade::limits(limits, output).map(Graded::from)),
        Check::Judge(asked) => {
            let (judged, used) = judge::judge(shared, evaluator, asked, judge, test, output).await;
            Evaluated { judge: used, ..Evaluated::new(judged.map(Graded::from)) }
        }
        Check::Program(program) => {
            let answered =
                program::judge(shared, program, &evaluator.name, judge, test, output).await;
            let graded = answered.0.map(|answered| Graded {
                score: answered.score,
                rows: answered.rows,
                reason: answered.reason,
                ..Graded::default()
            });
            Evaluated { proxy: answered.1, ..Evaluated::new(graded) }
        }
        Check::Composite(composite) => {
            composite::evaluate(shared, evaluator, composite, subject).await
        }
    }
}

/// Searches on a thread of its own, for a bounded time.
async fn search(check: TextCheck, answer: String) -> Result<Graded, String> {
    let searching = tokio::task::spawn_blocking(move || grade::text(&check, &answer));
    match timeout(SEARCH, searching).await {
        Ok(Ok(score)) => Ok(score.into()),
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
        weight: (!is_member).then_some(evaluator.weight),
        required,
        rows: Vec::new(),
        reason: None,
        missed: Vec::new(),
        judge: evaluated.judge,
        proxy: evaluated.proxy,
        members: evaluated.members,
    };
    let graded = match evaluated.graded {
        Ok(graded) => graded,
        Err(reason) => return EvaluatorResult { reason: Some(reason), ..result },
    };
    let (mut score, mut rows) = (graded.score, graded.rows);
    let mut passes = graded.passes.unwrap_or(score >= PASS);
    if evaluator.negate {
        score = 1.0 - score;
        passes = score >= PASS;
        rows.iter_mut().for_each(|row| row.passed = !row.passed);
    }
    result.status = if passes { Status::Passed } else { Status::Failed };
    (result.score, result.rows, result.reason) = (Some(score), rows, graded.reason);
    result.missed = graded.missed;
    result
}
