//! Evaluators that hang, crash and leave things behind, and a user who has had enough.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{fs, process::Child, thread, time::Duration};

use crate::support::{
    Directory, Ran, finish,
    processes::{assert_gone, is_zombie, signal, wait_for_line},
    trace,
};

fn config(entries: &[(&str, &str)]) -> String {
    let entry = |(name, more): &(&str, &str)| {
        format!("  - {{name: {name}, type: code, path: ./{name}{more}}}\n")
    };
    format!("evaluators:\n{}", entries.iter().map(entry).collect::<String>())
}

#[test]
fn whatever_others_do_the_result_of_a_good_evaluator_is_kept() {
    // Every fault is in the matrix of the package `tests`; these have texts.
    let directory = Directory::new();
    directory
        .script("hang", "cat >/dev/null; echo $$ >hang.pid; echo still loading >&2; sleep 600");
    directory.script("segfault", "kill -SEGV $$");
    directory.script("exit", "echo '{\"score\": 1}'; echo boom >&2; exit 7");
    directory.script("good", "cat >/dev/null; echo '{\"score\": 1}'");
    let entries = [("hang", ", timeout: 5"), ("segfault", ""), ("exit", ""), ("good", "")];
    directory.file("c.yaml", config(&entries));
    let ran =
        directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "-o", "json"]).exits(3);
    assert_eq!(
        ran.evaluations(0),
        ["hang ERROR timed_out", "segfault ERROR signalled", "exit ERROR exited", "good PASSED"]
    );
    assert_eq!(ran.error_of("hang"), "Custom evaluator 'hang' timed out after 5s");
    assert_eq!(ran.error_of("exit"), "Custom evaluator 'exit' exited with code 7: boom");
    assert_eq!(ran.error_of("segfault"), "Custom evaluator 'segfault' exited with code -11");
    assert_eq!(ran.json()["summary"]["passed"], 1);
    // The report has no field for it; stderr has it.
    let ran =
        ran.says("hang, trace e847dad403e53610ae87e6c273a96009, stderr:\n  | still loading\n");
    ran.says(
        "ERROR: 1 passed, 0 failed, 3 errored, 0 not evaluated (4 evaluations in 1 conversation), 1 scored of 4 in total",
    );
    assert_gone(&wait_for_line(&directory.path().join("hang.pid")));
}

/// A run with an evaluator that has answered, one that hangs, and one that waits for its turn.
fn hanging_run(directory: &Directory, form: &str) -> Child {
    directory.script("good", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.script("hang", "cat >/dev/null; echo $$ >hang.pid; sleep 600");
    directory.script("late", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.file("c.yaml", config(&[("good", ""), ("hang", ""), ("late", "")]));
    let trace = trace("a01_otlp_basic_parts");
    directory.command(&["run", &trace, "-c", "c.yaml", "-o", form, "--jobs", "1"]).spawn().unwrap()
}

fn interrupted(signals: &[&str]) -> (Ran, String) {
    interrupted_as("json", signals)
}

fn interrupted_as(form: &str, signals: &[&str]) -> (Ran, String) {
    let directory = Directory::new();
    let child = hanging_run(&directory, form);
    let hanging = wait_for_line(&directory.path().join("hang.pid"));
    for name in signals {
        assert!(signal(name, &child.id().to_string()));
    }
    (finish(child), hanging)
}

/// Whether this process ignores `HUP`, and with it whatever it starts.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

#[test]
fn an_interrupted_run_reports_what_there_is_and_leaves_nothing_behind() {
    for name in ["INT", "TERM", "HUP"] {
        // Under `nohup`, all programs ignore it.
        if name == "HUP" && ignores_hangup() {
            eprintln!("skipped: HUP is ignored here");
            continue;
        }
        let (ran, hanging) = interrupted(&[name]);
        let ran = ran.exits(3);
        assert_eq!(
            ran.evaluations(0),
            ["good PASSED", "hang ERROR cancelled", "late ERROR cancelled"]
        );
        assert_eq!(
            ran.error_of("late"),
            "Custom evaluator 'late' was not finished, because the run was cancelled"
        );
        let ran = ran.says("evaluator: stopping; finished evaluations will be reported");
        let json = ran.json();
        assert_eq!(json["partial"], true);
        let reason = "the run was cancelled before everything was evaluated";
        assert_eq!(json["partial_reason"], reason);
        let ran = ran.says("ERROR: 1 passed, 0 failed, 2 errored, 0 not evaluated");
        ran.says(&format!("; partial: {reason}"));
        assert_gone(&hanging);
    }
}

#[test]
fn every_form_says_that_it_is_partial() {
    let reason = "the run was cancelled before everything was evaluated";
    for form in ["table", "summary", "junit", "markdown", "github"] {
        let (ran, _) = interrupted_as(form, &["INT"]);
        let ran = ran.exits(3).says(&format!("; partial: {reason}"));
        assert!(ran.stdout.contains("was not finished, because the run was cancelled"), "{form}");
        let expected = match form {
            // They have the layout of agentevals; the outcome is on stderr.
            "table" | "summary" => continue,
            "junit" => format!("<property name=\"partial_reason\" value=\"{reason}\"/>"),
            "github" => format!("::error title=partial report::{reason}"),
            _ => format!("; partial: {reason}"),
        };
        assert!(ran.stdout.contains(&expected), "{form}: {}", ran.stdout);
    }
}

#[test]
fn nothing_is_tried_again_once_a_run_is_cancelled() {
    let directory = Directory::new();
    // Ends by the signal, as if another process had sent it.
    directory.script("hang", "cat >/dev/null; echo $$ >>hang.pid; exec sleep 600");
    directory.file("c.yaml", config(&[("hang", ", retries: 5")]));
    let trace = trace("a01_otlp_basic_parts");
    let child = directory.command(&["run", &trace, "-c", "c.yaml", "-o", "json"]).spawn().unwrap();
    wait_for_line(&directory.path().join("hang.pid"));
    assert!(signal("INT", &child.id().to_string()));
    let ran = finish(child).exits(3);
    assert_eq!(ran.evaluations(0), ["hang ERROR cancelled"]);
    assert_eq!(fs::read_to_string(directory.path().join("hang.pid")).unwrap().lines().count(), 1);
}

#[test]
fn a_second_signal_leaves_nothing_behind_that_ignores_the_first() {
    let directory = Directory::new();
    directory.script(
        "stubborn",
        "trap '' TERM INT HUP; sleep 600 & echo $! >child.pid; echo $$ >hang.pid; while :; do sleep 600; done",
    );
    directory.file("c.yaml", config(&[("stubborn", "")]));
    let trace = trace("a01_otlp_basic_parts");
    let child = directory.command(&["run", &trace, "-c", "c.yaml"]).spawn().unwrap();
    let stubborn = wait_for_line(&directory.path().join("hang.pid"));
    let pid = child.id().to_string();
    // Two different ones: two of the same that come too fast are one.
    assert!(signal("INT", &format!("{pid} && kill -TERM {pid}")));
    let ran = finish(child).exits(130).reports_nothing();
    assert!(ran.stderr.ends_with("\nSTOPPED: everything was killed\n"), "{}", ran.stderr);
    assert_gone(&stubborn);
    assert_gone(&wait_for_line(&directory.path().join("child.pid")));
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let directory = Directory::new();
    // Nothing ends what is stuck here but the second signal.
    let fifo = directory.path().join("trace.json");
    let child = {
        directory.script("make", "exec mkfifo trace.json");
        #[expect(
            clippy::disallowed_methods,
            reason = "there is no other way to make a pipe with a name"
        )]
        let made =
            std::process::Command::new("./make").current_dir(directory.path()).status().unwrap();
        assert!(made.success());
        directory.command(&["run", "trace.json", "--no-config"]).spawn().unwrap()
    };
    // When the other end can be opened, the program is reading.
    let _writer = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let pid = child.id().to_string();
    let stop = thread::spawn(move || {
        // Two signals that come too fast are one.
        while signal("INT", &pid) && !is_zombie(&pid) {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let ran = finish(child).exits(130).reports_nothing();
    stop.join().unwrap();
    ran.says(
        "evaluator: stopping; finished evaluations will be reported (press Ctrl-C again to stop immediately)",
    );
}

#[test]
fn an_interrupted_build_is_stopped() {
    let directory = Directory::new();
    directory.file("check.rs", "fn main() {}");
    directory.script("good", "cat >/dev/null; echo '{\"score\": 1}'");
    // A cargo that takes its time.
    directory.script(
        "bin/cargo",
        &format!(
            "case $1 in build) echo '   Compiling check v0.1.0' >&2; echo $$ >cargo.pid; sleep 600;; esac\n\
             exec '{}' \"$@\"",
            env!("CARGO")
        ),
    );
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: rust, type: code, path: check.rs}\n  - {name: good, type: code, path: good}\n",
    );
    let trace = trace("a01_otlp_basic_parts");
    let mut command = directory.command(&["run", &trace, "-c", "c.yaml", "-o", "json"]);
    let path = std::env::var("PATH").unwrap();
    command
        .env("PATH", format!("{}:{path}", directory.path().join("bin").display()))
        .env("EVALUATOR_CACHE_DIR", directory.path().join("cache"));
    let child = command.spawn().unwrap();
    let cargo = wait_for_line(&directory.path().join("cargo.pid"));
    assert!(signal("INT", &child.id().to_string()));
    let ran = finish(child).exits(3);
    assert_eq!(ran.evaluations(0), ["rust ERROR cancelled", "good ERROR cancelled"]);
    assert_gone(&cargo);
}
