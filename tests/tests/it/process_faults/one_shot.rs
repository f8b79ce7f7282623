//! The form that reads one document and prints one.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use evaluator_host::{
    process::{self, Cancellation, CommandSpec, Ending, Limits, Outcome},
    verdict::{Evaluation, Verdict, from_outcome},
};

use evaluator_test_support::TestDirectory;

use super::{BOUNDED, fault, processes::Mark};
use crate::printed;

const INPUT: &[u8] = br#"{"protocol_version": "1.1", "metric_name": "x", "invocations": []}"#;

/// Enough for any fixture that does end by itself, even on a busy machine.
const AMPLE: Duration = Duration::from_secs(150);

/// Soon enough not to wait long for fixtures that never end.
const SHORT: Duration = Duration::from_millis(300);

async fn run(name: &str, input: &[u8], timeout: Duration) -> Outcome {
    let mark = Mark::new();
    let start = Instant::now();
    let limits = Limits::with_timeout(timeout);
    let outcome = process::run(&fault(name, &mark), input, &limits, &Cancellation::new()).await;
    assert!(start.elapsed() < BOUNDED, "{name} took {:?}", start.elapsed());
    mark.assert_nothing_left();
    outcome
}

fn score_of(verdict: &Verdict) -> Option<f64> {
    match verdict {
        Verdict::Answer(answer) => answer.score,
        _ => None,
    }
}

#[tokio::test]
async fn good_answers() {
    for (name, score) in [
        ("good", 0.75),
        ("good-in-whitespace", 1.0),
        ("score-as-text", 0.5),
        ("score-as-bool", 1.0),
        ("deaf", 0.75),
        ("flood-stderr", 0.75),
        // Only standard output has to be complete.
        ("holder-of-stderr", 0.75),
    ] {
        let verdict = from_outcome(&run(name, INPUT, AMPLE).await);
        assert_eq!(score_of(&verdict), Some(score), "{name}: {verdict:?}");
    }
}

/// Runs a faulty program, and checks its error type and the detail in the explanation.
async fn assert_verdict(name: &str, timeout: Duration, expected: &str, detail: &str) {
    let evaluation = Evaluation::from_outcome(&run(name, INPUT, timeout).await);
    let verdict = &evaluation.verdict;
    assert_eq!(verdict.error_type(), Some(expected), "{name}: {verdict:?}");
    assert_eq!(verdict.status(0.0), None, "{name}");
    let text = verdict.explain("checker", &evaluation.stderr_tail).unwrap();
    assert!(text.starts_with("Custom evaluator 'checker' "), "{name}: {text}");
    assert!(text.contains(detail), "{name}: {text}");
}

#[tokio::test]
async fn each_fault_of_a_process_has_its_verdict() {
    for (name, timeout, expected, detail) in [
        ("hang", SHORT, "timed_out", "timed out after 0.3s"),
        ("hang-with-a-child", SHORT, "timed_out", "timed out after 0.3s"),
        ("ignore-term", SHORT, "timed_out", "timed out after 0.3s"),
        ("close-outputs-and-hang", SHORT, "timed_out", "timed out after 0.3s"),
        ("endless-stdout", SHORT, "timed_out", "timed out after 0.3s"),
        ("abort", AMPLE, "signalled", "exited with code -6"),
        ("segfault", AMPLE, "signalled", "exited with code -11"),
        ("exit-three", AMPLE, "exited", "exited with code 3: boom é"),
        ("holder", AMPLE, "leaked_pipe", "still has its stdout open"),
        ("detached-holder", AMPLE, "leaked_pipe", "still has its stdout open"),
    ] {
        assert_verdict(name, timeout, expected, detail).await;
    }
}

#[tokio::test]
async fn each_unusable_answer_is_named() {
    for (name, detail) in [
        ("flood-stdout", "more than 67108864 bytes"),
        ("silent", "produced no output on stdout"),
        ("only-whitespace", "produced no output on stdout"),
    ] {
        assert_verdict(name, AMPLE, "bad_answer", detail).await;
    }
    for (name, _, error, detail) in printed::all() {
        assert_verdict(name, AMPLE, error, detail).await;
    }
}

#[tokio::test]
async fn a_signal_is_not_an_exit_code() {
    let outcome = run("abort", INPUT, AMPLE).await;
    assert_eq!(outcome.ending, Ending::Signalled(6));
    let outcome = run("exit-three", INPUT, AMPLE).await;
    assert_eq!(outcome.ending, Ending::Exited(3));
}

#[tokio::test]
async fn large_input_reaches_the_program_while_it_is_drained() {
    let input = vec![b'i'; 20 << 20];
    let Verdict::Answer(answer) = from_outcome(&run("echo-length", &input, AMPLE).await) else {
        panic!("the program counts its input");
    };
    let length = answer.details.unwrap()["length"].as_i128();
    assert_eq!(length, Some(20 << 20));
}

#[tokio::test]
async fn input_that_is_not_read_is_no_error() {
    let input = vec![b'i'; 20 << 20];
    for (name, timeout, expected) in [
        ("deaf", AMPLE, None),
        ("abort", AMPLE, Some("signalled")),
        ("endless-stdout", SHORT, Some("timed_out")),
    ] {
        let verdict = from_outcome(&run(name, &input, timeout).await);
        assert_eq!(verdict.error_type(), expected, "{name}: {verdict:?}");
    }
}

#[tokio::test]
async fn floods_are_drained_but_not_kept() {
    let outcome = run("flood-stderr", INPUT, AMPLE).await;
    let text = outcome.stderr.text();
    assert!(text.starts_with("first words\neee") && text.ends_with("eeelast words"));
    assert!(text.len() < 70 << 10, "{} bytes kept", text.len());
    assert!(outcome.stderr.omitted() > 99 << 20);

    let outcome = run("flood-stdout", INPUT, AMPLE).await;
    assert_eq!(outcome.ending, Ending::Exited(0), "it could write everything");
    assert_eq!(outcome.stdout.head().len(), 64 << 20);
    assert_eq!(outcome.stdout.omitted(), 36 << 20);
    assert_eq!(from_outcome(&outcome).error_type(), Some("bad_answer"));
}

#[tokio::test]
async fn what_was_printed_before_the_time_was_up_is_kept() {
    // Far longer than it takes to start, and to hear of `TERM`.
    let limits = Limits {
        timeout: Duration::from_secs(10),
        term_grace: Duration::from_secs(10),
        ..Limits::default()
    };
    let (mark, never) = (Mark::new(), Cancellation::new());
    let [hang, ignore_term] = ["hang", "ignore-term"].map(|name| fault(name, &mark));
    let (hanging, ignoring) = tokio::join!(
        process::run(&hang, INPUT, &limits, &never),
        process::run(&ignore_term, INPUT, &limits, &never),
    );
    assert_eq!(hanging.stderr.text(), "going to hang\n");
    assert_eq!(ignoring.stderr.text(), "ignoring TERM\ngot TERM and stay\n");
    mark.assert_nothing_left();
}

#[tokio::test]
async fn programs_that_cannot_be_started() {
    let directory = TestDirectory::new();
    let no_interpreter = directory.executable("no-interpreter", "#!/no/such/interpreter\n");
    let not_executable = directory.file("not-executable", "#!/bin/sh\n");
    fs::set_permissions(&not_executable, fs::Permissions::from_mode(0o644)).unwrap();
    let in_directory = |cwd: &str| CommandSpec {
        cwd: Some(cwd.into()),
        ..CommandSpec::new(env!("CARGO_BIN_EXE_process-fault"))
    };
    for (command, expected) in [
        (
            CommandSpec::new("no-such-program"),
            "failed to start `no-such-program`: it was not found on PATH",
        ),
        (
            CommandSpec::new("/no/such/program"),
            "failed to start `/no/such/program`: there is no such file",
        ),
        (CommandSpec::new(&no_interpreter), "the interpreter named in its first line is not"),
        (CommandSpec::new(&not_executable), "may be executed (chmod +x)?"),
        (
            in_directory("/no/such/directory"),
            "its working directory /no/such/directory is not there",
        ),
        (CommandSpec::new("nul").arg("\0"), "failed to start `nul`: "),
    ] {
        let outcome = process::run(&command, INPUT, &Limits::default(), &Cancellation::new()).await;
        let evaluation = Evaluation::from_outcome(&outcome);
        let Verdict::SpawnFailed { reason, .. } = &evaluation.verdict else {
            panic!("{command:?} cannot be started: {evaluation:?}");
        };
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(evaluation.attempts, 0);
    }
}

#[tokio::test]
async fn a_file_that_is_still_open_for_writing_is_started_once_it_is_closed() {
    let directory = TestDirectory::new();
    let path = directory.join("just-written");
    fs::copy(env!("CARGO_BIN_EXE_process-fault"), &path).unwrap();
    let writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let command = CommandSpec::new(&path).arg("good");
    let (limits, never) = (Limits::default(), Cancellation::new());

    let running = process::run(&command, INPUT, &limits, &never);
    let closing = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        drop(writer);
    };
    let (outcome, ()) = tokio::join!(running, closing);
    assert_eq!(outcome.ending, Ending::Exited(0), "{outcome:?}");
}

#[tokio::test]
async fn cancelling_ends_what_runs_and_starts_nothing_more() {
    let (mark, cancellation) = (Mark::new(), Cancellation::new());
    for name in ["hang", "hang-with-a-child", "ignore-term"] {
        let cancellation = Cancellation::new();
        let (command, limits) = (fault(name, &mark), Limits::default());
        let running = process::run(&command, INPUT, &limits, &cancellation);
        let cancelling = async {
            tokio::time::sleep(SHORT).await;
            cancellation.cancel();
        };
        let (outcome, ()) =
            tokio::time::timeout(BOUNDED, async { tokio::join!(running, cancelling) })
                .await
                .unwrap();
        assert_eq!(outcome.ending, Ending::Cancelled, "{name}");
        assert_eq!(from_outcome(&outcome).error_type(), Some("cancelled"));
        mark.assert_nothing_left();
    }
    cancellation.cancel();
    let command = CommandSpec::new("/no/such/program");
    let outcome = process::run(&command, INPUT, &Limits::default(), &cancellation).await;
    assert_eq!(outcome.ending, Ending::Cancelled);
}

#[tokio::test]
async fn dropping_a_run_ends_its_processes() {
    let mark = Mark::new();
    let command = fault("hang-with-a-child", &mark);
    let (limits, never) = (Limits::default(), Cancellation::new());
    let running = process::run(&command, INPUT, &limits, &never);
    // Long enough for the child to be there.
    assert!(tokio::time::timeout(Duration::from_secs(1), running).await.is_err());
    mark.assert_nothing_left();
}
