//! Several judges vote on every answer.
//!
//! Being `async` makes no evaluator faster by itself. It pays where judging means waiting, as for the answers of models
//! behind an API: all questions are asked at once, and the evaluation takes as long as the slowest answer instead of the
//! sum of all. The judges here are rules that answer from a thread of their own, so that the example runs without an
//! account; a client's `async` function takes the place of `ask`. Clients that need tokio get it with
//! `evaluator-sdk = { features = ["tokio"] }`.

use std::{
    future::Future,
    process::ExitCode,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
    thread,
};

use evaluator_sdk::{EvalResult, Invocations, Score, evaluator};

type Judge = (&'static str, fn(&str) -> bool);

const JUDGES: [Judge; 3] = [
    ("says something", |answer| answer.split_whitespace().count() >= 3),
    ("keeps its temper", |answer| !answer.contains("!!") && !answer.contains("ASAP")),
    ("does not send the user away", |answer| !answer.to_lowercase().contains("ask your")),
];

/// Scores the share of judges who like an answer.
#[evaluator]
async fn consensus(turns: Invocations<'_>) -> EvalResult {
    let asked: Vec<_> = turns
        .iter()
        .map(|turn| {
            let answer = turn.final_response.clone().unwrap_or_default();
            JUDGES.map(|(name, judge)| (name, ask(judge, answer.clone())))
        })
        .collect();
    let mut objections = Vec::new();
    let mut scores = Vec::new();
    for (number, judges) in (1..).zip(asked) {
        let mut votes = 0;
        for (name, vote) in judges {
            if vote.await {
                votes += 1;
            } else {
                objections.push(format!("turn {number}: {name}: no"));
            }
        }
        scores.push(Score::ratio(votes, JUDGES.len()));
    }
    EvalResult::mean_of(scores).detail("objections", objections)
}

/// Asks a judge now; the future is the vote.
fn ask(judge: fn(&str) -> bool, answer: String) -> impl Future<Output = bool> {
    #[derive(Default)]
    struct Slot {
        vote: Option<bool>,
        waiting: Option<Waker>,
    }
    let slot = Arc::new(Mutex::new(Slot::default()));
    let theirs = Arc::clone(&slot);
    thread::spawn(move || {
        let vote = judge(&answer);
        let mut slot = theirs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        slot.vote = Some(vote);
        if let Some(waker) = slot.waiting.take() {
            waker.wake();
        }
    });
    std::future::poll_fn(move |context| {
        let mut slot = slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match slot.vote {
            Some(vote) => Poll::Ready(vote),
            None => {
                slot.waiting = Some(context.waker().clone());
                Poll::Pending
            }
        }
    })
}

fn main() -> ExitCode {
    consensus::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    #[test]
    fn every_judge_has_a_vote() {
        let input = testing::input("consensus")
            .turn("Do I pay the fee?", "No, the company pays it.")
            .turn("Really?", "Ask your manager!!");

        // Runs the future to its end, as the program does.
        let result = testing::run(&consensus::EVALUATOR, &input).unwrap();

        assert_eq!(result.per_invocation_scores, [Some(Score::ONE), Some(Score::ratio(1, 3))]);
        let objections = result.details.unwrap()["objections"].clone();
        assert_eq!(objections[0], "turn 2: keeps its temper: no");
    }
}
