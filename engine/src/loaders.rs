//! Threads that load conversations of an index while those before them are evaluated.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    task::{Context, Poll, ready},
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

use super::{
    conversations::Conversations,
    feed::{Feed, Loaded, Taken, Unread},
};
use crate::panic;

/// The conversations of an index in an order, loaded by one thread per processor for the duration of a run.
///
/// The blocking threads of the async runtime are not used: there are more of them, and allocators keep memory for each.
pub(crate) struct Loaders {
    conversations: Arc<Conversations>,
    /// The conversations to load, in order; `None` for all in the order of the index.
    order: Option<Vec<usize>>,
    /// Whether a batch is one conversation.
    is_one_by_one: bool,
    /// Place in the order of the first conversation that was not started to load.
    next: usize,
    /// `None` when no thread can be started.
    batches: Option<Sender<Batch>>,
    threads: Vec<JoinHandle<()>>,
    /// Batches that were started and have not been taken, in order.
    started: VecDeque<(Vec<usize>, oneshot::Receiver<Vec<Taken>>)>,
    /// Maximum number of started batches: while one waits to be taken, its thread loads another.
    limit: usize,
}

struct Batch {
    numbers: Vec<usize>,
    loaded: oneshot::Sender<Vec<Taken>>,
}

impl Loaders {
    /// `order` has the conversations that are loaded; `None` stands for all, in the order of the index.
    pub(crate) fn new(
        conversations: Arc<Conversations>,
        order: Option<Vec<usize>>,
        is_one_by_one: bool,
    ) -> Self {
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
        let (next, started, limit) = (0, VecDeque::new(), 2 * number);
        Self { conversations, order, is_one_by_one, next, batches, threads, started, limit }
    }

    /// Returns the number of conversations that are loaded.
    fn count(&self) -> usize {
        self.order.as_ref().map_or(self.conversations.len(), Vec::len)
    }

    /// Returns the conversation at a place in the order.
    fn number(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order[place])
    }
}

impl Feed for Loaders {
    fn len(&self) -> Option<usize> {
        Some(self.count())
    }

    fn started(&self) -> usize {
        self.started.len()
    }

    fn start(&mut self) -> bool {
        if self.next >= self.count() || self.started.len() >= self.limit {
            return false;
        }
        let places = match self.is_one_by_one {
            true => self.next..self.next + 1,
            false => self.conversations.batch(self.next, self.order.as_deref()),
        };
        self.next = places.end;
        let numbers: Vec<_> = places.map(|place| self.number(place)).collect();
        let (loaded, result) = oneshot::channel();
        self.started.push_back((numbers.clone(), result));
        let batch = Batch { numbers, loaded };
        match &self.batches {
            Some(batches) => {
                // If all threads have panicked, the batch is dropped, and `poll_next` returns errors for it.
                let _ = batches.send(batch);
            }
            None => load(&self.conversations, batch),
        }
        true
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<Taken>>> {
        let Some((_, result)) = self.started.front_mut() else { return Poll::Ready(None) };
        let loaded = ready!(Pin::new(result).poll(context));
        let numbers = self.started.pop_front().map(|(numbers, _)| numbers).unwrap_or_default();
        Poll::Ready(Some(loaded.unwrap_or_else(|_| {
            let lost = || "the thread that loads it has panicked".to_owned();
            let failed = |number| failed(&self.conversations, number, lost());
            numbers.into_iter().map(failed).collect()
        })))
    }

    fn skip(&mut self) -> Option<Unread> {
        if self.next >= self.count() {
            return None;
        }
        self.next += 1;
        Some(unread(&self.conversations, self.number(self.next - 1)))
    }

    fn is_open(&self) -> bool {
        false
    }

    fn end(self: Box<Self>) {
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
        let error = match catch_unwind(load) {
            Ok(Ok(conversation)) => {
                let loaded = Loaded::Conversation(Box::new(conversation));
                return taken(conversations, number, loaded);
            }
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("panicked: {}", panic::message(panic.as_ref())),
        };
        failed(conversations, number, error)
    };
    // The receiver is gone if the run was dropped.
    let _ = loaded.send(numbers.into_iter().map(load).collect());
}

fn failed(conversations: &Conversations, number: usize, error: String) -> Taken {
    taken(conversations, number, Loaded::Failed(unread(conversations, number), error))
}

fn taken(conversations: &Conversations, number: usize, loaded: Loaded) -> Taken {
    Taken { number, bytes: conversations.size(number), session: None, loaded }
}

fn unread(conversations: &Conversations, number: usize) -> Unread {
    let (trace_id, trace_file) = (conversations.trace_id(number), conversations.trace_file(number));
    Unread { number, trace_id, trace_file }
}
