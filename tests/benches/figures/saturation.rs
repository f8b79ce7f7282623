//! Processor time of one evaluation, in the host and in the evaluator, when there is always a next one.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use evaluator_host::{
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

const RUNS: usize = 5;

const EVALUATIONS: usize = 50_000;

/// Microseconds of processors that an evaluation may take.
const AIM: f64 = 25.0;

/// Documents in evaluation at a time, as in a run.
const AT_ONCE: usize = 64;

pub(crate) fn measure(_bench: &Bench, table: &mut Table) {
    let document = document();
    let mut runs: Vec<Cost> = (0..RUNS).map(|_| once(&document)).collect();
    runs.sort_by(|a, b| a.processors().total_cmp(&b.processors()));
    let cost = &runs[RUNS / 2];
    let [host, evaluator] = [cost.host, cost.evaluator].map(|cost| cost.iter().sum::<f64>());
    let together = cost.processors();
    table.add_text([
        &format!("1 evaluation of {} bytes through a warm worker", document.size()),
        "-",
        &format!("{AIM:.0} us of CPU"),
        &format!("{together:.1} us: host {host:.1}, evaluator {evaluator:.1}"),
        "",
        &verdict(together <= AIM),
    ]);
}

/// Microseconds of user and of system time that each evaluation took.
struct Cost {
    host: [f64; 2],
    evaluator: [f64; 2],
}

impl Cost {
    fn processors(&self) -> f64 {
        self.host.iter().chain(&self.evaluator).sum()
    }
}

fn once(document: &Document) -> Cost {
    eprintln!("measuring {EVALUATIONS} evaluations through a warm worker ...");
    let used = || [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].map(processors);
    // As the command does it.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().event_interval(4).build().unwrap();
    let before = used();
    runtime.block_on(evaluate(document));
    let after = used();
    let each = |who: usize| {
        [0, 1].map(|kind| (after[who][kind] - before[who][kind]) * 1e6 / EVALUATIONS as f64)
    };
    Cost { host: each(0), evaluator: each(1) }
}

async fn evaluate(document: &Document) {
    let command = CommandSpec::new(PROGRAM).arg("--stream");
    let pool = Pool::new(command, NonZeroUsize::MIN, Limits::default(), Cancellation::new());
    let pool = Arc::new(pool.numbered(true));
    let left = Arc::new(AtomicUsize::new(EVALUATIONS));
    let waiting: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (pool, left, document) = (Arc::clone(&pool), Arc::clone(&left), document.clone());
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
    Arc::into_inner(pool).unwrap().shutdown(Duration::from_secs(1)).await.unwrap();
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
