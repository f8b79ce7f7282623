//! The first worker of a program that is asked something before it evaluates: its imports are done once.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use evaluator_protocol::Number;
use tokio::time::Instant;

use super::target::Target;
use crate::process::{
    Cancellation, Captured, CommandSpec, Ending, Limits, LineWriter, Next, Outcome, Session,
    SessionDriver, SessionEnd, StderrSections,
};

/// The process that was asked, until a pool takes it as its first worker.
#[derive(Clone, Debug, Default)]
pub struct FirstWorker(Arc<Mutex<Option<Session>>>);

impl FirstWorker {
    /// Starts the process, and asks questions. It stays if it answers each as `is_answer` accepts. `target` has the models that its
    /// documents may ask.
    ///
    /// Returns the outcome of a process that prints the answers and exits, or that of this one if it exits.
    pub async fn ask(
        &self,
        worker: &CommandSpec,
        target: Option<&Target>,
        questions: &[String],
        is_answer: fn(&str) -> bool,
        limits: &Limits,
        cancellation: &Cancellation,
    ) -> Outcome {
        let start = Instant::now();
        let outcome = |ending, stdout: &[u8], stderr| {
            let (stdout, duration) = (Captured::complete(stdout), start.elapsed());
            Outcome { ending, stdout, stderr, unsent: 0, duration }
        };
        // What the program keeps of its models from the beginning has to be valid for documents.
        let access = match target.map(|target| target.open(0)).transpose() {
            Ok(access) => access,
            Err(error) => {
                let reason = format!("its target proxy cannot be opened: {error}");
                return outcome(Ending::Lost { reason }, &[], Captured::default());
            }
        };
        let mut session = match Session::start(worker, limits, true).await {
            Ok(session) => session,
            Err(error) => return outcome(Ending::SpawnFailed(error), &[], Captured::default()),
        };
        let access = access.as_ref().map(|access| access.of_document().to_line(Number(0)));
        let asked = questions.iter().map(|question| format!("? {question}"));
        let mut asking = Asking {
            lines: access.into_iter().chain(asked).collect(),
            awaited: questions.len(),
            answers: Vec::new(),
            deadline: start.checked_add(limits.timeout),
        };
        let end = session.converse(&mut asking, cancellation).await;
        let answers = asking.answers;
        let are_accepted = |line: &Vec<u8>| std::str::from_utf8(line).is_ok_and(is_answer);
        let mut printed = answers.join(&b'\n');
        if end == SessionEnd::Stopped && answers.iter().all(are_accepted) {
            *self.lock() = Some(session);
            return outcome(Ending::Exited(0), &printed, Captured::default());
        }
        session.end(Duration::ZERO, cancellation).await;
        printed.extend(session.take_rest());
        let ending = match end {
            SessionEnd::Stopped | SessionEnd::LineTooLong { .. } => Ending::Exited(0),
            SessionEnd::TimedOut => Ending::TimedOut { limit: limits.timeout },
            SessionEnd::Cancelled => Ending::Cancelled,
            SessionEnd::Exited(exit) => exit.ending,
        };
        outcome(ending, &printed, session.notes().take(Number(u64::MAX)))
    }

    /// Takes the process, if it still runs and waits.
    pub(crate) fn take(&self) -> Option<Session> {
        let mut session = self.lock().take()?;
        session.is_free().then_some(session)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends questions and collects the lines that answer them.
struct Asking {
    /// The access to the models and the questions, until they are sent.
    lines: Vec<String>,
    /// Number of answers.
    awaited: usize,
    answers: Vec<Vec<u8>>,
    deadline: Option<Instant>,
}

impl SessionDriver for Asking {
    fn next(&mut self, writer: &mut LineWriter<'_>) -> Next {
        for line in std::mem::take(&mut self.lines) {
            writer.send([line.trim_end().as_bytes()]);
        }
        if self.answers.len() >= self.awaited { Next::Stop } else { Next::Wait(self.deadline) }
    }

    fn on_line(&mut self, line: &[u8], _: &[u8], _: u64, _: &mut StderrSections) {
        self.answers.push(line.to_vec());
    }

    fn poll_wake(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

#[cfg(all(test, unix))]
mod tests {
    use evaluator_test_support::Directory;

    use super::*;

    /// Asks a shell that runs `script` after it has answered, and returns whether it can be the first worker.
    async fn stays(script: &str, is_ready: impl Fn() -> bool) -> bool {
        let first = FirstWorker::default();
        let text = format!("read -r question; printf '%s\\n' \"$question\"; {script}");
        let shell = CommandSpec::new("sh").arg("-c").arg(text);
        let questions = ["it".to_owned()];
        let (limits, cancellation) = (Limits::default(), Cancellation::new());
        let is_answer = |line: &str| line == "? it";
        let outcome = first.ask(&shell, None, &questions, is_answer, &limits, &cancellation).await;
        assert_eq!(
            (outcome.ending, outcome.stdout.head()),
            (Ending::Exited(0), b"? it".as_slice())
        );
        while !is_ready() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        first.take().is_some()
    }

    #[tokio::test]
    async fn a_process_that_ended_after_its_answer_is_not_the_first_worker() {
        let directory = Directory::new("first-worker");
        let ready = directory.path("ready");
        let script = format!("exec >&-; : > '{}'; sleep 60", ready.display());
        assert!(!stays(&script, || ready.exists()).await);
        assert!(stays("read -r document", || true).await);
    }
}
