//! The thread that writes a journal.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::file::JournalFile;

/// How long what was written may wait for being forced to the disk, so that one such wait, which takes milliseconds,
/// serves everything that was written meanwhile.
const SYNC_INTERVAL: Duration = Duration::from_millis(500);

/// Bytes that are written in one go, at most.
const BATCH: usize = 1 << 20;

/// Hands records to the thread.
#[derive(Debug)]
pub(super) struct Writer {
    orders: Sender<Order>,
    shared: Arc<Shared>,
}

/// What the thread is to do. `done` is told when it has, or when it never will.
#[derive(Debug)]
struct Order {
    what: What,
    done: oneshot::Sender<()>,
}

#[derive(Debug)]
enum What {
    Write(String),
    Sync,
}

/// What writer and readers share.
#[derive(Debug)]
pub(super) struct Shared {
    file: Mutex<JournalFile>,
    /// Why nothing more is written.
    failure: Mutex<Option<String>>,
}

impl Shared {
    pub(super) fn new(file: JournalFile) -> Self {
        Self { file: Mutex::new(file), failure: Mutex::new(None) }
    }

    pub(super) fn file(&self) -> MutexGuard<'_, JournalFile> {
        // Every operation begins with going to its place in the file.
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fail(&self, reason: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(reason);
    }
}

impl Writer {
    /// Starts the thread. It ends when this is dropped.
    pub(super) fn start(shared: Arc<Shared>) -> io::Result<Self> {
        let sync = shared.file().for_syncing()?;
        let (orders, incoming) = mpsc::channel();
        let thread = Thread { shared: Arc::clone(&shared), sync, unsynced_since: None };
        let work = move || thread.run(&incoming);
        thread::Builder::new().name("journal".to_owned()).spawn(work)?;
        Ok(Self { orders, shared })
    }

    /// Ends when the line is in the hands of the system, so that it outlives this process, or never will be.
    pub(super) async fn write(&self, line: String) {
        self.order(What::Write(line)).await;
    }

    /// Ends when everything written so far is on the disk, or never will be.
    pub(super) async fn sync(&self) {
        self.order(What::Sync).await;
    }

    async fn order(&self, what: What) {
        let (done, wait) = oneshot::channel();
        let ordered = self.orders.send(Order { what, done }).is_ok();
        if !ordered || wait.await.is_err() {
            // It only ends before this if it panics, and then what it was given is nowhere.
            self.shared.fail("the thread that writes it has ended".to_owned());
        }
    }
}

struct Thread {
    shared: Arc<Shared>,
    sync: Option<std::fs::File>,
    /// When the first thing was written that may not be on the disk.
    unsynced_since: Option<Instant>,
}

impl Thread {
    fn run(mut self, incoming: &Receiver<Order>) {
        loop {
            let first = match self.unsynced_since {
                None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(since) => incoming.recv_timeout(SYNC_INTERVAL.saturating_sub(since.elapsed())),
            };
            match first {
                Ok(first) => self.work(first, incoming),
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => {
                    self.sync();
                    return;
                }
            }
        }
    }

    /// Does everything that is waiting, as far as it fits into one go.
    fn work(&mut self, first: Order, incoming: &Receiver<Order>) {
        let (mut text, mut written, mut synced) = (String::new(), Vec::new(), Vec::new());
        let mut next = Some(first);
        while let Some(Order { what, done }) = next {
            match what {
                What::Write(line) => {
                    text.push_str(&line);
                    written.push(done);
                }
                What::Sync => synced.push(done),
            }
            next = if text.len() < BATCH { incoming.try_recv().ok() } else { None };
        }
        if !text.is_empty() && self.shared.failure().is_none() {
            match self.shared.file().append(text.as_bytes()) {
                Ok(()) => _ = self.unsynced_since.get_or_insert_with(Instant::now),
                Err(error) => self.shared.fail(error.to_string()),
            }
        }
        // Whoever does not wait any more does not need to know.
        for done in written {
            let _ = done.send(());
        }
        let is_due = self.unsynced_since.is_some_and(|since| since.elapsed() >= SYNC_INTERVAL);
        if is_due || !synced.is_empty() {
            self.sync();
        }
        for done in synced {
            let _ = done.send(());
        }
    }

    fn sync(&mut self) {
        if self.unsynced_since.take().is_none() || self.shared.failure().is_some() {
            return;
        }
        if let Some(Err(error)) = self.sync.as_ref().map(|file| file.sync_data()) {
            // What did not get to the disk then may never get there, whatever is said later.
            self.shared.fail(error.to_string());
        }
    }
}
