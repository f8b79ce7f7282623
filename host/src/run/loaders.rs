//! Threads that load conversations while those before them are evaluated.

use std::{
    collections::VecDeque,
    ops::Range,
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

/// Conversations that were read, or why they could not be.
pub(super) type Loaded = Vec<Result<Conversation, String>>;

/// As many threads as there are processors, for as long as a run loads.
///
/// They are not those of the async runtime, which starts more of them, and what an allocator keeps for each adds up.
pub(super) struct Loaders {
    conversations: Arc<Conversations>,
    /// `None` when no thread can be started.
    batches: Option<Sender<Batch>>,
    threads: Vec<JoinHandle<()>>,
    /// What was begun and has not been taken, in order.
    begun: VecDeque<(Range<usize>, oneshot::Receiver<Loaded>)>,
    /// How much may be begun: while a batch waits to be taken, its thread has another.
    most: usize,
}

struct Batch {
    numbers: Range<usize>,
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
        Self { conversations, batches, threads, begun: VecDeque::new(), most: 2 * number }
    }

    /// Whether more than enough has been begun.
    pub(super) fn are_busy(&self) -> bool {
        self.begun.len() >= self.most
    }

    /// Begins to load these conversations.
    pub(super) fn begin(&mut self, numbers: Range<usize>) {
        let (loaded, result) = oneshot::channel();
        self.begun.push_back((numbers.clone(), result));
        let batch = Batch { numbers, loaded };
        match &self.batches {
            Some(batches) => {
                // If all threads have died, the batch is dropped, and that is what will be said of it.
                let _ = batches.send(batch);
            }
            None => load(&self.conversations, batch),
        }
    }

    /// The batch that was begun first; `None` when there is none. Nothing is lost when it is given up.
    pub(super) async fn next(&mut self) -> Option<(Range<usize>, Loaded)> {
        let (numbers, result) = self.begun.front_mut()?;
        let loaded = result.await.unwrap_or_else(|_| {
            vec![Err("the thread that loads it died".to_owned()); numbers.len()]
        });
        let (numbers, _) = self.begun.pop_front()?;
        Some((numbers, loaded))
    }

    /// Ends the threads, when everything that was begun has been taken. If they are just dropped, they end with what they
    /// are at.
    pub(super) fn end(self) {
        drop(self.batches);
        for thread in self.threads {
            // It catches the panics of what it does.
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
    // Nobody waits for it any more when the run was given up.
    let _ = loaded.send(numbers.map(load).collect());
}
