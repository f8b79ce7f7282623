//! The form that is given one document per line and answers with one line each.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use evaluator_host::{
    pool::{Pool, Worker},
    process::{Cancellation, CommandSpec, Ending, Interruption, Limits, Session},
    verdict::{Evaluation, Verdict},
};

use super::{BOUNDED, fault, leftovers::Mark};

const AMPLE: Duration = Duration::from_secs(15);
const SHORT: Duration = Duration::from_millis(300);

fn pool(size: usize, mark: &Mark) -> Pool {
    let size = NonZeroUsize::new(size).unwrap();
    Pool::new(fault("stream", mark), size, Limits::default(), Cancellation::new())
}

/// Number of the document in its process, and the id of the process.
fn origin(evaluation: &Evaluation) -> (i128, i128) {
    let Verdict::Answer(answer) = &evaluation.verdict else {
        panic!("not an answer: {evaluation:?}");
    };
    let details = answer.details.as_ref().unwrap();
    (details["number"].as_i128().unwrap(), details["pid"].as_i128().unwrap())
}

#[tokio::test]
async fn a_fault_costs_its_document_and_no_other() {
    for (document, timeout, expected, detail) in [
        ("hang", SHORT, "timed_out", "timed out after 0.3s"),
        ("ignore-term", SHORT, "timed_out", "timed out after 0.3s"),
        ("exit-three", AMPLE, "exited", "exited with code 3: boom in document 1"),
        ("exit-zero", AMPLE, "bad_answer", "produced no output on stdout"),
        ("abort", AMPLE, "signalled", "exited with code -6"),
        ("noise", AMPLE, "bad_answer", ""),
        ("twice", AMPLE, "bad_answer", "more than one line was printed for one document"),
        ("half-a-line", AMPLE, "bad_answer", "unexpected end of text at line 1 column 11"),
        ("endless", AMPLE, "bad_answer", "more than 67108864 bytes"),
        ("leave-a-holder", AMPLE, "leaked_pipe", "still has its stdout open"),
    ] {
        let mark = Mark::new();
        let pool = pool(1, &mark);
        let before = origin(&pool.evaluate(br#""first""#, AMPLE).await);
        let broken = pool.evaluate(format!("\"{document}\"").as_bytes(), timeout).await;
        let after = origin(&pool.evaluate(br#""next""#, AMPLE).await);

        assert_eq!(broken.verdict.error_type(), Some(expected), "{document}: {broken:?}");
        let text = broken.verdict.explain("checker", &broken.stderr_tail).unwrap();
        assert!(text.contains(detail), "{document}: {text}");
        assert_eq!((before.0, after.0), (0, 0), "{document}");
        assert_ne!(before.1, after.1, "{document}: the worker was replaced");
        pool.shutdown(BOUNDED).await;
        mark.assert_nothing_left();
    }
}

#[tokio::test]
async fn what_is_no_fault_keeps_the_worker() {
    let mark = Mark::new();
    let pool = pool(1, &mark);
    let first = origin(&pool.evaluate(b"1", AMPLE).await);
    assert_eq!(first.0, 0);

    let error = pool.evaluate(br#""error""#, AMPLE).await;
    let Verdict::Reported { kind, message } = &error.verdict else {
        panic!("the evaluator reports an error: {error:?}");
    };
    assert_eq!((&**kind, &**message), ("rejected", "document 1 is not mine"));

    assert_eq!(origin(&pool.evaluate(br#""partial""#, AMPLE).await), (2, first.1));
    let talked = pool.evaluate(br#""talk""#, AMPLE).await;
    assert_eq!(origin(&talked), (3, first.1));
    let long = pool.evaluate(br#""long""#, AMPLE).await;
    assert_eq!(long.verdict.error_type(), None);
    let large = format!("\"{}\"", "z".repeat(4 << 20));
    assert_eq!(origin(&pool.evaluate(large.as_bytes(), AMPLE).await), (5, first.1));
    assert_eq!(
        origin(&pool.evaluate(b"[1,\n2,\r\n3]", AMPLE).await),
        (6, first.1),
        "one line, one document"
    );
    pool.shutdown(BOUNDED).await;
    mark.assert_nothing_left();
}

#[tokio::test]
async fn a_worker_that_left_in_between_costs_nothing() {
    let mark = Mark::new();
    let pool = pool(1, &mark);
    for _ in 0..3 {
        assert_eq!(origin(&pool.evaluate(br#""answer-and-leave""#, AMPLE).await).0, 0);
        // Long enough for it to be gone; if it were not, the document would be lost with it.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    pool.shutdown(BOUNDED).await;
    mark.assert_nothing_left();
}

#[tokio::test]
async fn workers_share_the_documents() {
    let mark = Mark::new();
    let pool = Arc::new(pool(2, &mark));
    let documents =
        ["1", "\"partial\"", "\"abort\"", "\"partial\"", "\"error\"", "\"twice\"", "7", "8"];
    let evaluating = documents.map(|document| {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { pool.evaluate(document.as_bytes(), AMPLE).await })
    });
    let mut found = Vec::new();
    for evaluation in evaluating {
        found.push(evaluation.await.unwrap().verdict.error_type());
    }
    let (broken, odd, reported) = (Some("signalled"), Some("bad_answer"), Some("reported"));
    assert_eq!(found, [None, None, broken, None, reported, odd, None, None]);
    Arc::into_inner(pool).unwrap().shutdown(BOUNDED).await;
    mark.assert_nothing_left();
}

#[tokio::test]
async fn fast_evaluators_need_few_workers() {
    let mark = Mark::new();
    let pool = Arc::new(pool(20, &mark));
    let evaluating = [(); 20].map(|()| {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { pool.evaluate(b"1", AMPLE).await })
    });
    let mut processes = std::collections::BTreeSet::new();
    for evaluation in evaluating {
        processes.insert(origin(&evaluation.await.unwrap()).1);
    }
    // One, unless this machine is very busy.
    assert!(processes.len() < 10, "{} processes", processes.len());
    Arc::into_inner(pool).unwrap().shutdown(BOUNDED).await;
    mark.assert_nothing_left();
}

#[tokio::test]
async fn a_pool_that_cannot_start_says_so_for_every_document() {
    let command = CommandSpec::new("/no/such/program");
    let pool = Pool::new(command, NonZeroUsize::MIN, Limits::default(), Cancellation::new());
    for _ in 0..2 {
        let evaluation = pool.evaluate(b"1", AMPLE).await;
        assert_eq!(
            (evaluation.verdict.error_type(), evaluation.attempts),
            (Some("spawn_failed"), 0)
        );
    }
}

#[tokio::test]
async fn a_cancelled_pool_ends_what_runs_and_starts_nothing_more() {
    let (mark, cancellation) = (Mark::new(), Cancellation::new());
    let pool = Pool::new(
        fault("stream", &mark),
        NonZeroUsize::MIN,
        Limits::default(),
        cancellation.clone(),
    );
    let cancelling = async {
        tokio::time::sleep(SHORT).await;
        cancellation.cancel();
    };
    let (running, waiting, ()) =
        tokio::join!(pool.evaluate(b"\"hang\"", AMPLE), pool.evaluate(b"1", AMPLE), cancelling);
    assert_eq!(running.verdict.error_type(), Some("cancelled"));
    assert_eq!((waiting.verdict.error_type(), waiting.attempts), (Some("cancelled"), 0));
    mark.assert_nothing_left();
}

#[tokio::test]
async fn dropping_an_evaluation_or_a_pool_leaves_nothing_behind() {
    let mark = Mark::new();
    let one = pool(1, &mark);
    let hanging = one.evaluate(br#""hang""#, AMPLE);
    assert!(tokio::time::timeout(SHORT, hanging).await.is_err());
    mark.assert_nothing_left();
    assert_eq!(origin(&one.evaluate(b"1", AMPLE).await).0, 0);
    drop(one);
    mark.assert_nothing_left();
}

#[tokio::test]
async fn a_worker_out_of_step_is_not_used_again() {
    let (mark, never) = (Mark::new(), Cancellation::new());
    let mut worker = Worker::start(&fault("stream", &mark), &Limits::default()).await.unwrap();
    assert!(worker.is_ready().await);
    let late = worker.evaluate(br#""hang""#, SHORT, &never).await;
    assert_eq!(late.verdict.error_type(), Some("timed_out"));
    assert!(!worker.is_ready().await);
    let refused = worker.evaluate(b"1", AMPLE, &never).await;
    assert_eq!((refused.verdict.error_type(), refused.attempts), (Some("lost"), 0));
    mark.assert_nothing_left();
}

#[tokio::test]
async fn half_a_line_survives_an_interrupted_wait() {
    let (mark, never) = (Mark::new(), Cancellation::new());
    let mut session = Session::start(&fault("stream", &mark), &Limits::default()).await.unwrap();
    session.send(br#""partial""#);
    let mut waits = 0;
    let line = loop {
        match session.receive(Duration::from_millis(1), &never).await {
            Ok(line) => break line,
            Err(Interruption::TimedOut { .. }) => waits += 1,
            Err(other) => panic!("{other:?}"),
        }
    };
    assert!(waits > 10, "{waits} waits");
    assert!(line.starts_with(br#"{"score": 0.5, "#) && line.ends_with(b"}}"));
    assert_eq!(session.end(BOUNDED).await, Ending::Exited(0));
    assert_eq!(session.end(BOUNDED).await, Ending::Exited(0), "the answer stays the same");
    mark.assert_nothing_left();
}

#[tokio::test]
async fn a_session_without_patience_is_ended() {
    let mark = Mark::new();
    let mut session =
        Session::start(&fault("ignore-term", &mark), &Limits::default()).await.unwrap();
    // Until it is there, and ignores what it is asked.
    let waiting = session.receive(Duration::from_secs(2), &Cancellation::new()).await;
    assert!(matches!(waiting, Err(Interruption::TimedOut { .. })));
    session.close_input();
    let waiting = session.receive(Duration::from_secs(2), &Cancellation::new()).await;
    assert!(matches!(waiting, Err(Interruption::TimedOut { .. })));
    assert_eq!(session.end(Duration::ZERO).await, Ending::Signalled(9));
    assert_eq!(session.take_stderr().text(), "ignoring TERM\ngot TERM and stay\n");
    mark.assert_nothing_left();
}

/// Only Linux tells which program a process is.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_clock_starts_when_a_command_has_become_the_program() {
    let mark = Mark::new();
    let program = env!("CARGO_BIN_EXE_process-fault");
    let slow_start = format!("sleep 1; exec '{program}' stream");
    let command = |becomes: &str| {
        let shell = CommandSpec { program: "sh".into(), args: Vec::new(), ..fault("", &mark) };
        shell.args(["-c", &slow_start]).becomes(becomes)
    };
    let first_document = async |command: CommandSpec| {
        let pool = Pool::new(command, NonZeroUsize::MIN, Limits::default(), Cancellation::new());
        let evaluation = pool.evaluate(br#""first""#, SHORT).await;
        pool.shutdown(BOUNDED).await;
        evaluation
    };
    assert_eq!(origin(&first_document(command(program)).await).0, 0);
    // Without that knowledge the start counts.
    let unknown = first_document(CommandSpec { becomes: None, ..command(program) }).await;
    assert_eq!(unknown.verdict.error_type(), Some("timed_out"));
    // A process that ends before is not waited for.
    let ended = CommandSpec { args: Vec::new(), ..command(program) }.args(["-c", "exit 3"]);
    assert_eq!(first_document(ended).await.verdict.error_type(), Some("exited"));
    mark.assert_nothing_left();
}
