//! Processes of a test: waiting for what they do, sending them signals, and seeing that they are gone.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Waits for a file that another process writes.
#[track_caller]
pub(crate) fn wait_for(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ if begun.elapsed() > Duration::from_secs(60) => {
                panic!("{} never came", path.display())
            }
            _ => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Sends a signal to a process.
#[expect(clippy::disallowed_methods, reason = "a shell can send signals")]
pub(crate) fn signal(name: &str, pid: &str) -> bool {
    let line = format!("kill -{name} {pid} 2>/dev/null");
    std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success()
}

/// Checks that a process is gone, or goes within a moment.
#[track_caller]
pub(crate) fn assert_gone(pid: &str) {
    let begun = Instant::now();
    while signal("0", pid) && !is_zombie(pid) {
        assert!(begun.elapsed() < Duration::from_secs(100), "process {pid} is still there");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A dead process that its parent (whoever that is by now) has not collected.
pub(crate) fn is_zombie(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}
