//! The shell that an entry for AgentV starts.

use std::{
    fs,
    io::Write as _,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::support::{Directory, Ran, finish};

/// Starts what the entry for AgentV 4 says, with `polite` for an evaluator.
#[expect(clippy::disallowed_methods, reason = "this is what is tested")]
fn start(directory: &Directory) -> Child {
    directory.evaluator(&["export", "--for", "agentv", "polite"]).exits(0);
    let entry = fs::read_to_string(directory.path().join("polite.agentv-4.yaml")).unwrap();
    let (_, script) = entry.split_once("      - |\n").unwrap();
    let script: Vec<&str> =
        script.lines().map_while(|line| line.strip_prefix("        ")).collect();
    Command::new("sh")
        .args(["-c", &script.join("\n")])
        .arg(directory.path().join("polite"))
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends a document of that many bytes. AgentV dies of a broken pipe, so the guard must read all of it.
fn guarded(directory: &Directory, does: &str, bytes: usize) -> Ran {
    directory.script("polite", does);
    let mut child = start(directory);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![b' '; bytes]).unwrap();
    drop(stdin);
    finish(child)
}

#[test]
fn what_looks_like_one_object_is_handed_on() {
    let directory = Directory::new();
    for answer in [
        r#"{"score": 1}"#,
        r#"{"score": -0.5e+1, "details": {"a": [null, true, false, {}], "b": []}}"#,
        r#"{"text": "a \" NaN } {\n } log \\", "é": "🦀"}"#,
        "\n {\"score\":\n1}",
    ] {
        directory.file("answer", answer);
        let ran = guarded(&directory, "cat answer; cat >/dev/null; echo said >&2", 10).exits(0);
        assert_eq!((&*ran.stdout, &*ran.stderr), (answer, "said\n"));
    }
    let long = format!("{{\"reason\": \"{}\"}}", "x".repeat(1 << 20));
    directory.file("answer", &long);
    assert_eq!(guarded(&directory, "cat >/dev/null; cat answer", 1 << 20).exits(0).stdout, long);
}

#[test]
fn what_agentv_takes_for_a_pass_is_an_error() {
    let directory = Directory::new();
    for answer in [
        "",
        "fine",
        "starting\n{\"score\": 1}",
        "{\"score\": 1}\ndone",
        "{\"score\": 1}\n{\"score\": 1}",
        "{\"score\": NaN}",
        "{\"score\": -Infinity}",
        "[1]",
        "1",
        "null",
        "{\"score\": 1, \"reason\": \"cut",
    ] {
        directory.file("answer", answer);
        let ran = guarded(&directory, "cat >/dev/null; cat answer", 10).exits(1).reports_nothing();
        ran.says("the evaluator did not answer with one JSON object");
    }
    for (does, status) in
        [("cat >/dev/null; echo '{}'; exit 3", 3), ("cat >/dev/null; kill -KILL $$", 137)]
    {
        let ran = guarded(&directory, does, 10).exits(status).reports_nothing();
        ran.says(&format!("the evaluator ended with status {status}"));
    }
}

#[test]
fn what_an_evaluator_does_not_read_breaks_no_pipe() {
    let directory = Directory::new();
    guarded(&directory, "echo '{\"score\": 1}'", 1 << 20).exits(0);
    guarded(&directory, "exit 3", 1 << 20).exits(3);
}

#[test]
fn an_evaluator_ends_with_its_guard() {
    let directory = Directory::new();
    directory.script("polite", "trap '' TERM HUP; echo > started; sleep 30; echo > ended");
    let mut child = start(&directory);
    while !directory.path().join("started").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    // As AgentV does when time is up; then it waits for the end of both outputs, which the evaluator holds as well.
    child.kill().unwrap();
    finish(child);
    assert!(!directory.path().join("ended").exists(), "it was waited for");
}
