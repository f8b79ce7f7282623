//! Every evaluator on every conversation, a bounded number at a time.

use std::{
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use evaluator_protocol::{Description, decode};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    Plan, PlannedEvaluator, RunEvent, Runner,
    document::Turns,
    plan::{Program, Work},
};
use crate::{
    conversation::Conversation,
    eval_set::{self, EvalCase, EvalSet, Unmatched},
    metric::MetricInput,
    pool::Pool,
    process::{self, Cancellation, Ending, Limits},
    report::EvaluationReport,
    verdict::{Evaluation, Status, Verdict},
};

/// Time a program may take to describe itself.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(10);

/// Time a worker may take to end when there is nothing left to do.
const LAST_PATIENCE: Duration = Duration::from_millis(200);

/// The evaluations of each usable conversation, both in their given order, however they finish.
pub(super) async fn all(
    runner: &Runner,
    plan: Plan,
    conversations: &Arc<Vec<Conversation>>,
    eval_set: Option<&EvalSet>,
    on_event: &mut dyn FnMut(RunEvent),
) -> Vec<Vec<EvaluationReport>> {
    let subjects: Vec<Arc<Subject>> = (0..conversations.len())
        .filter(|index| {
            conversations[*index].error.is_none() && !conversations[*index].turns.is_empty()
        })
        .map(|index| Subject::new(conversations, index, eval_set))
        .map(Arc::new)
        .collect();
    let evaluators: Vec<Arc<Ready>> = ready(runner, plan, subjects.len()).await;
    let total = subjects.len() * evaluators.len();
    let permits = Arc::new(Semaphore::new(runner.jobs.get()));
    let mut tasks = JoinSet::new();
    for (row, subject) in subjects.iter().enumerate() {
        for (column, evaluator) in evaluators.iter().enumerate() {
            let (subject, evaluator, permits) =
                (Arc::clone(subject), Arc::clone(evaluator), Arc::clone(&permits));
            tasks.spawn(async move {
                // The semaphore is never closed; a task without a permit is as good as one with it.
                let _permit = permits.acquire().await;
                (row, column, evaluator.evaluate(&subject).await)
            });
        }
    }
    let mut grid: Vec<Vec<Option<EvaluationReport>>> =
        vec![vec![None; evaluators.len()]; subjects.len()];
    let (mut done, mut errored) = (0, 0);
    while let Some(joined) = tasks.join_next().await {
        // A task that panicked leaves its place empty; it is filled below.
        let Ok((row, column, evaluation)) = joined else { continue };
        done += 1;
        errored += usize::from(evaluation.error.is_some());
        grid[row][column] = Some(evaluation);
        on_event(RunEvent::Evaluated { done, total, errored });
    }
    let reports = grid
        .into_iter()
        .map(|row| {
            let filled = row.into_iter().zip(&evaluators);
            filled.map(|(report, evaluator)| report.unwrap_or_else(|| evaluator.lost())).collect()
        })
        .collect();
    for evaluator in evaluators {
        if let Some(evaluator) = Arc::into_inner(evaluator) {
            evaluator.close().await;
        }
    }
    reports
}

/// A conversation with its golden case and the text that all evaluators read of it.
struct Subject {
    conversations: Arc<Vec<Conversation>>,
    index: usize,
    case: Result<EvalCase, Unmatched>,
    turns: OnceLock<Turns>,
}

impl Subject {
    fn new(
        conversations: &Arc<Vec<Conversation>>,
        index: usize,
        eval_set: Option<&EvalSet>,
    ) -> Self {
        let case = eval_set::match_case(eval_set, &conversations[index], conversations.len());
        let case = case.cloned();
        Self { conversations: Arc::clone(conversations), index, case, turns: OnceLock::new() }
    }

    fn conversation(&self) -> &Conversation {
        &self.conversations[self.index]
    }

    fn turns(&self) -> &Turns {
        self.turns.get_or_init(|| Turns::new(self.conversation(), self.case.as_ref().ok()))
    }
}

/// A planned evaluator with what it needs while the run lasts.
struct Ready {
    evaluator: PlannedEvaluator,
    /// Warm workers, if the program streams.
    pool: Option<Pool>,
    cancellation: Cancellation,
}

async fn ready(runner: &Runner, plan: Plan, evaluations: usize) -> Vec<Arc<Ready>> {
    let mut ready = Vec::with_capacity(plan.evaluators.len());
    for evaluator in plan.evaluators {
        let pool = match &evaluator.work {
            Work::Program(program) if evaluations > 0 => pool(program, runner, evaluations).await,
            _ => None,
        };
        ready.push(Arc::new(Ready { evaluator, pool, cancellation: runner.cancellation.clone() }));
    }
    ready
}

/// Workers for a program that has the streaming form and says so.
async fn pool(program: &Program, runner: &Runner, evaluations: usize) -> Option<Pool> {
    let worker = program.worker.clone()?;
    let describe = program.one_shot.clone().arg("--describe");
    let limits = Limits::with_timeout(DESCRIBE_LIMIT.min(program.timeout));
    let outcome = process::run(&describe, b"", &limits, &runner.cancellation).await;
    // A program that was not written with an SDK does not know the argument; whatever it does then is no description.
    let description: Description = match outcome.ending {
        Ending::Exited(0) => decode(outcome.stdout.head()).ok()?,
        _ => return None,
    };
    let size = NonZeroUsize::new(evaluations)
        .map_or(runner.jobs, |evaluations| runner.jobs.min(evaluations));
    description
        .streams()
        .then(|| Pool::new(worker, size, Limits::default(), runner.cancellation.clone()))
}

impl Ready {
    async fn evaluate(&self, subject: &Subject) -> EvaluationReport {
        let evaluation = match &self.evaluator.work {
            Work::Broken(verdict) => Evaluation::without_process(verdict.clone(), Duration::ZERO),
            Work::Metric { metric, settings } => {
                let begun = Instant::now();
                let input = MetricInput {
                    turns: &subject.conversation().turns,
                    golden: subject.case.as_ref(),
                    threshold: self.evaluator.threshold,
                    settings,
                };
                let verdict = metric.evaluate(&input);
                Evaluation::without_process(verdict, begun.elapsed())
            }
            Work::Program(program) => {
                let document = subject.turns().document(
                    &self.evaluator.name,
                    self.evaluator.threshold,
                    &program.config,
                );
                match &self.pool {
                    Some(pool) => pool.evaluate(document.as_bytes(), program.timeout).await,
                    None => {
                        let limits = Limits::with_timeout(program.timeout);
                        let outcome = process::run(
                            &program.one_shot,
                            document.as_bytes(),
                            &limits,
                            &self.cancellation,
                        )
                        .await;
                        Evaluation::from_outcome(&outcome)
                    }
                }
            }
        };
        self.report(evaluation)
    }

    fn report(&self, evaluation: Evaluation) -> EvaluationReport {
        let name = &self.evaluator.name;
        let error = evaluation.verdict.explain(name, &evaluation.stderr_tail);
        let error_type = evaluation.verdict.error_type();
        let status = evaluation.status(self.evaluator.threshold).unwrap_or(Status::NotEvaluated);
        let never_began = matches!(self.evaluator.work, Work::Broken(_));
        let answer = match evaluation.verdict {
            Verdict::Answer(answer) => answer,
            _ => Default::default(),
        };
        EvaluationReport {
            name: name.clone(),
            score: answer.score,
            status,
            per_invocation_scores: answer.per_invocation_scores,
            duration: (!never_began).then_some(evaluation.duration),
            error,
            error_type,
            details: answer.details,
        }
    }

    /// The report of an evaluation whose task died: a defect of this program, which must not look like an answer.
    fn lost(&self) -> EvaluationReport {
        let reason = "the evaluation was lost inside the host".to_owned();
        self.report(Evaluation::without_process(Verdict::MetricFailed { reason }, Duration::ZERO))
    }

    async fn close(self) {
        if let Some(pool) = self.pool {
            pool.shutdown(LAST_PATIENCE).await;
        }
    }
}
