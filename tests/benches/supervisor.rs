//! How far beyond its timeout an evaluator is waited for, whatever it does, while all processors are busy.
//!
//! `cargo bench -p evaluator-tests --bench supervisor`. Takes three minutes. It measures the time from before the start
//! of a program (or the sending of a document) until nothing of it is left, less the timeout: the start, the grace after
//! `TERM`, the kill and the reaping are all in it. That nothing is left is looked for after each kind: processes (also those of
//! its group), descriptors, threads, zombies.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may panic")]

use std::{
    hint::black_box,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use evaluator_host::{
    pool::Pool,
    process::{self, Cancellation, CommandSpec, Limits},
    verdict::from_outcome,
};
use evaluator_test_support::processes::{
    MARK_VARIABLE, Mark, open_descriptors, threads, unreaped_children,
};
use evaluator_tests::bench::is_wanted;
use tokio::task::JoinSet;

/// Runs of each kind, and how many of them at a time.
const RUNS: usize = 300;
const AT_A_TIME: usize = 4;

const TIMEOUT: Duration = Duration::from_millis(200);

/// The 99th percentile may be at most this.
const TARGET: Duration = Duration::from_millis(100);

/// Programs that never exit on their own, and their reaction to `TERM`.
const PROGRAMS: [(&str, &str); 5] = [
    ("hang", "ends at TERM"),
    ("ignore-term", "ignores TERM"),
    ("hang-with-a-child", "ends at TERM, and has a child that ignores it"),
    ("close-outputs-and-hang", "closes its outputs and hangs"),
    ("endless-stdout", "prints without end"),
];

/// Documents that a worker never answers.
const DOCUMENTS: [(&str, &str); 2] =
    [("hang", "a worker that ends at TERM"), ("ignore-term", "a worker that ignores TERM")];

fn main() {
    if !is_wanted() {
        return;
    }
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // As the command does it.
    let runtime = builder.enable_all().event_interval(4).build().unwrap();
    println!(
        "{:<52} {:>6} {:>9} {:>9} {:>9}  (at most {} ms at the 99th percentile)",
        "overshoot of a timeout of 200 ms",
        "runs",
        "50th",
        "99th",
        "maximum",
        TARGET.as_millis()
    );
    let _load = Load::start();
    let mark = Arc::new(Mark::new());
    // The runtime opens some descriptors of its own the first time it supervises anything.
    runtime.block_on(one_shot(PROGRAMS[0].0, Arc::clone(&mark)));
    let before = (open_descriptors(), threads());
    for (fault, what) in PROGRAMS {
        row(what, runtime.block_on(measure(|| one_shot(fault, Arc::clone(&mark)))));
        mark.assert_nothing_left();
    }
    for (document, what) in DOCUMENTS {
        row(what, runtime.block_on(measure(|| streaming(document, Arc::clone(&mark)))));
        mark.assert_nothing_left();
    }
    assert_eq!(unreaped_children(), [""; 0]);
    assert_eq!((open_descriptors(), threads()), before);
    println!("nothing left: no process of any group, no zombie, no descriptor, no thread");
}

/// Measures a number of runs, a few at a time.
async fn measure<F>(run: impl Fn() -> F) -> Vec<Duration>
where
    F: Future<Output = Duration> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    let mut overshoots = Vec::with_capacity(RUNS);
    for number in 0..RUNS {
        if number >= AT_A_TIME {
            overshoots.extend(tasks.join_next().await.map(Result::unwrap));
        }
        tasks.spawn(run());
    }
    overshoots.extend(tasks.join_all().await);
    overshoots
}

fn command(fault: &str, mark: &Mark) -> CommandSpec {
    CommandSpec::new(env!("CARGO_BIN_EXE_process-fault"))
        .arg(fault)
        .env(MARK_VARIABLE, mark.as_str())
}

async fn one_shot(fault: &'static str, mark: Arc<Mark>) -> Duration {
    let (limits, never) = (Limits::with_timeout(TIMEOUT), Cancellation::new());
    let start = Instant::now();
    let outcome = process::run(&command(fault, &mark), b"{}", &limits, &never).await;
    let elapsed = start.elapsed();
    assert_eq!(from_outcome(&outcome).error_type(), Some("timed_out"), "{fault}: {outcome:?}");
    elapsed.saturating_sub(TIMEOUT)
}

async fn streaming(document: &'static str, mark: Arc<Mark>) -> Duration {
    let pool = Pool::new(
        command("stream", &mark),
        NonZeroUsize::MIN,
        Limits::default(),
        Cancellation::new(),
    );
    // It is there before the clock starts, as in a run.
    pool.evaluate(b"1", Duration::from_secs(60)).await;
    let start = Instant::now();
    let evaluation = pool.evaluate(format!("\"{document}\"").as_bytes(), TIMEOUT).await;
    let elapsed = start.elapsed();
    assert_eq!(evaluation.verdict.error_type(), Some("timed_out"), "{document}: {evaluation:?}");
    pool.shutdown(Duration::ZERO).await.unwrap();
    elapsed.saturating_sub(TIMEOUT)
}

fn row(what: &str, mut overshoots: Vec<Duration>) {
    overshoots.sort();
    let at = |share: f64| {
        let index = ((overshoots.len() - 1) as f64 * share).round() as usize;
        overshoots[index].as_secs_f64() * 1000.0
    };
    let (median, high, most) = (at(0.5), at(0.99), at(1.0));
    let missed = if high > TARGET.as_secs_f64() * 1000.0 { "  MISSED" } else { "" };
    println!(
        "{what:<52} {:>6} {median:>6.1} ms {high:>6.1} ms {most:>6.1} ms{missed}",
        overshoots.len()
    );
}

/// Keeps every processor busy as long as it lives.
struct Load {
    over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Load {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..processors).map(|_| {
            let over = Arc::clone(&over);
            thread::spawn(move || {
                let mut number = 0u64;
                while !over.load(Ordering::Relaxed) {
                    number = black_box(number.wrapping_mul(31).wrapping_add(7));
                }
            })
        });
        Self { threads: threads.collect(), over }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It cannot panic.
            let _ = thread.join();
        }
    }
}
