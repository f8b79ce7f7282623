//! Evaluators that are linked into this program and run without their own process.
//!
//! A call costs microseconds. It is not isolated: an evaluator that aborts or overflows its stack ends the program, one
//! that never returns occupies a thread, and its output is the output of the program.
//!
//! Linked evaluators answer with the line that their program would print, which is read like the program's: the same
//! scores for a microsecond. Errors are `reported` instead of `exited`, because there is no exit code. They are not
//! isolated: an abort ends the host.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

pub use evaluator_protocol::LinkedEvaluator;
use tokio::{
    task::{JoinError, spawn_blocking},
    time::sleep,
};

use crate::{
    panic,
    process::Cancellation,
    verdict::{Evaluation, Expected, Verdict},
};

/// The evaluators of this program, by name. Starts empty.
#[derive(Clone, Debug, Default)]
pub struct LinkedEvaluators {
    by_name: BTreeMap<String, Arc<dyn LinkedEvaluator>>,
}

/// Error: no evaluator of that name is linked into this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no evaluator `{name}` is linked into this program ({linked})")]
pub struct NotLinked {
    name: String,
    linked: String,
}

impl LinkedEvaluators {
    /// Adds an evaluator; one of the same name is replaced.
    pub fn register_evaluator(&mut self, evaluator: impl LinkedEvaluator + 'static) {
        self.by_name.insert(evaluator.name().to_owned(), Arc::new(evaluator));
    }

    /// All evaluators, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn LinkedEvaluator> {
        self.by_name.values().map(Arc::as_ref)
    }

    /// Returns the evaluator of that name.
    ///
    /// # Errors
    ///
    /// [`NotLinked`] if it does not exist.
    pub fn get(&self, name: &str) -> Result<Arc<dyn LinkedEvaluator>, NotLinked> {
        self.by_name.get(name).cloned().ok_or_else(|| {
            let linked: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
            let linked = match linked.is_empty() {
                true => "a program registers its evaluators with its `Runner`".to_owned(),
                false => format!("it has {}", linked.join(", ")),
            };
            NotLinked { name: name.to_owned(), linked }
        })
    }
}

/// Evaluates a document on a thread for blocking work.
///
/// After `limit` the verdict is a timeout; the thread continues until the evaluator returns.
pub(crate) async fn evaluate(
    evaluator: Arc<dyn LinkedEvaluator>,
    document: Vec<u8>,
    limit: Duration,
    expected: Expected,
    cancellation: &Cancellation,
) -> Evaluation {
    let start_time = Instant::now();
    if cancellation.is_cancelled() {
        return Evaluation::without_process(Verdict::Cancelled, Duration::ZERO);
    }
    let judging = spawn_blocking(move || evaluator.answer(&document));
    let mut line = Vec::new();
    let verdict = tokio::select! {
        biased;
        answered = judging => match answered {
            Ok(answered) => {
                line = answered;
                expected.in_line(&line)
            }
            Err(error) => died(error),
        },
        () = cancellation.cancelled() => Verdict::Cancelled,
        () = sleep(limit) => Verdict::TimedOut { limit },
    };
    let evaluation = Evaluation::without_process(verdict, start_time.elapsed());
    Evaluation { attempts: 1, ..evaluation.with_answer(&line, expected) }
}

/// The verdict on an evaluator that panicked.
fn died(error: JoinError) -> Verdict {
    match error.try_into_panic() {
        Ok(panic) => {
            let message = format!("the evaluator panicked: {}", panic::message(panic.as_ref()));
            Verdict::Reported { kind: "panic".to_owned(), message }
        }
        Err(_) => Verdict::Lost { reason: "its thread was abandoned".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Says(&'static str);

    impl LinkedEvaluator for Says {
        fn name(&self) -> &str {
            "says"
        }

        fn description(&self) -> String {
            String::new()
        }

        fn answer(&self, document: &[u8]) -> Vec<u8> {
            match self.0 {
                "panic" => panic!("on {}", String::from_utf8_lossy(document)),
                "never" => loop {
                    std::thread::park_timeout(Duration::from_millis(100));
                    if document.is_empty() {
                        return Vec::new();
                    }
                },
                text => text.as_bytes().to_vec(),
            }
        }
    }

    fn verdict(says: &'static str, limit: Duration) -> Verdict {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let evaluation = runtime.block_on(evaluate(
            Arc::new(Says(says)),
            b"doc".to_vec(),
            limit,
            Expected::Result,
            &Cancellation::new(),
        ));
        runtime.shutdown_background();
        assert_eq!(evaluation.attempts, 1);
        evaluation.verdict
    }

    #[test]
    fn verdicts_are_those_of_a_program() {
        let verdict = |says| verdict(says, Duration::from_secs(30));
        assert!(matches!(
            verdict("{\"score\": 0.5}\n"),
            Verdict::Answer(answer) if answer.score == Some(0.5)
        ));
        assert!(matches!(verdict("{\"score\": 2}"), Verdict::BadAnswer(_)));
        assert!(matches!(verdict(""), Verdict::BadAnswer(_)));
        assert!(matches!(
            verdict("panic"),
            Verdict::Reported { kind, message }
                if kind == "panic" && message == "the evaluator panicked: on doc"
        ));
    }

    #[test]
    fn time_is_limited() {
        let limit = Duration::from_millis(20);
        assert!(
            matches!(verdict("never", limit), Verdict::TimedOut { limit: passed } if passed == limit)
        );
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let mut linked = LinkedEvaluators::default();
        assert_eq!(
            linked.get("x").unwrap_err().to_string(),
            "no evaluator `x` is linked into this program (a program registers its evaluators with its `Runner`)"
        );
        linked.register_evaluator(Says(""));
        assert_eq!(
            linked.get("x").unwrap_err().to_string(),
            "no evaluator `x` is linked into this program (it has says)"
        );
        assert_eq!(linked.iter().count(), 1);
    }
}
