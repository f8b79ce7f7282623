//! The form that is given one document per line and answers with one line each.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use evaluator_host::{
    pool::{Pool, WorkerFault},
    process::{Cancellation, CommandSpec, Limits},
    verdict::{Evaluation, Verdict},
};

use super::{BOUNDED, fault, processes::Mark};
use crate::printed;

const AMPLE: Duration = Duration::from_secs(150);
const SHORT: Duration = Duration::from_millis(300);

fn pool(size: usize, mark: &Mark) -> Pool {
    pool_of("stream", size, mark)
}

/// Workers that speak this form.
pub(crate) fn pool_of(form: &str, size: usize, mark: &Mark) -> Pool {
    let size = NonZeroUsize::new(size).unwrap();
    Pool::new(fault(form, mark), size, Limits::default(), Cancellation::new())
        .numbered(form == "numbered")
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
        ("garbage", AMPLE, "bad_answer", "unexpected text after the value"),
        ("bad-answer", AMPLE, "bad_answer", "score: expected a number from 0 to 1, found 7"),
        ("close-stdout", SHORT, "timed_out", "timed out after 0.3s"),
        ("endless", SHORT, "timed_out", "timed out after 0.3s"),
        ("too-long", AMPLE, "bad_answer", "more than 67108864 bytes"),
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
        let end = pool.shutdown(BOUNDED).await;
        assert!(end.is_ok(), "{document}: {end:?}");
        mark.assert_nothing_left();
    }
}

#[tokio::test]
async fn each_unusable_line_is_named() {
    for form in ["stream", "numbered"] {
        for (name, bytes, expected, detail) in printed::all() {
            let mark = Mark::new();
            let pool = pool_of(form, 1, &mark);
            let broken = pool.evaluate(format!("{name:?}").as_bytes(), AMPLE).await;
            assert_eq!(broken.verdict.error_type(), Some(expected), "{form} {name}: {broken:?}");
            let text = broken.verdict.explain("checker", &broken.stderr_tail).unwrap();
            // The first of two lines may be an answer.
            assert!(bytes.contains(&b'\n') || text.contains(detail), "{form} {name}: {text}");
            origin(&pool.evaluate(br#""next""#, AMPLE).await);
            let end = pool.shutdown(BOUNDED).await;
            assert!(end.is_ok(), "{form} {name}: {end:?}");
            mark.assert_nothing_left();
        }
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
    assert!(error.stdout_tail.contains("document 1 is not mine"), "{error:?}");

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
    pool.shutdown(BOUNDED).await.unwrap();
    mark.assert_nothing_left();
}

#[tokio::test]
async fn a_worker_that_left_in_between_costs_nothing() {
    let mark = Mark::new();
    let pool = pool(1, &mark);
    for _ in 0..3 {
        assert_eq!(origin(&pool.evaluate(br#""answer-and-leave""#, AMPLE).await).0, 0);
        // By then it is gone or not, which makes no difference: a document that it does not answer goes to another one.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    pool.shutdown(BOUNDED).await.unwrap();
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
    Arc::into_inner(pool).unwrap().shutdown(BOUNDED).await.unwrap();
    mark.assert_nothing_left();
}

#[tokio::test]
async fn what_a_late_worker_leaves_behind_is_not_waited_for() {
    let mark = Mark::new();
    // Waiting for the end of its output would take longer than this test may.
    let limits = Limits { eof_grace: 2 * AMPLE, ..Limits::default() };
    let command = fault("stream", &mark);
    let pool = Pool::new(command, NonZeroUsize::MIN, limits, Cancellation::new());
    let start = Instant::now();
    let late = pool.evaluate(br#""hang-next-to-a-holder""#, Duration::from_secs(1)).await;
    assert_eq!(late.verdict.error_type(), Some("timed_out"));
    assert!(start.elapsed() < AMPLE, "it took {:?}", start.elapsed());
    pool.shutdown(Duration::ZERO).await.unwrap();
    mark.assert_nothing_left();
}

#[tokio::test]
async fn an_answer_too_many_is_seen_in_the_end() {
    // Printed when no answer is due any more; and taken for that to the document which the worker has been given meanwhile,
    // and so on, until one is left over.
    for documents in [&["twice-much-later"][..], &["twice-much-later", "slow", "slow"]] {
        let mark = Mark::new();
        let pool = pool(1, &mark);
        for document in documents {
            let evaluation = pool.evaluate(format!("\"{document}\"").as_bytes(), AMPLE).await;
            assert_eq!(evaluation.verdict.error_type(), None, "{document}");
        }
        let fault = pool.shutdown(AMPLE).await.unwrap_err();
        assert!(matches!(fault, WorkerFault::Desynchronized), "{documents:?}: {fault:?}");
        mark.assert_nothing_left();
    }
    // Here two lines come for the second one, at once, unless the machine is very busy.
    let late = pool(1, &Mark::new());
    let mut broken = Vec::new();
    for document in ["twice-much-later", "1", "2"] {
        let evaluation = late.evaluate(format!("\"{document}\"").as_bytes(), AMPLE).await;
        broken.extend(evaluation.verdict.error_type());
    }
    let in_step = late.shutdown(AMPLE).await.is_ok();
    assert!(broken == ["bad_answer"] || !in_step, "{broken:?}");
    for document in ["1", "goodbye", "twice", "noise"] {
        let pool = pool(1, &Mark::new());
        pool.evaluate(format!("\"{document}\"").as_bytes(), AMPLE).await;
        assert!(pool.shutdown(AMPLE).await.is_ok(), "{document}");
    }
    // With numbers, nothing is taken for the answer to another document, and none suffers from it.
    let pool = pool_of("numbered", 1, &Mark::new());
    for document in ["twice-much-later", "1", "2"] {
        let answer = pool.evaluate(format!("\"{document}\"").as_bytes(), AMPLE).await;
        let Verdict::Answer(answer) = answer.verdict else { panic!("{document}: {answer:?}") };
        let said = answer.details.unwrap()["document"].as_str().unwrap().to_owned();
        assert_eq!(said, format!("\"{document}\""));
    }
    pool.shutdown(AMPLE).await.unwrap();
}

#[tokio::test]
async fn no_worker_is_started_that_would_be_another_program() {
    let mark = Mark::new();
    let is_replaced = Arc::new(AtomicBool::new(false));
    let check = {
        let is_replaced = Arc::clone(&is_replaced);
        move || {
            let reason = "replaced".to_owned();
            is_replaced.load(Ordering::SeqCst).then_some(Verdict::PrepareFailed { reason })
        }
    };
    let pool = pool(1, &mark).with_check(check);
    let first = origin(&pool.evaluate(b"1", AMPLE).await);
    is_replaced.store(true, Ordering::SeqCst);
    assert_eq!(origin(&pool.evaluate(b"2", AMPLE).await), (1, first.1), "it runs already");
    let broken = pool.evaluate(br#""exit-three""#, AMPLE).await;
    assert_eq!(broken.verdict.error_type(), Some("exited"));
    for _ in 0..2 {
        let refused = pool.evaluate(b"3", AMPLE).await;
        assert_eq!((refused.verdict.error_type(), refused.attempts), (Some("prepare_failed"), 0));
    }
    pool.shutdown(BOUNDED).await.unwrap();
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
    nothing_is_left(&mark).await;
    assert_eq!(origin(&one.evaluate(b"1", AMPLE).await).0, 0);
    drop(one);
    nothing_is_left(&mark).await;
}

/// A dropped pool ends its processes in tasks of the runtime, which have to run meanwhile.
async fn nothing_is_left(mark: &Mark) {
    let gone = async {
        while !mark.processes().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(BOUNDED, gone).await.unwrap();
}

#[tokio::test]
async fn what_a_program_would_have_ended_with_is_how_it_ended() {
    for form in ["stream", "numbered"] {
        let mark = Mark::new();
        let pool = pool_of(form, 1, &mark);
        let evaluation = pool.evaluate(br#""would-exit""#, AMPLE).await;
        assert_eq!(
            evaluation.verdict.explain("checker", &evaluation.stderr_tail).unwrap(),
            "Custom evaluator 'checker' exited with code 1: error: no"
        );
        pool.shutdown(BOUNDED).await.unwrap();
    }
}

#[tokio::test]
async fn a_worker_without_patience_for_it_is_ended() {
    let mark = Mark::new();
    let pool = pool(1, &mark);
    assert_eq!(pool.evaluate(b"1", AMPLE).await.verdict.error_type(), None);
    pool.shutdown(Duration::ZERO).await.unwrap();
    mark.assert_nothing_left();
}

#[tokio::test]
async fn a_flood_keeps_nothing_from_being_noticed() {
    for form in ["stream", "numbered"] {
        for (document, expected) in [
            ("endless", "timed_out"),
            ("endless-stderr", "timed_out"),
            ("exit-next-to-a-flood", "leaked_pipe"),
        ] {
            let mark = Mark::new();
            let pool = pool_of(form, 1, &mark);
            let document = format!("\"{document}\"");
            // Without end if the time that is up is not noticed.
            let evaluating = pool.evaluate(document.as_bytes(), SHORT);
            let evaluation = tokio::time::timeout(BOUNDED, evaluating).await.expect(&document);
            let is_expected = evaluation.verdict.error_type() == Some(expected)
                // A busy machine may not even have got to the flood.
                || evaluation.verdict.error_type() == Some("timed_out");
            assert!(is_expected, "{form} {document}: {evaluation:?}");
            drop(pool.shutdown(BOUNDED).await);
            mark.assert_nothing_left();
        }
        for document in ["endless", "endless-stderr"] {
            let (mark, cancellation) = (Mark::new(), Cancellation::new());
            let command = fault(form, &mark);
            let pool =
                Pool::new(command, NonZeroUsize::MIN, Limits::default(), cancellation.clone());
            let pool = pool.numbered(form == "numbered");
            let cancelling = async {
                tokio::time::sleep(SHORT).await;
                cancellation.cancel();
            };
            let document = format!("\"{document}\"");
            let evaluating = async {
                let evaluating = pool.evaluate(document.as_bytes(), Duration::MAX);
                tokio::time::timeout(BOUNDED, evaluating).await.expect(&document)
            };
            let (evaluation, ()) = tokio::join!(evaluating, cancelling);
            assert_eq!(evaluation.verdict.error_type(), Some("cancelled"), "{form} {document}");
            drop(pool.shutdown(BOUNDED).await);
            mark.assert_nothing_left();
        }
    }
}
