//! Processor time of one evaluation, in the host and in the evaluator, when there is always a next one.

use std::{
    fs,
    num::NonZeroUsize,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use evaluator_host::{
    executor::{self, Visible},
    pool::{Document, Pool},
    process::{Cancellation, CommandSpec, Limits},
};
use evaluator_tests::bench::measure::processors;
use nix::sys::resource::UsageWho;
use serde_json::json;

use crate::{
    bench::{Bench, PROGRAM},
    table::{Table, verdict},
};

/// Measurements of each kind; the least one counts.
const RUNS: usize = 7;

/// Evaluations that are measured, after some that are not: the start is left out.
const EVALUATIONS: usize = 50_000;
const BEFORE: usize = 2_000;

/// Microseconds of processors that an evaluation may take.
const AIM: f64 = 25.0;

/// How much more it may take in a sandbox.
const CONTAINED: f64 = 1.02;

/// Documents in evaluation at a time, as in a run.
const AT_ONCE: usize = 64;

pub(crate) fn measure(_bench: &Bench, table: &mut Table) {
    let document = document();
    let runs: Vec<Cost> = (0..RUNS).map(|_| once(&document, &worker())).collect();
    add_plain(table, &document, &Cost::least(&runs));
}

/// Measures the same with the worker in a sandbox, by turns with one that is not.
pub(crate) fn measure_contained(table: &mut Table) {
    let visible = Visible { paths: [PROGRAM.into()].into() };
    let contained = executor::wrap_with_defaults(&executor::Sandbox, worker(), &visible).unwrap();
    let document = document();
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        plain.push(once(&document, &worker()));
        ours.push(once(&document, &contained));
    }
    let (plain, ours) = (Cost::least(&plain), Cost::least(&ours));
    add_plain(table, &document, &plain);
    let (cpu, wall) = (ours.processors() / plain.processors(), ours.wall / plain.wall);
    table.add_text([
        "the same in a sandbox",
        "-",
        &format!("{CONTAINED:.2} x of CPU"),
        &ours.text(),
        &format!("CPU {cpu:.3} x, wall {wall:.3} x"),
        &verdict(cpu <= CONTAINED),
    ]);
}

fn add_plain(table: &mut Table, document: &Document, cost: &Cost) {
    table.add_text([
        &format!("1 evaluation of {} bytes through a warm worker", document.size()),
        "-",
        &format!("{AIM:.0} us of CPU"),
        &cost.text(),
        "",
        &verdict(cost.processors() <= AIM),
    ]);
}

fn worker() -> CommandSpec {
    CommandSpec::new(PROGRAM).arg("--stream")
}

/// Microseconds that each evaluation took: of wall time, and of processors in the host and in the evaluator.
#[derive(Clone, Copy, Debug)]
struct Cost {
    wall: f64,
    host: f64,
    evaluator: f64,
}

impl Cost {
    fn processors(self) -> f64 {
        self.host + self.evaluator
    }

    /// The least of each: other work on the machine only adds.
    fn least(costs: &[Self]) -> Self {
        let least = |part: fn(&Self) -> f64| costs.iter().map(part).fold(f64::INFINITY, f64::min);
        Self {
            wall: least(|it| it.wall),
            host: least(|it| it.host),
            evaluator: least(|it| it.evaluator),
        }
    }

    fn text(self) -> String {
        let Self { wall, host, evaluator } = self;
        let together = self.processors();
        format!("{together:.1} us: host {host:.1}, evaluator {evaluator:.1}; wall {wall:.1} us")
    }
}

fn once(document: &Document, command: &CommandSpec) -> Cost {
    eprintln!("measuring {EVALUATIONS} evaluations through a warm worker ...");
    // As the command does it.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().event_interval(4).build().unwrap();
    runtime.block_on(async {
        let limits = Limits::default();
        let pool = Pool::new(command.clone(), NonZeroUsize::MIN, limits, Cancellation::new());
        let pool = Arc::new(pool.numbered(true));
        evaluate(&pool, document, BEFORE).await;
        let used = || (processors(UsageWho::RUSAGE_SELF).iter().sum::<f64>(), of_worker());
        let (start, before) = (Instant::now(), used());
        evaluate(&pool, document, EVALUATIONS).await;
        let (wall, after) = (start.elapsed().as_secs_f64(), used());
        Arc::into_inner(pool).unwrap().shutdown(Duration::from_secs(1)).await.unwrap();
        let each = |seconds: f64| seconds * 1e6 / EVALUATIONS as f64;
        Cost {
            wall: each(wall),
            host: each(after.0 - before.0),
            evaluator: each(after.1 - before.1),
        }
    })
}

/// Seconds of processors that the worker has used. Nothing waits for one in a sandbox but the sandbox.
fn of_worker() -> f64 {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_worker = |process: &PathBuf| {
        fs::read(process.join("cmdline"))
            .is_ok_and(|line| line.starts_with(format!("{PROGRAM}\0").as_bytes()))
    };
    let workers: Vec<PathBuf> = processes.filter(is_worker).collect();
    let [worker] = &workers[..] else { panic!("{} workers run", workers.len()) };
    let nanoseconds = fs::read_to_string(worker.join("schedstat")).unwrap();
    nanoseconds.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

async fn evaluate(pool: &Arc<Pool>, document: &Document, evaluations: usize) {
    let left = Arc::new(AtomicUsize::new(evaluations));
    let waiting: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (pool, left, document) = (Arc::clone(pool), Arc::clone(&left), document.clone());
            tokio::spawn(async move {
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_ok()
                {
                    let evaluation = pool.evaluate(document.clone(), Duration::from_secs(30)).await;
                    assert_eq!(evaluation.verdict.error_type(), None, "{evaluation:?}");
                }
            })
        })
        .collect();
    for task in waiting {
        task.await.unwrap();
    }
}

/// A conversation of 5 KB.
fn document() -> Document {
    let offer = "Offer 7 of \"La Fête\": a quiet room near the old town.\n";
    let turn = json!({
        "invocation_id": "1",
        "user_content": "Find me a hotel.",
        "final_response": offer.repeat(28),
        "intermediate_steps": {
            "tool_calls": [{"name": "search", "args": {"city": "Lyon", "nights": 2}, "id": "1"}],
            "tool_responses": [{
                "name": "search",
                "output": offer.repeat(28),
                "status": null,
                "id": "1",
                "response": {"rooms": 3, "text": offer.repeat(28)},
            }],
        },
        "performance_metrics": null,
    });
    let document = json!({
        "protocol_version": "1.1",
        "metric_name": "answer_length",
        "threshold": 0.5,
        "config": {},
        "invocations": [turn],
        "expected_invocations": null,
    });
    document.to_string().as_bytes().into()
}
