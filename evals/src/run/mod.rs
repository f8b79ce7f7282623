//! Runs the tests of an eval file.
//!
//! | file | contents |
//! |---|---|
//! | `plan` | what each test needs, checked before anything runs |
//! | `test` | a test: its output, its evaluators, its score |
//! | `evaluate` | an evaluator by its type |
//! | `judge` | asking models |
//! | `program` | programs that judge, with their access to models |
//! | `composite` | combining results |
//! | `payload` | the document of programs |
//! | `wording` | questions, answers and tool calls as text |

mod composite;
mod evaluate;
mod judge;
mod payload;
mod plan;
mod program;
mod test;
mod wording;

use std::{num::NonZeroUsize, sync::Arc};

use evaluator_launch::process::Cancellation;
use evaluator_models::{Broker, Budget, Cancel, Cassette, ProxyServer};
use futures_util::{StreamExt as _, stream};
use tokio::sync::Semaphore;

pub use plan::{Options, Plan, PlanError, plan};

use crate::{
    report::{Report, TestResult},
    targets::Starter,
};

/// Maximum number of tests in progress. Tests that wait for models need no processor.
const IN_PROGRESS: usize = 64;

/// What a run shares.
#[derive(Debug)]
struct Shared {
    plan: Plan,
    broker: Arc<Broker>,
    budgets: Vec<Budget>,
    /// Started with the first program that may ask models.
    proxies: std::sync::OnceLock<Result<ProxyServer, String>>,
    /// Places for processes.
    places: Semaphore,
    cancellation: Cancellation,
    starter: Starter,
}

/// Resources of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resources {
    /// Maximum number of processes at the same time.
    pub jobs: NonZeroUsize,
    /// Recording of judges.
    pub cassette: Option<Cassette>,
    /// Limits of what models may cost.
    pub budgets: Vec<Budget>,
    /// Stops the run.
    pub cancellation: Cancellation,
}

impl Resources {
    /// Creates resources without a recording.
    #[must_use]
    pub fn new(jobs: NonZeroUsize, cancellation: Cancellation) -> Self {
        Self { jobs, cassette: None, budgets: Vec::new(), cancellation }
    }
}

/// Runs the tests of a plan. `on_result` sees results in the order of the file, each as soon as those before it are there.
pub async fn run(
    plan: Plan,
    resources: Resources,
    on_result: &mut dyn FnMut(&TestResult),
) -> Report {
    let Resources { jobs, cassette, budgets, cancellation } = resources;
    let cancel = Cancel::default();
    let stopping = tokio::spawn({
        let (cancellation, cancel) = (cancellation.clone(), cancel.clone());
        async move {
            cancellation.cancelled().await;
            cancel.cancel();
        }
    });
    let broker = Broker::new(evaluator_models::Limits::default()).cancelled_by(cancel);
    let broker = match cassette {
        Some(cassette) => broker.with_cassette(cassette),
        None => broker,
    };
    let starter = plan.starter.clone();
    let shared = Arc::new(Shared {
        plan,
        broker: Arc::new(broker),
        budgets,
        proxies: std::sync::OnceLock::new(),
        places: Semaphore::new(jobs.get()),
        cancellation,
        starter,
    });
    let count = shared.plan.tests.len();
    let mut running = stream::iter(0..count)
        .map(|index| test::run(Arc::clone(&shared), index))
        .buffered(IN_PROGRESS);
    let mut results = Vec::with_capacity(count);
    while let Some(result) = running.next().await {
        on_result(&result);
        results.push(result);
    }
    drop(running);
    stopping.abort();
    finish(&shared, results)
}

/// Saves the recording, and puts the report together.
fn finish(shared: &Shared, results: Vec<TestResult>) -> Report {
    let plan = &shared.plan;
    let (mut notes, mut errors) = (plan.notes.clone(), Vec::new());
    if let Some(cassette) = shared.broker.cassette() {
        if let Err(error) = cassette.save() {
            errors.push(error.to_string());
        }
        notes.extend(cassette.take_warnings());
    }
    Report {
        file: plan.suite.file.clone(),
        suite: plan.suite.name.clone(),
        generation: plan.suite.generation,
        results,
        warnings: plan.suite.warnings.clone(),
        notes,
        errors,
    }
}
