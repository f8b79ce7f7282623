//! What the workers of a pool have in common: the queue, and who of them may be called.

use std::{
    collections::VecDeque,
    fmt,
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

/// How long documents wait before it is asked whether one more worker is worth it.
pub(super) const PATIENCE: Duration = Duration::from_millis(10);

/// What it costs to start a worker: the work that waits should take longer.
const START: Duration = Duration::from_millis(10);

/// When documents have always been waiting for so long, one more worker is worth it even if little waits at a time.
const ALWAYS_BEHIND: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) command: CommandSpec,
    pub(super) limits: Limits,
    pub(super) cancellation: Cancellation,
    /// Whether the program says which document a line belongs to.
    pub(super) numbered: bool,
    /// What its lines have to be.
    pub(super) expected: Expected,
    pub(super) size: usize,
    /// A worker that is busy has one.
    pub(super) permits: Arc<Semaphore>,
    pub(super) check: Check,
    /// What makes all answers unreliable; the first fault that was found.
    fault: OnceLock<WorkerFault>,
    state: Mutex<State>,
}

/// Says why no process is to be started any more, if that is so.
pub(super) struct Check(pub(super) Box<dyn Fn() -> Option<Verdict> + Send + Sync>);

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Check")
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    queue: VecDeque<Job>,
    /// Since when the queue has not been empty.
    behind_since: Option<Instant>,
    slots: Vec<WorkerSlot>,
    /// How many slots there have been.
    slots_created: u64,
    tasks: Vec<JoinHandle<()>>,
    /// Whether somebody looks from time to time if one more worker is worth it.
    growing: bool,
    /// What a document takes a worker, more or less.
    mean: Option<Duration>,
    /// Nothing more will come; workers have so long to end by themselves.
    closed: Option<Duration>,
}

/// A place of a worker. Its process may be replaced.
#[derive(Debug)]
struct WorkerSlot {
    id: u64,
    state_of_slot: SlotState,
    called: bool,
    waker: Option<Waker>,
}

/// What a worker could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotState {
    /// There is no process yet.
    Starting,
    /// It has nothing to do.
    Idle,
    /// It is busy with so many documents and would take one more.
    Accepting(usize),
    /// It takes no more for now.
    Busy,
}

/// What there is for a worker to do.
pub(super) enum Offer {
    Job(Job),
    /// Nothing for this worker, now.
    Nothing,
    /// Something that wants a worker of its own, and this is none that is new.
    NeedsFreshWorker,
    Closed,
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

    /// Why no process is to be started any more, if that is so.
    pub(super) fn start_error(&self) -> Option<Verdict> {
        (self.check.0)()
    }

    /// Remembers what makes all answers unreliable.
    pub(super) fn report_fault(&self, fault: WorkerFault) {
        // Further faults say nothing new.
        let _ = self.fault.set(fault);
    }

    pub(super) fn fault(&self) -> Option<WorkerFault> {
        self.fault.get().cloned()
    }

    /// Puts a document at the end of the queue and sees to it that somebody works on it.
    pub(super) fn submit(self: &Arc<Self>, job: Job) {
        let mut state = self.state();
        if state.closed.is_some() {
            drop(state);
            return job.refuse(Verdict::Lost { reason: "its workers were sent home".to_owned() });
        }
        state.queue.push_back(job);
        state.behind_since.get_or_insert_with(Instant::now);
        self.call_one(state);
    }

    /// Puts documents back at the front of the queue.
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
            self.call_one(self.state());
        }
    }

    /// Calls the worker that has least to do. If nobody can take more, there may have to be another.
    fn call_one(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let load = |slot: &WorkerSlot| match slot.state_of_slot {
            SlotState::Idle => Some(0),
            SlotState::Accepting(documents) => Some(documents),
            SlotState::Starting | SlotState::Busy => None,
        };
        let least = state
            .slots
            .iter_mut()
            .filter(|slot| load(slot).is_some())
            .min_by_key(|slot| load(slot));
        if let Some(slot) = least {
            // It is not called a second time before it has had a look.
            slot.state_of_slot = SlotState::Busy;
            let waker = slot.call();
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        } else if state.slots.is_empty() {
            self.slot(&mut state);
        } else if !state.growing && state.slots.len() < self.size {
            state.growing = true;
            drop(state);
            // It ends by itself, soon after nobody waits.
            tokio::spawn(worker::grow(Arc::downgrade(self)));
        }
    }

    /// One more worker.
    fn slot(self: &Arc<Self>, state: &mut State) {
        let id = state.slots_created;
        state.slots_created += 1;
        state.slots.push(WorkerSlot {
            id,
            state_of_slot: SlotState::Starting,
            called: false,
            waker: None,
        });
        state.tasks.retain(|task| !task.is_finished());
        state.tasks.push(tokio::spawn(worker::work(Arc::clone(self), id)));
    }

    /// Adds a worker if that is worth it; says whether to ask again later.
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
        // Those that wait for a permit, or for their process to start, will do first.
        let is_arriving = state.slots.iter().any(|slot| slot.state_of_slot == SlotState::Starting);
        let waiting = u32::try_from(state.queue.len()).unwrap_or(u32::MAX);
        let is_much = state.mean.is_none_or(|mean| mean.saturating_mul(waiting) > START);
        let is_old = state.behind_since.is_some_and(|since| since.elapsed() > ALWAYS_BEHIND);
        if !is_arriving && (is_much || is_old) {
            self.slot(&mut state);
        }
        true
    }

    /// Gives up the slot of a worker if there is nothing to do.
    pub(super) fn leave(&self, id: u64) -> bool {
        let mut state = self.state();
        let leaves = state.queue.is_empty() || state.closed.is_some();
        if leaves {
            state.slots.retain(|slot| slot.id != id);
        }
        leaves
    }

    /// Gives up the slot of a worker whose task has ended, however it ended.
    pub(super) fn remove_slot(&self, id: u64) {
        let mut state = self.state();
        state.slots.retain(|slot| slot.id != id);
        if state.slots.is_empty() {
            // Nobody is left who would work on these. Whoever waits for them is told.
            let queue = std::mem::take(&mut state.queue);
            drop(state);
            drop(queue);
        }
    }

    /// What a worker could do next, which has been given `documents` that it has not answered; `fresh` when it has never
    /// been given any. If there is nothing, it will be called.
    pub(super) fn offer(&self, id: u64, documents: usize, fresh: bool) -> Offer {
        let mut state = self.state();
        if let Some(slot) = state.slot(id) {
            slot.state_of_slot = match documents {
                0 => SlotState::Idle,
                documents => SlotState::Accepting(documents),
            };
        }
        if state.closed.is_some() {
            return Offer::Closed;
        }
        while state.queue.front().is_some_and(Job::is_given_up) {
            state.queue.pop_front();
        }
        let somebody_is_idle = || {
            state.slots.iter().any(|slot| slot.id != id && slot.state_of_slot == SlotState::Idle)
        };
        let offer = match state.queue.front() {
            None => Offer::Nothing,
            Some(job) if job.wants_to_be_alone() && !fresh => Offer::NeedsFreshWorker,
            // Whoever is idle was called, and is on the way.
            Some(_) if documents > 0 && somebody_is_idle() => Offer::Nothing,
            Some(_) => state.queue.pop_front().map_or(Offer::Nothing, Offer::Job),
        };
        if state.queue.is_empty() {
            state.behind_since = None;
        }
        offer
    }

    /// A worker takes no more for now, or has no process yet.
    pub(super) fn tell(&self, id: u64, state_of_slot: SlotState) {
        if let Some(slot) = self.state().slot(id) {
            slot.state_of_slot = state_of_slot;
        }
    }

    /// What a document takes a worker now.
    pub(super) fn learn(&self, mean: Duration) {
        self.state().mean = Some(mean);
    }

    /// Ready when the worker was called since the last time.
    pub(super) fn poll_called(&self, id: u64, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        let Some(slot) = state.slot(id) else { return Poll::Pending };
        if std::mem::take(&mut slot.called) {
            return Poll::Ready(());
        }
        if !slot.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            slot.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// How long workers have to end by themselves, when nothing more will come.
    pub(super) fn closed(&self) -> Option<Duration> {
        self.state().closed
    }

    /// Nothing more will come. The tasks of the workers end when they have ended them.
    pub(super) fn close(&self, patience: Duration) -> Vec<JoinHandle<()>> {
        let mut state = self.state();
        state.closed.get_or_insert(patience);
        let wakers: Vec<Waker> = state.slots.iter_mut().filter_map(WorkerSlot::call).collect();
        let (tasks, queue) = (std::mem::take(&mut state.tasks), std::mem::take(&mut state.queue));
        drop(state);
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
        tasks
    }

    /// Everything that waits is not begun.
    pub(super) fn refuse_all(&self, verdict: &Verdict) {
        let queue = std::mem::take(&mut self.state().queue);
        queue.into_iter().for_each(|job| job.refuse(verdict.clone()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing can panic halfway through a change, so the state is good whatever happened.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn slot(&mut self, id: u64) -> Option<&mut WorkerSlot> {
        self.slots.iter_mut().find(|slot| slot.id == id)
    }
}

impl WorkerSlot {
    fn call(&mut self) -> Option<Waker> {
        self.called = true;
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
        let state_of_slot = SlotState::Busy;
        state.slots.push(WorkerSlot { id: 0, state_of_slot, called: false, waker: None });
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
        assert_eq!(workers(None, later), 2, "nobody knows how long they take");
        let Some(long_ago) = Instant::now().checked_sub(2 * ALWAYS_BEHIND) else { return };
        assert_eq!(workers(Some(Duration::from_micros(10)), long_ago), 2);
    }
}
