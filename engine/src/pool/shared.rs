//! State that the workers of a pool share: the queue and the slots of the workers.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use tokio::{sync::Semaphore, task::JoinHandle};

use crate::{
    process::{Cancellation, CommandSpec, Limits},
    verdict::{Expected, Verdict},
};

use super::{fault::WorkerFault, job::Job, worker};

/// Interval at which the pool checks whether another worker pays.
pub(super) const GROWTH_INTERVAL: Duration = Duration::from_millis(10);

/// Cost of starting a worker: the waiting work should take longer.
const START: Duration = Duration::from_millis(10);

/// If documents have waited this long without a break, another worker pays even if few wait at a time.
const ALWAYS_BEHIND: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) command: CommandSpec,
    pub(super) limits: Limits,
    pub(super) cancellation: Cancellation,
    /// True if the program numbers its lines.
    pub(super) numbered: bool,
    /// Expected content of its lines.
    pub(super) expected: Expected,
    pub(super) size: usize,
    /// Held by busy workers.
    pub(super) permits: Arc<Semaphore>,
    pub(super) check: Check,
    /// The first fault that makes all answers unreliable.
    fault: OnceLock<WorkerFault>,
    state: Mutex<State>,
}

/// Returns the reason why no process may be started any more, if there is one.
#[derive(derive_more::Debug)]
#[debug("Check")]
pub(super) struct Check(pub(super) Box<dyn Fn() -> Option<Verdict> + Send + Sync>);

#[derive(Debug, Default)]
pub(super) struct State {
    queue: VecDeque<Job>,
    /// Time at which the queue was last empty.
    behind_since: Option<Instant>,
    slots: Vec<WorkerSlot>,
    /// Number of slots created so far, for their ids.
    slots_created: u64,
    tasks: Vec<JoinHandle<()>>,
    /// True while a task checks whether another worker pays.
    growing: bool,
    /// Moving average of the duration of a document.
    mean: Option<Duration>,
    /// Set once the pool is closed: the time workers have to exit.
    closed: Option<Duration>,
}

/// The slot of a worker, whose process may be replaced.
#[derive(Debug)]
struct WorkerSlot {
    id: u64,
    slot_state: SlotState,
    woken: bool,
    waker: Option<Waker>,
}

/// Capacity of a worker for documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotState {
    /// It has no process yet.
    Starting,
    /// It holds this many documents and can take another one.
    Accepting(usize),
    /// It takes no document for now.
    Busy,
}

/// The worker has no document.
const IDLE: SlotState = SlotState::Accepting(0);

/// Answer to a worker that asks for a document.
pub(super) enum Offer {
    Job(Job),
    /// No document for this worker at the moment.
    Nothing,
    /// No further document for this worker: the pool is closed, or the next document needs a worker of its own, and this
    /// one has processed others.
    NoMore,
}

impl Shared {
    pub(super) fn new(
        command: CommandSpec,
        size: usize,
        limits: Limits,
        cancellation: Cancellation,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)));
        Self {
            command,
            limits,
            cancellation,
            numbered: false,
            expected: Expected::default(),
            size,
            permits,
            check: Check(Box::new(|| None)),
            fault: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    /// Returns the reason why no process may be started any more, if there is one.
    pub(super) fn start_error(&self) -> Option<Verdict> {
        (self.check.0)()
    }

    /// Stores a fault that makes all answers unreliable.
    pub(super) fn report_fault(&self, fault: WorkerFault) {
        // The first fault is reported.
        let _ = self.fault.set(fault);
    }

    pub(super) fn fault(&self) -> Option<WorkerFault> {
        self.fault.get().cloned()
    }

    /// Adds a document to the end of the queue and wakes or starts a worker.
    pub(super) fn submit(self: &Arc<Self>, job: Job) {
        let mut state = self.state();
        if state.closed.is_some() {
            drop(state);
            return job
                .refuse(Verdict::Lost { reason: "the worker pool was shut down".to_owned() });
        }
        state.queue.push_back(job);
        state.behind_since.get_or_insert_with(Instant::now);
        self.wake_one(state);
    }

    /// Puts documents back to the front of the queue.
    pub(super) fn put_back(self: &Arc<Self>, jobs: Vec<Job>) {
        let number = jobs.len();
        let mut state = self.state();
        for job in jobs.into_iter().rev() {
            state.queue.push_front(job);
        }
        if number > 0 {
            state.behind_since.get_or_insert_with(Instant::now);
        }
        drop(state);
        for _ in 0..number {
            self.wake_one(self.state());
        }
    }

    /// Wakes the worker with the fewest documents. If none can take more, another worker may have to start.
    fn wake_one(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let load = |slot: &WorkerSlot| match slot.slot_state {
            SlotState::Accepting(documents) => Some(documents),
            SlotState::Starting | SlotState::Busy => None,
        };
        let least = state
            .slots
            .iter_mut()
            .filter(|slot| load(slot).is_some())
            .min_by_key(|slot| load(slot));
        if let Some(slot) = least {
            // It is not woken a second time before it has looked.
            slot.slot_state = SlotState::Busy;
            let waker = slot.wake();
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        } else if state.slots.is_empty() {
            self.add_slot(&mut state);
        } else if !state.growing && state.slots.len() < self.size {
            state.growing = true;
            drop(state);
            // The task ends soon after the queue is empty.
            tokio::spawn(worker::grow(Arc::downgrade(self)));
        }
    }

    /// Adds a slot with a worker.
    fn add_slot(self: &Arc<Self>, state: &mut State) {
        let id = state.slots_created;
        state.slots_created += 1;
        state.slots.push(WorkerSlot {
            id,
            slot_state: SlotState::Starting,
            woken: false,
            waker: None,
        });
        state.tasks.retain(|task| !task.is_finished());
        state.tasks.push(tokio::spawn(worker::work(Arc::clone(self), id)));
    }

    /// Adds a worker if that pays. Returns true if the pool has to check again later.
    pub(super) fn grow(self: &Arc<Self>) -> bool {
        let mut state = self.state();
        let is_over = state.queue.is_empty()
            || state.closed.is_some()
            || state.slots.len() >= self.size
            || self.cancellation.is_cancelled();
        if is_over {
            state.growing = false;
            return false;
        }
        // Workers that wait for a permit or start their process take documents first.
        let is_starting = state.slots.iter().any(|slot| slot.slot_state == SlotState::Starting);
        let waiting = u32::try_from(state.queue.len()).unwrap_or(u32::MAX);
        let is_much = state.mean.is_none_or(|mean| mean.saturating_mul(waiting) > START);
        let is_old = state.behind_since.is_some_and(|since| since.elapsed() > ALWAYS_BEHIND);
        if !is_starting && (is_much || is_old) {
            self.add_slot(&mut state);
        }
        true
    }

    /// Removes the slot of a worker if there is nothing to do. Returns true if it was removed.
    pub(super) fn release_slot(&self, id: u64) -> bool {
        let mut state = self.state();
        let leaves = state.queue.is_empty() || state.closed.is_some();
        if leaves {
            state.slots.retain(|slot| slot.id != id);
        }
        leaves
    }

    /// Removes the slot of a worker whose task has ended.
    pub(super) fn remove_slot(&self, id: u64) {
        let mut state = self.state();
        state.slots.retain(|slot| slot.id != id);
        if state.slots.is_empty() {
            // No worker is left for these. Dropping them informs their callers.
            let queue = std::mem::take(&mut state.queue);
            drop(state);
            drop(queue);
        }
    }

    /// Takes the next document for a worker that holds `documents` unanswered ones; `fresh` if it has not received any
    /// yet. If the queue is empty, the worker will be woken.
    pub(super) fn offer(&self, id: u64, documents: usize, fresh: bool) -> Offer {
        let mut state = self.state();
        if let Some(slot) = state.slot(id) {
            slot.slot_state = SlotState::Accepting(documents);
        }
        if state.closed.is_some() {
            return Offer::NoMore;
        }
        while state.queue.front().is_some_and(Job::is_given_up) {
            state.queue.pop_front();
        }
        let another_is_idle =
            || state.slots.iter().any(|slot| slot.id != id && slot.slot_state == IDLE);
        let offer = match state.queue.front() {
            None => Offer::Nothing,
            Some(job) if job.needs_own_worker() && !fresh => Offer::NoMore,
            // The idle worker was woken and takes it.
            Some(_) if documents > 0 && another_is_idle() => Offer::Nothing,
            Some(_) => state.queue.pop_front().map_or(Offer::Nothing, Offer::Job),
        };
        if state.queue.is_empty() {
            state.behind_since = None;
        }
        offer
    }

    /// Sets the state of a slot.
    pub(super) fn set_state(&self, id: u64, slot_state: SlotState) {
        if let Some(slot) = self.state().slot(id) {
            slot.slot_state = slot_state;
        }
    }

    /// Sets the average duration of a document.
    pub(super) fn learn(&self, mean: Duration) {
        self.state().mean = Some(mean);
    }

    /// Ready when the worker was woken since the last call.
    pub(super) fn poll_woken(&self, id: u64, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        let Some(slot) = state.slot(id) else { return Poll::Pending };
        if std::mem::take(&mut slot.woken) {
            return Poll::Ready(());
        }
        if !slot.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            slot.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// Time workers have to exit, if the pool is closed.
    pub(super) fn closed(&self) -> Option<Duration> {
        self.state().closed
    }

    /// Closes the pool. The returned tasks end when their workers have ended.
    pub(super) fn close(&self, grace: Duration) -> Vec<JoinHandle<()>> {
        let mut state = self.state();
        state.closed.get_or_insert(grace);
        let wakers: Vec<Waker> = state.slots.iter_mut().filter_map(WorkerSlot::wake).collect();
        let (tasks, queue) = (std::mem::take(&mut state.tasks), std::mem::take(&mut state.queue));
        drop(state);
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
        tasks
    }

    /// Gives all waiting documents this verdict.
    pub(super) fn refuse_all(&self, verdict: &Verdict) {
        let queue = std::mem::take(&mut self.state().queue);
        queue.into_iter().for_each(|job| job.refuse(verdict.clone()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics halfway through a change, so the state is valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn slot(&mut self, id: u64) -> Option<&mut WorkerSlot> {
        self.slots.iter_mut().find(|slot| slot.id == id)
    }
}

impl WorkerSlot {
    fn wake(&mut self) -> Option<Waker> {
        self.woken = true;
        self.waker.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool with one worker that is busy, and 20 documents that wait.
    fn behind(mean: Option<Duration>, since: Instant) -> Arc<Shared> {
        let command = CommandSpec::new("/no/such/program");
        let shared = Arc::new(Shared::new(command, 20, Limits::default(), Cancellation::new()));
        let mut state = shared.state();
        let slot_state = SlotState::Busy;
        state.slots.push(WorkerSlot { id: 0, slot_state, woken: false, waker: None });
        state.slots_created = 1;
        for _ in 0..20 {
            state.queue.push_back(Job::new(b"1".into(), Duration::MAX).0);
        }
        (state.mean, state.behind_since) = (mean, Some(since));
        drop(state);
        shared
    }

    #[tokio::test]
    async fn a_worker_is_added_where_that_is_worth_its_start() {
        // No time has passed since then, however slow this machine is.
        let later = Instant::now() + Duration::from_secs(3600);
        let workers = |mean, since| {
            let shared = behind(mean, since);
            assert!(shared.grow(), "documents still wait");
            shared.state().slots.len()
        };
        assert_eq!(workers(Some(Duration::from_micros(10)), later), 1, "20 of them take 0.2 ms");
        assert_eq!(workers(Some(Duration::from_millis(1)), later), 2);
        assert_eq!(workers(None, later), 2, "their duration is unknown");
        let Some(long_ago) = Instant::now().checked_sub(2 * ALWAYS_BEHIND) else { return };
        assert_eq!(workers(Some(Duration::from_micros(10)), long_ago), 2);
    }
}
