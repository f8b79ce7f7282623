//! Processes of a test: waiting for what they do, sending them signals, and finding what evaluations leave behind.

use std::{
    fs,
    path::Path,
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::program::TIME_LIMIT;

/// Waits until this is true.
///
/// # Panics
///
/// If it does not become true within [`TIME_LIMIT`]; `what` describes it.
#[track_caller]
pub fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < TIME_LIMIT, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a file with a line that another process writes. Returns the text without the final line feed.
#[track_caller]
pub fn wait_for_line(path: &Path) -> String {
    let mut text = String::new();
    wait_until(&path.display().to_string(), || {
        text = fs::read_to_string(path).unwrap_or_default();
        text.ends_with('\n')
    });
    text.trim().to_owned()
}

/// Sends a signal to a process. Returns false if the process does not exist.
pub fn signal(name: &str, pid: &str) -> bool {
    let line = format!("kill -{name} {pid} 2>/dev/null");
    Command::new("sh").args(["-c", &line]).status().unwrap().success()
}

/// Waits until a process is gone.
#[track_caller]
pub fn assert_gone(pid: &str) {
    let is_gone = || !signal("0", pid) || is_zombie(pid);
    wait_until(&format!("the end of process {pid}"), is_gone);
}

/// Returns true for a process that has exited and has not been reaped.
pub fn is_zombie(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

/// Processes whose link `link` in `/proc` (`exe` or `cwd`) satisfies a condition, by process id. Empty where there is no
/// `/proc`.
pub fn linked_to(link: &str, condition: impl Fn(&Path) -> bool) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|process| {
            fs::read_link(process.path().join(link)).is_ok_and(|target| condition(&target))
        })
        .map(|process| process.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Environment variable that carries a [`Mark`].
pub const MARK_VARIABLE: &str = "PROCESS_FAULT_MARK";

/// Unique value that started processes and their descendants carry in their environment.
#[derive(Debug)]
pub struct Mark(String);

impl Mark {
    /// Creates a mark that no process has.
    #[expect(clippy::new_without_default, reason = "each one is another mark")]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self(format!("mark-{}-{}.", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Value of [`MARK_VARIABLE`].
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Asserts that no marked process is left.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let left = self.left_behind();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// Command lines of marked processes that do not go away. Processes that were killed a moment ago may still exist, so
    /// they are given a minute.
    pub fn left_behind(&self) -> Vec<String> {
        let mut left = Vec::new();
        for _ in 0..3000 {
            left = self.processes();
            if left.is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        left
    }

    /// Command lines of marked processes that exist now. Empty except on Linux.
    pub fn processes(&self) -> Vec<String> {
        if !cfg!(target_os = "linux") {
            return Vec::new();
        }
        let entry = format!("{MARK_VARIABLE}={}", self.0);
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

/// Children of a process, which may be dead and not reaped, by process id. Empty where there is no `/proc`.
pub fn children_of(parent: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // `pid (name) state parent ...`; the name may hold anything, even parentheses.
        let Some((_, after_name)) = stat.rsplit_once(") ") else { continue };
        if after_name.split(' ').nth(1) == Some(parent) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

/// Children of this process that are dead and have not been reaped. They have no environment, and so no mark. Linux only.
pub fn unreaped_children() -> Vec<String> {
    let mut children = children_of(&process::id().to_string());
    children.retain(|child| is_zombie(child));
    children
}

/// Number of descriptors that this process has open, including the one that counts them. Linux only.
pub fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Number of threads of this process. Linux only.
pub fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}
