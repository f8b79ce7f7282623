//! What one evaluation takes of processors, in the host and in the evaluator, when there is always a next one.

use std::{
    num::NonZeroUsize,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use evaluator_host::{
    pool::{Document, Pool},
    process::{Cancellation, CommandSpec, Limits},
};
use nix::sys::{
    resource::{Usage, UsageWho, getrusage},
    time::TimeVal,
};
use serde_json::json;

const EVALUATIONS: usize = 50_000;

/// Documents that somebody waits for at a time, as in a run.
const AT_ONCE: usize = 64;

pub(crate) fn measure(program: &Path) {
    let document = document();
    println!("{EVALUATIONS} evaluations of {} bytes through one warm worker\n", document.size());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (host, children) = (usage(UsageWho::RUSAGE_SELF), usage(UsageWho::RUSAGE_CHILDREN));
    let begun = Instant::now();
    runtime.block_on(evaluate(program, &document));
    let wall = begun.elapsed().as_secs_f64();
    let (host, children) =
        (since(host, UsageWho::RUSAGE_SELF), since(children, UsageWho::RUSAGE_CHILDREN));
    let each = |seconds: f64| seconds * 1e6 / EVALUATIONS as f64;
    for (who, [user, system]) in [("host", host), ("evaluator", children)] {
        println!(
            "{who:<10} {:>6.2} us of user and {:>6.2} us of system time each",
            each(user),
            each(system)
        );
    }
    let together = host.iter().chain(&children).sum::<f64>();
    println!(
        "together   {:>6.2} us of processors, {:>6.2} us of wall time each\n",
        each(together),
        each(wall)
    );
}

async fn evaluate(program: &Path, document: &Document) {
    let command = CommandSpec::new(program).arg("--stream");
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
    Arc::into_inner(pool).unwrap().shutdown(Duration::from_secs(1)).await;
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

fn usage(who: UsageWho) -> Usage {
    getrusage(who).unwrap()
}

/// Seconds of user and of system time.
fn since(before: Usage, who: UsageWho) -> [f64; 2] {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let now = usage(who);
    [
        seconds(now.user_time()) - seconds(before.user_time()),
        seconds(now.system_time()) - seconds(before.system_time()),
    ]
}
