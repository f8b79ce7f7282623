//! Every evaluator on every conversation, a bounded number at a time.

use std::{any::Any, collections::HashMap, sync::Arc};

use tokio::{
    sync::Semaphore,
    task::{JoinError, JoinSet},
};

use super::{Plan, RunEvent, Runner, ready::Ready, subject::Subject};
use crate::report::EvaluationReport;

/// The evaluations of each subject, both in their given order, however they finish.
pub(super) async fn all(
    runner: &Runner,
    plan: Plan,
    subjects: &[Arc<Subject>],
    on_event: &mut dyn FnMut(RunEvent),
) -> Vec<Vec<EvaluationReport>> {
    let evaluators: Vec<Arc<Ready>> = plan
        .evaluators
        .into_iter()
        .map(|evaluator| Arc::new(Ready::new(evaluator, runner, subjects.len())))
        .collect();
    let total = subjects.len() * evaluators.len();
    on_event(RunEvent::Evaluating { total });
    let permits = Arc::new(Semaphore::new(runner.jobs.get().min(Semaphore::MAX_PERMITS)));
    let mut tasks = JoinSet::new();
    let mut places = HashMap::new();
    for (row, subject) in subjects.iter().enumerate() {
        for (column, evaluator) in evaluators.iter().enumerate() {
            let (subject, evaluator, permits) =
                (Arc::clone(subject), Arc::clone(evaluator), Arc::clone(&permits));
            let task = tasks.spawn(async move { evaluator.evaluate(&subject, &permits).await });
            places.insert(task.id(), (row, column));
        }
    }
    let mut grid: Vec<Vec<Option<EvaluationReport>>> =
        vec![vec![None; evaluators.len()]; subjects.len()];
    let (mut done, mut errored) = (0, 0);
    while let Some(joined) = tasks.join_next_with_id().await {
        let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(&(row, column)) = places.get(&id) else { continue };
        let evaluator = &evaluators[column];
        let evaluation = match joined {
            Ok((_, evaluation)) => evaluation,
            Err(error) => evaluator.lost(&died(error)),
        };
        let stderr = evaluation.stderr_tail.clone();
        let turns = subjects[row].conversation().turns.len();
        let report = evaluator.report(evaluation, turns);
        done += 1;
        errored += usize::from(report.error.is_some());
        on_event(RunEvent::Evaluated {
            evaluator: report.name.clone(),
            trace_id: Arc::clone(&subjects[row].conversation().trace_id),
            error: report.error.clone(),
            warnings: report.warnings.clone(),
            stderr,
            done,
            total,
            errored,
        });
        grid[row][column] = Some(report);
    }
    let reports = grid
        .into_iter()
        .map(|row| {
            let row = row.into_iter().zip(&evaluators);
            row.map(|(report, evaluator)| {
                report.unwrap_or_else(|| evaluator.report(evaluator.lost("was lost"), 0))
            })
            .collect()
        })
        .collect();
    for evaluator in evaluators {
        if let Some(evaluator) = Arc::into_inner(evaluator) {
            evaluator.close().await;
        }
    }
    reports
}

/// How a task died, to be read after a name.
fn died(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => format!("panicked: {}", message_of(panic.as_ref())),
        Err(_) => "was given up".to_owned(),
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it does not say why")
}
