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

use std::{num::NonZeroUsize, sync::OnceLock};

use evaluator_models::ProxyServer;
use futures_util::{StreamExt as _, stream};
use tokio::sync::Semaphore;

pub use plan::{Options, Plan, PlanError, plan};

use crate::report::{Report, TestResult};

/// Maximum number of tests in progress. Tests that wait for models need no processor.
const IN_PROGRESS: usize = 64;

/// What the tests of a run share.
#[derive(Debug)]
struct Shared {
    plan: Plan,
    /// Started with the first program that may ask models.
    proxies: OnceLock<Result<ProxyServer, String>>,
    /// Places for processes.
    places: Semaphore,
}

/// Runs the tests of a plan, with at most `jobs` processes at the same time. `on_result` sees results in the order of the
/// file, each as soon as those before it are there.
pub async fn run(plan: Plan, jobs: NonZeroUsize, on_result: &mut dyn FnMut(&TestResult)) -> Report {
    let stopping = tokio::spawn({
        let (cancellation, session) =
            (plan.targets.cancellation.clone(), plan.targets.session.clone());
        async move {
            cancellation.cancelled().await;
            session.cancel();
        }
    });
    let shared = Shared { plan, proxies: OnceLock::new(), places: Semaphore::new(jobs.get()) };
    let mut results = Vec::with_capacity(shared.plan.tests.len());
    {
        let tests = stream::iter(&shared.plan.tests);
        let mut running = tests.map(|test| test::run(&shared, test)).buffered(IN_PROGRESS);
        while let Some(result) = running.next().await {
            on_result(&result);
            results.push(result);
        }
    }
    stopping.abort();
    let Plan { suite, targets, mut notes, .. } = shared.plan;
    let summary = targets.session.finish();
    notes.extend(summary.warnings);
    Report {
        file: suite.file,
        suite: suite.name,
        generation: suite.generation,
        results,
        warnings: suite.warnings,
        notes,
        errors: summary.errors,
    }
}
