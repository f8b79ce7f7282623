//! The processes this program has started and that still run, so that all of them can be ended from any thread, at once.
//!
//! A run that is cancelled ends its processes itself, gently and in time. This is for a program that ends without waiting
//! for that.

use std::{
    collections::BTreeSet,
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use super::os;

/// How long to wait for a process that is being started just then.
const START_PATIENCE: Duration = Duration::from_millis(500);

static ALL: Living = Living::new();

/// Kills every process group that this library has started and that still runs, and starts no process any more: for a
/// program that is about to end. Whoever waits for one of them finds it ended by a signal.
///
/// Takes half a second at most, and usually no time at all. Where there are no process groups it kills nothing.
pub fn kill_all() {
    ALL.kill_all();
}

/// Starts a process by `start`, which gives what it has started, and lists it by the `id` of its leader until the
/// returned guard is dropped. That is to happen before the leader is reaped.
pub fn start<C>(
    start: impl FnOnce() -> io::Result<C>,
    id: impl FnOnce(&C) -> Option<u32>,
) -> io::Result<(C, Listed)> {
    ALL.start(start, id)
}

/// A process that is listed as long as this lives.
#[derive(Debug)]
pub struct Listed {
    leader: Option<u32>,
    list: &'static Living,
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            self.list.leaders().remove(&leader);
        }
    }
}

#[derive(Debug)]
struct Living {
    leaders: Mutex<BTreeSet<u32>>,
    /// How many are being started and are not listed yet.
    starting: AtomicUsize,
    over: AtomicBool,
}

impl Living {
    const fn new() -> Self {
        Self {
            leaders: Mutex::new(BTreeSet::new()),
            starting: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        }
    }

    fn start<C>(
        &'static self,
        start: impl FnOnce() -> io::Result<C>,
        id: impl FnOnce(&C) -> Option<u32>,
    ) -> io::Result<(C, Listed)> {
        // Counted first and looked second, so that either this sees that it is over, or `kill_all` sees this. No lock is held:
        // starting may take as long as the file system does.
        let _starting = Counted::new(&self.starting);
        if self.over.load(Ordering::SeqCst) {
            return Err(io::Error::other("this program is ending"));
        }
        let started = start()?;
        let leader = id(&started);
        if let Some(leader) = leader {
            self.leaders().insert(leader);
        }
        Ok((started, Listed { leader, list: self }))
    }

    fn kill_all(&self) {
        self.over.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        loop {
            let last = self.starting.load(Ordering::SeqCst) == 0;
            // Under the lock none of them is taken from the list, so none is reaped, and its number is its own.
            self.leaders().iter().for_each(|leader| os::kill_group(*leader));
            if last || begun.elapsed() > START_PATIENCE {
                return;
            }
            sleep(Duration::from_millis(1));
        }
    }

    fn leaders(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        // Nothing can panic halfway through a change.
        self.leaders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        os::unix::process::{CommandExt, ExitStatusExt},
        process::{Child, Command, Stdio},
        thread,
    };

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any process will do to see it end")]
    fn shell(script: &str) -> io::Result<Child> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.process_group(0).spawn()
    }

    fn id(child: &Child) -> Option<u32> {
        Some(child.id())
    }

    #[test]
    fn all_that_is_listed_ends_and_nothing_begins() {
        static LIST: Living = Living::new();
        let (mut stubborn, _listed) =
            LIST.start(|| shell("trap '' TERM INT; while :; do sleep 600; done"), id).unwrap();
        let (mut gone, listed) = LIST.start(|| shell("exit 3"), id).unwrap();
        drop(listed);
        assert_eq!(gone.wait().unwrap().code(), Some(3));
        // One that is being started when everything is to end.
        let (began, begins) = std::sync::mpsc::channel();
        let late = thread::spawn(move || {
            let start = || {
                began.send(()).unwrap();
                sleep(Duration::from_millis(50));
                shell("sleep 600")
            };
            LIST.start(start, id).unwrap()
        });
        begins.recv().unwrap();
        LIST.kill_all();
        let (mut late, _listed) = late.join().unwrap();
        for child in [&mut stubborn, &mut late] {
            assert_eq!(child.wait().unwrap().signal(), Some(9));
        }
        let error = LIST.start(|| shell("sleep 600"), id).unwrap_err();
        assert_eq!(error.to_string(), "this program is ending");
    }
}
