//! Async functions, without any runtime.

use std::{future::poll_fn, task::Poll, thread};

use super::*;

#[evaluator]
async fn woken_elsewhere(input: &EvalInput, turns: Invocations<'_>) -> Result<f64, String> {
    let mut asked = false;
    poll_fn(|context| {
        if std::mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        thread::spawn(move || waker.wake());
        Poll::Pending
    })
    .await;
    if turns.len() == input.invocations.len() { Ok(1.0) } else { Err("lost".to_owned()) }
}

#[test]
fn run_to_their_end() {
    assert_eq!(score(&woken_elsewhere::EVALUATOR), 1.0);
}
