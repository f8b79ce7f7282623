//! What a person sees who waits.
#![cfg(unix)]

use std::{
    fs::{self, File},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::{Directory, Ran, finish, has, trace};

/// One evaluator that answers, one that breaks, and one that waits for the file `go`.
fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("pass", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.script("crash", "exit 3");
    directory.script(
        "slow",
        "cat >/dev/null; until [ -e go ]; do sleep 0.05; done; echo '{\"score\": 1}'",
    );
    let entry = |name: &str| format!("  - {{name: {name}, type: code, path: ./{name}}}\n");
    let entries: String = ["pass", "crash", "slow"].map(entry).concat();
    directory.file("c.yaml", format!("evaluators:\n{entries}"));
    directory
}

/// Waits until the program has written this text to the file `said`, and lets the last evaluator go on.
fn until_said(directory: &Directory, text: &str) {
    let started = Instant::now();
    while !fs::read_to_string(directory.path().join("said")).unwrap_or_default().contains(text) {
        assert!(started.elapsed() < Duration::from_secs(200), "`{text}` is never said");
        thread::sleep(Duration::from_millis(5));
    }
    directory.file("go", "");
}

#[test]
fn where_lines_cannot_change_a_long_run_writes_some() {
    let directory = directory();
    let args = ["run", &trace("a01_otlp_basic_parts"), "-c", "c.yaml", "--jobs", "3"];
    let mut command = directory.command(&args);
    command.stderr(File::create(directory.path().join("said")).unwrap());
    let child = command.spawn().unwrap();
    until_said(&directory, "evaluated ");
    let ran = finish(child).exits(3);
    let ran = Ran { stderr: fs::read_to_string(directory.path().join("said")).unwrap(), ..ran };
    let progress: Vec<&str> =
        ran.stderr.lines().filter(|line| line.starts_with("evaluated ")).collect();
    assert!(!progress.is_empty() && progress.len() < 10, "{}", ran.stderr);
    assert!(progress[0].contains(" of 3") && progress[0].contains("/s, "), "{progress:?}");
    assert!(!ran.stderr.contains(['\r', '\x1b']), "{:?}", ran.stderr);
}

#[test]
fn on_a_terminal_a_bar_shows_how_far_a_long_run_has_come() {
    if !has("script") || !cfg!(target_os = "linux") {
        return;
    }
    let directory = directory();
    let line = format!(
        "'{}' run '{}' -c c.yaml --jobs 3 >report",
        env!("CARGO_BIN_EXE_evaluator"),
        trace("a01_otlp_basic_parts")
    );
    #[expect(clippy::disallowed_methods, reason = "this makes a terminal")]
    let terminal = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(File::create(directory.path().join("said")).unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_said(&directory, "] 2/3, ");
    let ran = finish(terminal).exits(3);
    let ran = Ran { stdout: fs::read_to_string(directory.path().join("said")).unwrap(), ..ran };
    assert!(ran.stdout.contains("\r\x1b[2K[================>       ] 2/3, "), "{:?}", ran.stdout);
    assert!(ran.stdout.contains("/s, 1 broke, "), "{:?}", ran.stdout);
    // Nothing of it stays.
    let (_, last) = ran.stdout.rsplit_once("\x1b[2K").unwrap();
    assert!(last.contains("ERROR:") && !last.contains("2/3"), "{last:?}");
}
