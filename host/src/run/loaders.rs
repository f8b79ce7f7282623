//! Threads that load conversations while those before them are evaluated.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

use super::conversations::Conversations;
use crate::{conversation::Conversation, panic};

/// Conversations of a batch, each with an error if it could not be read.
pub(super) type Loaded = Vec<Result<Conversation, String>>;

/// One thread per processor, for the duration of a run.
///
/// The blocking threads of the async runtime are not used: there are more of them, and allocators keep memory for each.
pub(super) struct Loaders {
    conversations: Arc<Conversations>,
    /// `None` when no thread can be started.
    batches: Option<Sender<Batch>>,
    threads: Vec<JoinHandle<()>>,
    /// Batches that were started and have not been taken, in order.
    started: VecDeque<(Vec<usize>, oneshot::Receiver<Loaded>)>,
    /// Maximum number of started batches: while one waits to be taken, its thread loads another.
    limit: usize,
}

struct Batch {
    numbers: Vec<usize>,
    loaded: oneshot::Sender<Loaded>,
}

impl Loaders {
    pub(super) fn new(conversations: Arc<Conversations>) -> Self {
        let number = thread::available_parallelism().map_or(1, usize::from);
        let (batches, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let started = (0..number).map_while(|_| {
            let (conversations, waiting) = (Arc::clone(&conversations), Arc::clone(&waiting));
            let load = move || load_all(&conversations, &waiting);
            thread::Builder::new().name("load".to_owned()).spawn(load).ok()
        });
        let threads: Vec<_> = started.collect();
        let batches = (!threads.is_empty()).then_some(batches);
        Self { conversations, batches, threads, started: VecDeque::new(), limit: 2 * number }
    }

    /// Number of batches that were started and not taken.
    pub(super) fn started(&self) -> usize {
        self.started.len()
    }

    /// Returns true if no further batch is to be started.
    pub(super) fn are_busy(&self) -> bool {
        self.started.len() >= self.limit
    }

    /// Starts to load these conversations.
    pub(super) fn start(&mut self, numbers: Vec<usize>) {
        let (loaded, result) = oneshot::channel();
        self.started.push_back((numbers.clone(), result));
        let batch = Batch { numbers, loaded };
        match &self.batches {
            Some(batches) => {
                // If all threads have panicked, the batch is dropped, and `next` returns errors for it.
                let _ = batches.send(batch);
            }
            None => load(&self.conversations, batch),
        }
    }

    /// Returns the batch that was started first; `None` if there is none. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<(Vec<usize>, Loaded)> {
        let (numbers, result) = self.started.front_mut()?;
        let loaded = result.await.unwrap_or_else(|_| {
            vec![Err("the thread that loads it has panicked".to_owned()); numbers.len()]
        });
        let (numbers, _) = self.started.pop_front()?;
        Some((numbers, loaded))
    }

    /// Waits for the threads, after all batches were taken. If this is dropped instead, they exit after their current
    /// batch.
    pub(super) fn end(self) {
        drop(self.batches);
        for thread in self.threads {
            // Its panics are caught in `load`.
            let _ = thread.join();
        }
    }
}

fn load_all(conversations: &Conversations, waiting: &Mutex<Receiver<Batch>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = next else { return };
        load(conversations, batch);
    }
}

fn load(conversations: &Conversations, Batch { numbers, loaded }: Batch) {
    let load = |number| {
        let load = AssertUnwindSafe(|| conversations.load(number));
        match catch_unwind(load) {
            Ok(loaded) => loaded.map_err(|error| error.to_string()),
            Err(panic) => Err(format!("panicked: {}", panic::message(panic.as_ref()))),
        }
    };
    // The receiver is gone if the run was dropped.
    let _ = loaded.send(numbers.into_iter().map(load).collect());
}
