//! What evaluations may leave behind: processes, found by a mark in their environment, and what this process still holds.

#![expect(clippy::unwrap_used, reason = "tests and benchmarks may panic")]

use std::{
    fs, process,
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::Duration,
};

/// The variable that carries the mark.
pub const VARIABLE: &str = "PROCESS_FAULT_MARK";

/// Unique for each use; started processes carry it in their environment, and so do theirs.
#[derive(Debug)]
pub struct Mark(String);

impl Mark {
    /// A mark that nothing has yet.
    #[expect(clippy::new_without_default, reason = "each one is another")]
    #[must_use]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self(format!("mark-{}-{}.", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The value of [`VARIABLE`].
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Asserts that no marked process is left.
    ///
    /// # Panics
    ///
    /// When one is left.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let left = self.left_behind();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// The command lines of marked processes that are left. Those that were killed a moment ago may still be there, so it
    /// looks more than once.
    #[must_use]
    pub fn left_behind(&self) -> Vec<String> {
        let mut left = Vec::new();
        for _ in 0..3000 {
            left = self.processes();
            if left.is_empty() {
                break;
            }
            sleep(Duration::from_millis(20));
        }
        left
    }

    /// The command lines of marked processes that are there now.
    ///
    /// # Panics
    ///
    /// When the system does not list processes.
    #[must_use]
    pub fn processes(&self) -> Vec<String> {
        if !cfg!(target_os = "linux") {
            return Vec::new();
        }
        let entry = format!("{VARIABLE}={}", self.0);
        let mut found = Vec::new();
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let environ = fs::read(process.path().join("environ")).unwrap_or_default();
            if environ.windows(entry.len()).any(|window| window == entry.as_bytes()) {
                let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
                found.push(String::from_utf8_lossy(&command).replace('\0', " "));
            }
        }
        found
    }
}

/// Our own children that have not been reaped. Zombies have no environment any more, so they carry no mark.
///
/// # Panics
///
/// Where there is no `/proc`.
#[must_use]
pub fn unreaped_children() -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // `pid (name) state parent ...`; the name may hold anything, even parentheses.
        let Some((_, after_name)) = stat.rsplit_once(") ") else { continue };
        if after_name.split(' ').nth(1) == Some(&process::id().to_string()) {
            found.push(stat);
        }
    }
    found
}

/// How many descriptors this process has open, the one that it takes to count them included.
///
/// # Panics
///
/// Where there is no `/proc`.
#[must_use]
pub fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// How many threads this process has.
///
/// # Panics
///
/// Where there is no `/proc`.
#[must_use]
pub fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}
