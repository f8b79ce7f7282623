//! Finds the processes a test has left behind, by a mark in their environment.

use std::{
    fs, process, sync::atomic::AtomicU32, sync::atomic::Ordering, thread::sleep, time::Duration,
};

pub(crate) const VARIABLE: &str = "PROCESS_FAULT_MARK";

/// Unique for each use; started processes carry it in their environment, and so do theirs.
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self(format!("mark-{}-{}.", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Panics when a marked process is left.
    ///
    /// Processes that were killed a moment ago may still be there, so it looks more than once.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        if !cfg!(target_os = "linux") {
            return;
        }
        let mut left = Vec::new();
        for _ in 0..100 {
            left = self.processes();
            if left.is_empty() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        panic!("left behind: {left:?}");
    }

    fn processes(&self) -> Vec<String> {
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
