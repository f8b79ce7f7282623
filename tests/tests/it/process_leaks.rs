//! Many broken programs at once leave nothing open in the host. It counts what a whole
//! process holds, so the test runs in a process of its own.
//!
//! `EVALUATIONS=10000 cargo test -p evaluator-tests --test it process_leaks -- --nocapture` runs that many, which takes
//! minutes.

use std::{env, num::NonZeroUsize, process::Command, time::Duration};

use evaluator_host::{
    pool::Pool,
    process::{self, Cancellation, CommandSpec, Limits},
    verdict::from_outcome,
};
use evaluator_test_support::processes::{self, open_descriptors, threads, unreaped_children};
use tokio::task::JoinSet;

const INPUT: &[u8] = b"{}";

/// Default number of evaluations, and how many run at a time.
const FEW: usize = 48;
const AT_A_TIME: usize = 48;

/// Name of a fixture, and its error type.
type Fault = (&'static str, Option<&'static str>);

/// Programs with their error types; `None` is an answer.
const FAULTS: &[Fault] = &[
    ("good", None),
    ("hang", Some("timed_out")),
    ("holder", Some("leaked_pipe")),
    ("abort", Some("signalled")),
    ("exit-three", Some("exited")),
    ("deaf", None),
    ("silent", Some("bad_answer")),
    ("ignore-term", Some("timed_out")),
];

/// Set in the process that runs nothing but this test.
const ALONE: &str = "EVALUATOR_TEST_ALONE";

#[test]
fn many_at_once_leave_nothing_open() {
    if env::var_os(ALONE).is_none() {
        let test = concat!(module_path!(), "::many_at_once_leave_nothing_open");
        let (_, test) = test.split_once("::").unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        let status = command.args([test, "--exact", "--nocapture"]).env(ALONE, "1").status();
        assert!(status.unwrap().success());
        return;
    }
    let mark = processes::Mark::new();
    let (descriptors_before, threads_before) = (open_descriptors(), threads());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // The runtime opens some descriptors of its own the first time it supervises anything.
        run_all(&mark, FAULTS.iter().filter(|fault| fault.1 != Some("timed_out"))).await;
        let warm = (open_descriptors(), threads());
        let evaluations = evaluations();
        run_all(&mark, FAULTS.iter().cycle().take(evaluations)).await;
        let rounds = evaluations.div_ceil(500);
        for _ in 0..rounds {
            stream(&mark).await;
        }
        mark.assert_nothing_left();
        let after = (open_descriptors(), threads());
        let children = unreaped_children();
        println!(
            "{evaluations} evaluations and {rounds} rounds of streaming: descriptors {} -> {}, threads {} -> {}, unreaped children {}, \
             nothing left in any group",
            warm.0,
            after.0,
            warm.1,
            after.1,
            children.len()
        );
        assert_eq!(children, [""; 0]);
        assert_eq!(after, warm);
        assert_eq!(warm.1, threads_before, "no thread is started");
    });
    drop(runtime);
    assert!(open_descriptors() <= descriptors_before + 4, "only what signals need stays open");
}

async fn run_all(mark: &processes::Mark, faults: impl Iterator<Item = &'static Fault>) {
    let mut tasks = JoinSet::new();
    for &(name, expected) in faults {
        if tasks.len() >= AT_A_TIME {
            tasks.join_next().await.unwrap().unwrap();
        }
        let command = fault(name, mark);
        // The others end by themselves, however busy the machine is.
        let seconds = if expected == Some("timed_out") { 1 } else { 60 };
        tasks.spawn(async move {
            let limits = Limits::with_timeout(Duration::from_secs(seconds));
            let outcome = process::run(&command, INPUT, &limits, &Cancellation::new()).await;
            assert_eq!(from_outcome(&outcome).error_type(), expected, "{name}: {outcome:?}");
        });
    }
    tasks.join_all().await;
}

fn evaluations() -> usize {
    env::var("EVALUATIONS").map_or(FEW, |count| count.parse().unwrap())
}

async fn stream(mark: &processes::Mark) {
    let size = NonZeroUsize::new(4).unwrap();
    let pool = Pool::new(fault("stream", mark), size, Limits::default(), Cancellation::new());
    let timeout = Duration::from_millis(500);
    for document in ["1", "\"abort\"", "\"hang\"", "\"twice\"", "\"leave-a-holder\"", "2"] {
        pool.evaluate(document.as_bytes(), timeout).await;
    }
    pool.shutdown(Duration::from_secs(100)).await.unwrap();
}

fn fault(name: &str, mark: &processes::Mark) -> CommandSpec {
    CommandSpec::new(env!("CARGO_BIN_EXE_process-fault"))
        .arg(name)
        .env(processes::MARK_VARIABLE, mark.as_str())
}
