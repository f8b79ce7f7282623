//! A worker of a pool: a process, its documents, and the next process if that one is lost.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use evaluator_protocol::Number;
use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit},
    time::sleep,
};

use crate::{
    process::{Exit, LineWriter, Next, Session, SessionDriver, SessionEnd, StderrSections},
    verdict::{self, Evaluation, Verdict},
};

use super::{
    fault::WorkerFault,
    in_flight::{Answered, InFlight, Lost, Sent, holds_answer},
    job::Job,
    pace::Pace,
    shared::{GROWTH_INTERVAL, Offer, Shared, SlotState},
};

/// Time for which a worker keeps its permit while others may wait for it.
const TURN: Duration = Duration::from_millis(20);

/// Time that a worker has to exit when another one replaces it.
const REPLACEMENT_GRACE: Duration = Duration::from_millis(200);

/// Evaluates documents of the queue, with one process after the other if necessary, until the queue is empty and no
/// process is left.
pub(super) async fn work(shared: Arc<Shared>, id: u64) {
    let guard = SlotGuard { shared: &shared, id };
    while let Some(permit) = permit(&guard).await {
        let job = match shared.offer(id, 0, true) {
            Offer::Job(job) => job,
            Offer::Nothing | Offer::NoMore => {
                // Another worker took the document.
                drop(permit);
                if shared.release_slot(id) {
                    break;
                }
                continue;
            }
        };
        match start(&shared).await {
            Ok(session) => converse(&shared, id, session, job, permit).await,
            Err(verdict) => job.refuse(verdict),
        }
        shared.set_state(id, SlotState::Starting);
        if shared.release_slot(id) {
            break;
        }
    }
}

/// Starts a process, if its program is still the one that the run started with.
async fn start(shared: &Shared) -> Result<Session, Verdict> {
    shared.start_error().map_or(Ok(()), Err)?;
    let session = Session::start(&shared.command, &shared.limits, shared.numbered).await?;
    // A file that has changed just now may have changed before the system read it.
    shared.start_error().map_or(Ok(session), Err)
}

/// Checks regularly whether another worker pays.
pub(super) async fn grow(shared: Weak<Shared>) {
    loop {
        sleep(GROWTH_INTERVAL).await;
        // The pool was dropped.
        let Some(shared) = shared.upgrade() else { return };
        if !shared.grow() {
            return;
        }
    }
}

/// Waits for the permit to be busy; `None` if there is nothing to do any more.
async fn permit(guard: &SlotGuard<'_>) -> Option<OwnedSemaphorePermit> {
    let shared = guard.shared;
    loop {
        if shared.closed().is_some() {
            return None;
        }
        tokio::select! {
            biased;
            () = shared.cancellation.cancelled() => {
                shared.refuse_all(&Verdict::Cancelled);
                return None;
            }
            permit = Arc::clone(&shared.permits).acquire_owned() => {
                if permit.is_err() || shared.permits.is_closed() {
                    // The run starts no evaluation any more.
                    shared.refuse_all(&Verdict::NotRun);
                    return None;
                }
                return permit.ok();
            }
            () = poll_fn(|context| shared.poll_woken(guard.id, context)) => {}
        }
    }
}

/// Has documents evaluated by a process until it is lost or not needed any more.
async fn converse(
    shared: &Arc<Shared>,
    id: u64,
    mut session: Session,
    first: Job,
    permit: OwnedSemaphorePermit,
) {
    let mut driver = WorkerDriver::new(shared, id, first, permit);
    let end = session.converse(&mut driver, &shared.cancellation).await;
    let WorkerDriver { mut in_flight, permit, first, .. } = driver;
    let started = session.notes().started();
    let rest = session.take_rest();
    if let Some(answered) = in_flight.settle(&rest) {
        send_answer(answered, session.notes(), shared);
    }
    in_flight.note_stray_output(&rest);
    let was_idle = !shared.numbered && in_flight.is_empty();
    let left_idle = end == SessionEnd::Stopped && in_flight.is_empty() && !in_flight.is_unusable();
    if in_flight.is_desynchronized() {
        shared.report_fault(WorkerFault::Desynchronized);
    }
    let Lost { blamed, mut again, processing } = in_flight.finish(&end, &rest, started);
    if let SessionEnd::Exited(exit) = &end
        && blamed.is_none()
        && let Some(verdict) = verdict_on_exit(exit)
    {
        let fault = bad_exit_fault(verdict, session.notes());
        // A program that numbers its answers also marks the document that it is processing. Any other program processes
        // the first one that has no answer.
        let suspect = if shared.numbered { processing } else { Some(0) };
        match suspect.and_then(|index| again.get_mut(index)) {
            Some(job) => job.suspected = Some(Box::new(fault)),
            None => shared.report_fault(fault),
        }
    }
    let again = first.into_iter().chain(again);
    if end == SessionEnd::Cancelled {
        again.for_each(|job| job.refuse(Verdict::Cancelled));
    } else {
        shared.put_back(again.collect());
    }
    if !left_idle {
        session.end(Duration::ZERO, &shared.cancellation).await;
    } else if let Some(verdict) = end_idle(shared, &mut session).await {
        shared.report_fault(bad_exit_fault(verdict, session.notes()));
    }
    if was_idle && holds_answer(&session.take_rest()) {
        shared.report_fault(WorkerFault::Desynchronized);
    }
    if let Some((sent, verdict, printed)) = blamed {
        let notes = session.notes().take(sent.number);
        let took = sent.since.elapsed();
        let evaluation = Evaluation::new(verdict, took, &notes, &printed);
        finish(sent, evaluation, &printed, shared);
    }
    drop(permit);
}

/// Ends a worker that has answered every document. Returns the fault of its exit, unless it is killed because it
/// is replaced.
async fn end_idle(shared: &Shared, session: &mut Session) -> Option<Verdict> {
    let closed = shared.closed();
    let grace = closed.unwrap_or(REPLACEMENT_GRACE);
    match session.end(grace, &shared.cancellation).await {
        Some(exit) => verdict_on_exit(&exit),
        None if shared.cancellation.is_cancelled() => closed.map(|_| Verdict::Cancelled),
        // A dropped pool does not wait.
        None => closed.filter(|it| !it.is_zero()).map(|limit| Verdict::TimedOut { limit }),
    }
}

fn bad_exit_fault(verdict: Verdict, notes: &mut StderrSections) -> WorkerFault {
    // All sections that belong to no answered document.
    let stderr = notes.take(Number(u64::MAX));
    let evaluation = Evaluation::new(verdict, Duration::ZERO, &stderr, &[]);
    let stderr = evaluation.end_of_stderr().into_owned();
    WorkerFault::BadExit { verdict: evaluation.verdict, stderr }
}

/// The verdict on a worker that exited by itself without a document as the cause; `None` if it exited well.
fn verdict_on_exit(exit: &Exit) -> Option<Verdict> {
    verdict::from_ending(&exit.ending).or_else(|| exit.leaked_pipe.then_some(Verdict::LeakedPipe))
}

/// Sends an answer to its caller.
fn send_answer(answered: Answered, notes: &mut StderrSections, shared: &Shared) {
    let Answered { sent, verdict, printed, took } = answered;
    let evaluation = Evaluation::new(verdict, took, &notes.take(sent.number), &printed);
    finish(sent, evaluation, &printed, shared);
}

fn finish(mut sent: Sent, evaluation: Evaluation, printed: &[u8], shared: &Shared) {
    if let Some(fault) = sent.job.suspected.take()
        && matches!(evaluation.verdict, Verdict::Answer(_))
    {
        shared.report_fault(*fault);
    }
    let text = Number::split(printed).map_or(printed, |(_, text)| text);
    sent.job.finish(evaluation.with_answer(text, shared.expected).noting_blame(text));
}

/// Drives the session with a process.
struct WorkerDriver<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
    /// The document for which the process was started.
    first: Option<Job>,
    in_flight: InFlight,
    pace: Pace,
    /// The permit to be busy, and when it was obtained.
    permit: Option<(OwnedSemaphorePermit, Instant)>,
    /// A pending request for a permit.
    permit_request: Option<PermitRequest>,
    /// True if it has a document that needs a worker of its own.
    retires: bool,
    /// True if answers have changed the average duration.
    learned: bool,
}

type PermitRequest =
    Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send + Sync>>;

impl SessionDriver for WorkerDriver<'_> {
    fn next(&mut self, writer: &mut LineWriter<'_>) -> Next {
        let is_given_up = self.in_flight.head().is_some_and(|head| head.job.is_given_up());
        if self.in_flight.is_unusable() || is_given_up {
            return Next::Stop;
        }
        match self.in_flight.settles_at() {
            Some(end) if end > Instant::now() => return Next::Pause(end.into()),
            Some(_) => match self.in_flight.settle(writer.rest()) {
                Some(answered) => self.answered(answered, writer.notes),
                None => return Next::Stop,
            },
            None => {}
        }
        if std::mem::take(&mut self.learned)
            && let Some(mean) = self.pace.mean()
        {
            self.shared.learn(mean);
        }
        loop {
            match self.next_document(writer) {
                NextDocument::Sent => {}
                NextDocument::Nothing => break,
                NextDocument::Busy => {
                    self.shared.set_state(self.id, SlotState::Busy);
                    break;
                }
                NextDocument::Stop => return Next::Stop,
            }
        }
        if self.in_flight.is_empty() && self.permit_request.is_none() {
            self.permit = None;
        }
        Next::Wait(self.in_flight.head().and_then(deadline))
    }

    fn on_line(&mut self, line: &[u8], rest: &[u8], written: u64, notes: &mut StderrSections) {
        if let Some(answered) = self.in_flight.on_line(line, rest, written) {
            self.answered(answered, notes);
        }
    }

    fn poll_wake(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(permit_request) = &mut self.permit_request
            && let Poll::Ready(permit) = permit_request.as_mut().poll(context)
        {
            self.permit_request = None;
            self.permit = permit.ok().map(|permit| (permit, Instant::now()));
            return Poll::Ready(());
        }
        if let Some(head) = self.in_flight.head_mut()
            && head.job.poll_given_up(context).is_ready()
        {
            return Poll::Ready(());
        }
        self.shared.poll_woken(self.id, context)
    }
}

/// Result of looking for a document.
enum NextDocument {
    /// A document was sent, or refused.
    Sent,
    /// The queue is empty. The worker will be woken.
    Nothing,
    /// The worker looks again after its next answer or with a permit.
    Busy,
    /// The process cannot be used any more.
    Stop,
}

impl<'a> WorkerDriver<'a> {
    fn new(shared: &'a Arc<Shared>, id: u64, first: Job, permit: OwnedSemaphorePermit) -> Self {
        Self {
            shared,
            id,
            first: Some(first),
            in_flight: InFlight::new(shared.numbered, shared.expected),
            pace: Pace::new(shared.numbered),
            permit: Some((permit, Instant::now())),
            permit_request: None,
            retires: false,
            learned: false,
        }
    }

    fn answered(&mut self, answered: Answered, notes: &mut StderrSections) {
        self.pace.answered(answered.took);
        self.learned = true;
        send_answer(answered, notes, self.shared);
    }

    /// Sends one more document if there is one and the worker may take it.
    fn next_document(&mut self, writer: &mut LineWriter<'_>) -> NextDocument {
        let is_empty = self.in_flight.is_empty();
        if let Some(first) = self.first.take() {
            return self.send(first, writer);
        }
        if self.retires {
            return if is_empty { NextDocument::Stop } else { NextDocument::Busy };
        }
        let turn_is_over = self.permit.as_ref().is_some_and(|(_, since)| since.elapsed() > TURN);
        if !is_empty
            && (turn_is_over || !self.pace.has_room(self.in_flight.len(), self.in_flight.bytes()))
        {
            return NextDocument::Busy;
        }
        if turn_is_over {
            // Workers that wait for a permit come first.
            self.permit = None;
        }
        if self.permit_request.is_some() {
            return NextDocument::Busy;
        }
        let fresh = self.in_flight.sent() == 0;
        // A permit is requested only if there is a document.
        let job = match self.shared.offer(self.id, self.in_flight.len(), fresh) {
            Offer::Job(job) => job,
            Offer::Nothing => return NextDocument::Nothing,
            Offer::NoMore if is_empty => return NextDocument::Stop,
            Offer::NoMore => return NextDocument::Busy,
        };
        if self.shared.permits.is_closed() {
            // The run starts no evaluation any more.
            job.refuse(Verdict::NotRun);
            return NextDocument::Sent;
        }
        if is_empty && !writer.is_free() {
            // The idle process has printed something or died. The document is not the cause.
            self.first = Some(job);
            return NextDocument::Stop;
        }
        if self.permit.is_none() {
            match Arc::clone(&self.shared.permits).try_acquire_owned() {
                Ok(permit) => self.permit = Some((permit, Instant::now())),
                Err(_) => {
                    self.permit_request =
                        Some(Box::pin(Arc::clone(&self.shared.permits).acquire_owned()));
                    self.shared.put_back(vec![job]);
                    return NextDocument::Busy;
                }
            }
        }
        self.send(job, writer)
    }

    fn send(&mut self, job: Job, writer: &mut LineWriter<'_>) -> NextDocument {
        self.retires = job.needs_own_worker();
        let number = self.in_flight.next_number();
        writer.notes.expect(number);
        if let Some(target) = job.document.target() {
            writer.send([target.to_line(number).trim_end().as_bytes()]);
        }
        let [own, shared] = job.document.parts();
        let end = if self.shared.numbered {
            writer.send([format!("{number} ").as_bytes(), own, shared])
        } else {
            writer.send([own, shared])
        };
        self.in_flight.push(job, end);
        NextDocument::Sent
    }
}

/// Time at which a document times out.
fn deadline(head: &Sent) -> Option<tokio::time::Instant> {
    // A limit beyond the range of the clock does not apply.
    head.since.checked_add(head.job.timeout).map(Into::into)
}

/// The slot of a worker, removed on drop even if its task is aborted.
struct SlotGuard<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
}

impl Drop for SlotGuard<'_> {
    fn drop(&mut self) {
        self.shared.remove_slot(self.id);
    }
}
