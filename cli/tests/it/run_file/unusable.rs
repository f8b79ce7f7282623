//! Run files that cannot be read, shared or written.

use super::*;
use crate::support;

#[test]
fn a_file_that_cannot_be_used_is_an_error_before_anything_runs() {
    let directory = directory();
    let refuses = |text: &[u8], expected: &str| {
        directory.file(FILE, text);
        for args in [&SAVE[..], &RESUME] {
            run(&directory, "none", args).exits(2).says(expected).reports_nothing();
        }
        let report = finish(directory.command(&["report", FILE]).spawn().unwrap());
        // It writes nothing in any case.
        let expected = expected.trim_end_matches(" and was not changed");
        report.exits(2).says(expected).reports_nothing();
        assert_eq!(fs::read(directory.path().join(FILE)).unwrap(), text);
    };
    refuses(b"evaluators: []\n", "evaluator: r.evalrun is not a run file");
    refuses(b"{\"traces\": []}", "evaluator: r.evalrun is not a run file");
    let newer = sealed("\"kind\":\"header\",\"format\":\"evaluator-run\",\"version\":2}");
    refuses(
        newer.as_bytes(),
        "r.evalrun is a run file of format version 2, and this program reads version 1; use the program that wrote it",
    );
    refuses(
        newer.replace("version\":2", "version\":1").as_bytes(),
        "r.evalrun, line 1: the header of this run file is damaged; delete the file",
    );
    let header = sealed("\"kind\":\"header\",\"format\":\"evaluator-run\",\"version\":1}");
    refuses(
        header.replace('\n', "\r\n").as_bytes(),
        "is damaged, because another program has changed its line ends from LF to CR LF (git, an editor, a transfer as text); copy",
    );
    refuses(
        sealed("\"format\":\"evaluator-journal\",\"version\":1}").as_bytes(),
        "evaluator: r.evalrun is not a run file",
    );
    // A run that is killed while it reads traces leaves an empty file, which the next run continues.
    directory.file(FILE, "");
    let report = finish(directory.command(&["report", FILE]).spawn().unwrap());
    let report = report.exits(3).stdout;
    assert!(report.contains("r.evalrun is empty: its run was killed"), "{report}");
    run(&directory, "none", &["--save-run", "no/such/r.evalrun"])
        .exits(2)
        .says("no/such does not exist");
    run(&directory, "none", &["--save-run", "."]).exits(2).says(". is a directory");
    if cfg!(target_os = "linux") {
        run(&directory, "none", &["--save-run", "/dev/full"])
            .exits(2)
            .says("/dev/full is not a regular file");
    }
    assert_eq!(starts(&directory, "none"), [""; 0]);
}

/// A line with the checksum of everything behind it.
pub(crate) fn sealed(rest: &str) -> String {
    let mut sum = u32::MAX;
    for byte in rest.bytes() {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    format!("{{\"crc32\":\"{:08x}\",{rest}\n", !sum)
}

#[test]
fn two_runs_do_not_write_the_same_file() {
    let directory = Directory::new();
    directory.script("waits", "cat >/dev/null; echo $$ >waits.pid; sleep 600");
    directory.file("c.yaml", config(&["waits"]));
    let first = command(&directory, "0", &SAVE).spawn().unwrap();
    wait_for_line(&directory.path().join("waits.pid"));
    run(&directory, "1", &RESUME)
        .exits(2)
        .says(
            "r.evalrun is in use by another run; wait for it, or name another file with --save-run",
        )
        .reports_nothing();
    let host = first.id().to_string();
    assert!(support::processes::signal("INT", &host));
    finish(first);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_and_no_result_is_missing() {
    let directory = directory();
    directory.script("breaks", SCORES);
    let whole = run(&directory, "whole", &[]).exits(1).json();
    // The limit is met in the middle of a record, and leaves room for what evaluators write.
    for args in [&SAVE[..], &RESUME] {
        let ran = finish(limited(&command(&directory, "limit", args)).spawn().unwrap());
        assert_complete(&ran, FILE, &whole);
    }
    let cut = fs::read_to_string(directory.path().join(FILE)).unwrap();
    assert!(cut.ends_with("}\n") && cut.len() <= 16384, "what was written in part is taken away");
    if cfg!(target_os = "linux") {
        // No share of errors that is tolerated makes it green.
        let tolerant = ["--save-run", "/proc/r.evalrun", "--max-error-rate", "1"];
        for args in [&tolerant[..], &["--save-run", "/proc/r.evalrun", "--resume"]] {
            assert_complete(&run(&directory, "full", args), "/proc/r.evalrun", &whole);
        }
    }
}

/// The same command, where files may have 16 KiB.
#[expect(clippy::disallowed_methods, reason = "a shell can set limits")]
fn limited(command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 32; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

/// Checks that a run failed for its file alone.
#[track_caller]
fn assert_complete(ran: &Ran, file: &str, whole: &serde_json::Value) {
    let said = format!("Failed to write the run file {file}: ");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    let json = ran.json();
    assert!(json["errors"][0].as_str().unwrap().starts_with(&said), "{json}");
    assert_eq!(json["summary"], whole["summary"]);
}
