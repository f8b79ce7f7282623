//! One process of an evaluator, and one document after the other.

use std::time::{Duration, Instant};

use crate::{
    process::{Cancellation, CommandSpec, Ending, Interruption, Limits, Session, SpawnError},
    verdict::{self, BadAnswer, Evaluation, Verdict},
};

/// A running evaluator that takes one document at a time.
///
/// Lines carry nothing that ties an answer to its document but their order. So a worker is used only as long as it is
/// in step: one that was late, or printed anything but one line of the agreed shape, is ended, because what it prints
/// next might be taken for the answer to another document.
#[derive(Debug)]
pub struct Worker {
    session: Session,
    in_step: bool,
}

impl Worker {
    /// Starts a process. Of `limits`, the timeout is not used: every document has its own.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] when the process cannot be started.
    pub async fn start(command: &CommandSpec, limits: &Limits) -> Result<Self, SpawnError> {
        Ok(Self { session: Session::start(command, limits).await?, in_step: true })
    }

    /// Whether another document may be given to it: it runs, is in step, and has said nothing unasked.
    pub async fn is_ready(&mut self) -> bool {
        self.in_step && self.session.is_ready().await
    }

    /// Has one document evaluated. Line ends in it become blanks.
    ///
    /// Afterwards the worker may have ended, see [`Worker::is_ready`]. That is also so when this future is dropped
    /// before it is done.
    pub async fn evaluate(
        &mut self,
        document: &[u8],
        timeout: Duration,
        cancellation: &Cancellation,
    ) -> Evaluation {
        let begun = Instant::now();
        let in_step = std::mem::replace(&mut self.in_step, false);
        if !in_step {
            let reason = "it is out of step after an earlier document".to_owned();
            return Evaluation::without_process(Verdict::Lost { reason }, begun.elapsed());
        }
        self.session.send(document);
        let (verdict, printed) = match self.session.receive(timeout, cancellation).await {
            Ok(line) if self.session.has_unread() => (more_than_one_line(), line),
            Ok(line) => (verdict::from_text(&line), line),
            Err(Interruption::Ended { ending, rest, leaked_pipe }) => {
                (from_end(&ending, &rest, leaked_pipe), rest)
            }
            Err(interruption) => (from_interruption(interruption), self.session.take_unread()),
        };
        self.in_step = matches!(verdict, Verdict::Answer(_) | Verdict::Reported { .. });
        if !self.in_step {
            self.session.end(Duration::ZERO).await;
        }
        Evaluation::new(verdict, begun.elapsed(), &self.session.take_stderr(), &printed)
    }

    /// Tells it that no more documents come; returns at once.
    pub fn close_input(&mut self) {
        self.session.close_input();
    }

    /// Ends the process: closes its input, gives it `patience` to end by itself, then ends it.
    pub async fn end(mut self, patience: Duration) {
        self.session.end(patience).await;
    }
}

/// The verdict when the process ended before its answer did.
fn from_end(ending: &Ending, rest: &[u8], leaked_pipe: bool) -> Verdict {
    match verdict::from_ending(ending) {
        Some(verdict) => verdict,
        None if leaked_pipe => Verdict::LeakedPipe,
        // The last line need not end with a line feed.
        None => verdict::from_text(rest),
    }
}

/// The verdict when no line came from a process that still runs.
fn from_interruption(interruption: Interruption) -> Verdict {
    match interruption {
        Interruption::TimedOut { limit } => Verdict::TimedOut { limit },
        Interruption::Cancelled => Verdict::Cancelled,
        Interruption::LineTooLong { limit } => Verdict::BadAnswer(BadAnswer::TooLarge { limit }),
        Interruption::Ended { ending, rest, leaked_pipe } => from_end(&ending, &rest, leaked_pipe),
    }
}

fn more_than_one_line() -> Verdict {
    let reason = "more than one line was printed for one document; print the result and nothing else, logs belong on \
                  standard error";
    Verdict::BadAnswer(BadAnswer::NotJson { reason: reason.to_owned() })
}
