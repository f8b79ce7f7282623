//! Everything ends when the host is killed.

use std::{
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use evaluator_sandbox::Level;

use crate::world::{
    UNPRIVILEGED, is_root, levels, marker, policy, processes_with, read_line, shell, stage,
    wait_for,
};

#[test]
fn killing_the_host_ends_everything() {
    for level in levels() {
        kill_host(level, None);
        if is_root() {
            kill_host(level, Some(UNPRIVILEGED));
        }
    }
}

fn kill_host(level: Level, user: Option<u32>) {
    let (_directory, executable) = stage();
    let marker = marker("orphan");
    // A daemon, a child that ignores signals, and output that stays open.
    let script = format!(
        "(setsid sh -c 'trap \"\" TERM HUP; sleep 300; : {marker}' &) ; (trap '' TERM; sleep 300; : {marker}) & echo \
         ready; sleep 300"
    );
    let mut host = Command::new(executable);
    host.arg("host").arg(serde_json::to_string(&policy(level)).unwrap());
    host.args(["--", "sh", "-c", &script]);
    host.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(user) = user {
        host.uid(user).gid(user);
    }
    let mut host = host.spawn().unwrap();
    assert_eq!(read_line(host.stdout.as_mut().unwrap()), "ready");
    assert!(!processes_with(&marker).is_empty());
    host.kill().unwrap();
    host.wait().unwrap();
    wait_for("processes are left", || processes_with(&marker).is_empty());
}

#[test]
fn killing_the_process_that_stands_for_the_program_ends_the_program() {
    for level in levels() {
        let marker = marker("outer");
        let script = format!("echo ready; while :; do sleep 300; : {marker}; done");
        let mut outer = shell(&policy(level), &script).spawn().unwrap();
        assert_eq!(read_line(outer.stdout.as_mut().unwrap()), "ready");
        // The process alone and not its group.
        outer.kill().unwrap();
        outer.wait().unwrap();
        wait_for("processes are left", || processes_with(&marker).is_empty());
    }
}

#[test]
fn killing_the_host_at_any_time_ends_everything() {
    let (_directory, executable) = stage();
    for level in levels() {
        let marker = marker("early");
        let tmp = tempfile::tempdir().unwrap();
        for milliseconds in [0, 1, 2, 3, 5, 8, 13, 21] {
            let mut host = Command::new(&executable);
            host.arg("host").arg(serde_json::to_string(&policy(level)).unwrap());
            host.args(["--", "sh", "-c", &format!("sleep 300; : {marker}")]);
            host.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            host.env("TMPDIR", tmp.path());
            let mut host = host.spawn().unwrap();
            // How far the helper is by then does not matter.
            thread::sleep(Duration::from_millis(milliseconds));
            host.kill().unwrap();
            host.wait().unwrap();
        }
        wait_for("processes are left", || processes_with(&marker).is_empty());
        wait_for("directories are left", || tmp.path().read_dir().unwrap().next().is_none());
    }
}
