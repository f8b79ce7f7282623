//! Workers that number their lines, and so have several documents at a time.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use evaluator_host::{
    pool::{Pool, WorkerFault},
    verdict::{Evaluation, Verdict},
};

use super::{BOUNDED, processes::Mark, streaming::pool_of};

const AMPLE: Duration = Duration::from_secs(150);
const SHORT: Duration = Duration::from_millis(400);

/// Evaluates all of these at once.
async fn evaluate(pool: &Arc<Pool>, documents: &[String], timeout: Duration) -> Vec<Evaluation> {
    let evaluating: Vec<_> = documents
        .iter()
        .map(|document| {
            let (pool, document) = (Arc::clone(pool), document.clone());
            tokio::spawn(async move { pool.evaluate(document.as_bytes(), timeout).await })
        })
        .collect();
    let mut evaluations = Vec::new();
    for evaluation in evaluating {
        evaluations.push(evaluation.await.unwrap());
    }
    evaluations
}

/// A pool whose workers have shown that they are fast, so that they are given documents ahead.
async fn warm(size: usize, mark: &Mark) -> Arc<Pool> {
    let pool = Arc::new(pool_of("numbered", size, mark));
    let documents: Vec<String> = (0..60).map(|number| format!("\"warm-{number}\"")).collect();
    for (document, evaluation) in documents.iter().zip(evaluate(&pool, &documents, AMPLE).await) {
        assert_is_answer(document, &evaluation);
    }
    pool
}

/// The process that gave the answer to this very document.
#[track_caller]
fn assert_is_answer(document: &str, evaluation: &Evaluation) -> i128 {
    let Verdict::Answer(answer) = &evaluation.verdict else {
        panic!("{document}: {evaluation:?}");
    };
    let details = answer.details.as_ref().unwrap();
    assert_eq!(details["document"].as_str(), Some(document), "{evaluation:?}");
    assert_eq!(evaluation.stderr_tail, "", "{document}");
    details["pid"].as_i128().unwrap()
}

async fn end(pool: Arc<Pool>, mark: &Mark) {
    Arc::into_inner(pool).unwrap().shutdown(BOUNDED).await.unwrap();
    mark.assert_nothing_left();
}

#[tokio::test]
async fn a_fault_costs_its_document_and_none_of_those_around_it() {
    for (fault, timeout, expected, detail) in [
        ("hang", SHORT, "timed_out", "timed out after 0.4s"),
        ("close-stdout", SHORT, "timed_out", "timed out after 0.4s"),
        ("exit-three", AMPLE, "exited", "exited with code 3: boom in document"),
        ("exit-zero", AMPLE, "bad_answer", "produced no output on stdout"),
        ("abort", AMPLE, "signalled", "exited with code -6"),
        ("noise", AMPLE, "bad_answer", "loading ..."),
        ("garbage", AMPLE, "bad_answer", "unexpected text after the value"),
        ("good-looking-garbage", AMPLE, "bad_answer", "does not begin with the number"),
        ("another-number", AMPLE, "bad_answer", "unexpected text after the value"),
        ("twice", AMPLE, "bad_answer", "more than one line was printed for one document"),
        ("half-a-line", AMPLE, "bad_answer", "unexpected end of text at line 1 column 11"),
        ("endless", SHORT, "timed_out", "timed out after 0.4s"),
        ("too-long", AMPLE, "bad_answer", "more than 67108864 bytes"),
        ("leave-a-holder", AMPLE, "leaked_pipe", "still has its stdout open"),
        ("bad-answer", AMPLE, "bad_answer", "score: expected a number from 0 to 1, found 7"),
        ("would-exit", AMPLE, "exited", "exited with code 1: error: no"),
        ("error", AMPLE, "reported", "is not mine"),
    ] {
        for place in [0, 7, 19] {
            let mark = Mark::new();
            let pool = warm(1, &mark).await;
            let mut documents: Vec<String> =
                (0..20).map(|number| format!("\"{number}\"")).collect();
            documents[place] = format!("\"{fault}\"");
            let evaluations = evaluate(&pool, &documents, timeout).await;
            for (at, (document, evaluation)) in documents.iter().zip(&evaluations).enumerate() {
                if at != place {
                    assert_is_answer(document, evaluation);
                    continue;
                }
                assert_eq!(
                    evaluation.verdict.error_type(),
                    Some(expected),
                    "{fault}: {evaluation:?}"
                );
                let text = evaluation.verdict.explain("checker", &evaluation.stderr_tail).unwrap();
                assert!(text.contains(detail), "{fault}: {text}");
            }
            end(pool, &mark).await;
        }
    }
}

#[tokio::test]
async fn several_faults_among_many_cost_one_document_each() {
    let mark = Mark::new();
    let pool = warm(2, &mark).await;
    let faults = ["abort", "twice", "exit-zero", "garbage", "exit-three", "half-a-line"];
    let documents: Vec<String> = (0..120)
        .map(|number| match number % 10 {
            3 => format!("\"{}\"", faults[number / 10 % faults.len()]),
            _ => format!("\"{number}\""),
        })
        .collect();
    let evaluations = evaluate(&pool, &documents, AMPLE).await;
    for (number, (document, evaluation)) in documents.iter().zip(&evaluations).enumerate() {
        if number % 10 == 3 {
            assert!(evaluation.verdict.error_type().is_some(), "{document}: {evaluation:?}");
        } else {
            assert_is_answer(document, evaluation);
        }
    }
    end(pool, &mark).await;
}

#[tokio::test]
async fn a_program_that_ends_after_each_answer_loses_nothing() {
    let mark = Mark::new();
    let pool = warm(1, &mark).await;
    let documents = vec!["\"answer-and-leave\"".to_owned(); 12];
    for evaluation in evaluate(&pool, &documents, AMPLE).await {
        assert_is_answer(&documents[0], &evaluation);
    }
    // A document that was not started is not to blame for an earlier one.
    let documents: Vec<String> =
        (0..12)
            .map(|number| {
                if number == 4 {
                    "\"answer-and-abort\"".to_owned()
                } else {
                    format!("\"{number}\"")
                }
            })
            .collect();
    for (document, evaluation) in documents.iter().zip(evaluate(&pool, &documents, AMPLE).await) {
        assert_is_answer(document, &evaluation);
    }
    // No document can be blamed for that exit, so the worker is.
    let fault = Arc::into_inner(pool).unwrap().shutdown(BOUNDED).await.unwrap_err();
    let WorkerFault::BadExit { verdict: Verdict::Signalled { signal: 6 }, .. } = fault else {
        panic!("{fault:?}")
    };
    mark.assert_nothing_left();
}

#[tokio::test]
async fn a_program_that_dies_at_its_start_fails_every_document_and_ends() {
    let mark = Mark::new();
    let pool = Arc::new(pool_of("dies-at-start", 2, &mark).numbered(true));
    let documents: Vec<String> = (0..15).map(|number| format!("\"{number}\"")).collect();
    for evaluation in evaluate(&pool, &documents, AMPLE).await {
        assert!(matches!(evaluation.verdict, Verdict::Exited { code: 9 }), "{evaluation:?}");
    }
    end(pool, &mark).await;
}

#[tokio::test]
async fn messages_belong_to_their_documents() {
    let mark = Mark::new();
    let pool = warm(1, &mark).await;
    let documents: Vec<String> = (0..30)
        .map(|number| if number % 3 == 1 { "\"talk\"".to_owned() } else { format!("\"{number}\"") })
        .collect();
    for (document, evaluation) in documents.iter().zip(evaluate(&pool, &documents, AMPLE).await) {
        if document == "\"talk\"" {
            let answer = match &evaluation.verdict {
                Verdict::Answer(answer) => answer.details.as_ref().unwrap(),
                other => panic!("{other:?}"),
            };
            let place = answer["number"].as_i128().unwrap();
            assert_eq!(evaluation.stderr_tail, format!("talking about document {place}\n"));
        } else {
            assert_is_answer(document, &evaluation);
        }
    }
    end(pool, &mark).await;
}

#[tokio::test]
async fn large_documents_and_answers_pass_in_both_directions() {
    let mark = Mark::new();
    let pool = warm(1, &mark).await;
    let documents: Vec<String> = (0..12)
        .map(|number| match number % 3 {
            0 => format!("\"{number}{}\"", "z".repeat(1 << 20)),
            1 => "\"long\"".to_owned(),
            _ => format!("\"{number}\""),
        })
        .collect();
    for (document, evaluation) in documents.iter().zip(evaluate(&pool, &documents, AMPLE).await) {
        assert_eq!(evaluation.verdict.error_type(), None, "{:.20}: {evaluation:?}", document);
    }
    end(pool, &mark).await;
}

#[tokio::test]
async fn an_abandoned_document_ends_only_its_worker() {
    let mark = Mark::new();
    let pool = warm(1, &mark).await;
    let hanging = {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { pool.evaluate(br#""hang""#, AMPLE).await })
    };
    let documents: Vec<String> = (0..5).map(|number| format!("\"{number}\"")).collect();
    let others = {
        let (pool, documents) = (Arc::clone(&pool), documents.clone());
        tokio::spawn(async move { evaluate(&pool, &documents, AMPLE).await })
    };
    tokio::time::sleep(SHORT).await;
    assert!(!others.is_finished(), "they wait behind it");
    hanging.abort();
    for (document, evaluation) in documents.iter().zip(others.await.unwrap()) {
        assert_is_answer(document, &evaluation);
    }
    assert!(hanging.await.unwrap_err().is_cancelled());
    end(pool, &mark).await;
}

#[tokio::test]
async fn slow_documents_are_spread_over_all_workers() {
    let mark = Mark::new();
    let pool = Arc::new(pool_of("numbered", 4, &mark));
    let documents = vec!["\"partial\"".to_owned(); 8];
    let mut processes = BTreeSet::new();
    for evaluation in evaluate(&pool, &documents, AMPLE).await {
        processes.insert(assert_is_answer(&documents[0], &evaluation));
    }
    assert!(processes.len() > 1, "{} processes", processes.len());
    end(pool, &mark).await;
}
