//! What a person sees who waits.
#![cfg(unix)]

use std::process::{Command, Stdio};

use crate::support::{Folder, finish, has, trace};

/// One evaluator that answers, one that breaks, and one that takes its time.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.script("pass", "cat >/dev/null; echo '{\"score\": 1}'");
    folder.script("crash", "exit 3");
    folder.script("slow", "cat >/dev/null; sleep 4; echo '{\"score\": 1}'");
    let entry = |name: &str| format!("  - {{name: {name}, type: code, path: ./{name}}}\n");
    let entries: String = ["pass", "crash", "slow"].map(entry).concat();
    folder.file("c.yaml", format!("evaluators:\n{entries}"));
    folder
}

#[test]
fn where_lines_cannot_change_a_long_run_writes_some() {
    let folder = folder();
    let args = [&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "--jobs", "3"];
    let ran = folder.run(&args).exits(3);
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
    let folder = folder();
    let line = format!(
        "'{}' run '{}' -c c.yaml --jobs 3 >report",
        env!("CARGO_BIN_EXE_evaluator"),
        trace("a01_otlp_basic_parts")
    );
    #[expect(clippy::disallowed_methods, reason = "this makes a terminal")]
    let terminal = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ran = finish(terminal).exits(3);
    assert!(ran.stdout.contains("\r\x1b[2K[================>       ] 2/3, "), "{:?}", ran.stdout);
    assert!(ran.stdout.contains("/s, 1 broke, "), "{:?}", ran.stdout);
    // Nothing of it stays.
    let (_, last) = ran.stdout.rsplit_once("\x1b[2K").unwrap();
    assert!(last.contains("ERROR:") && !last.contains("2/3"), "{last:?}");
}
