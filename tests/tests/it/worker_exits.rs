//! How a worker exits is part of its evaluator's result: whatever is an error of a process that is started for one
//! document is one of a worker that has answered many.

use std::{fs, process::Command};

use evaluator_test_support::{Output, TestDirectory, recording::with_victim, run};
use serde_json::json;

/// A directory with the program `faulty` in the form that is kept running.
struct Fixture(TestDirectory);

impl Fixture {
    fn new() -> Self {
        let directory = TestDirectory::new();
        fs::copy(env!("CARGO_BIN_EXE_faulty"), directory.join("faulty-warm")).unwrap();
        Self(directory)
    }

    /// Runs the evaluator with this fault on recorded conversations, the last of which triggers the fault. `entry` are more
    /// settings of the evaluator.
    fn run(&self, fault: &str, conversations: usize, entry: &str, args: &[&str]) -> Output {
        self.0.file("traces.json", with_victim(conversations, conversations - 1, "Yes."));
        let config = format!(
            "evaluators:\n- {{name: check, type: code, path: ./faulty-warm, threshold: 0, {entry} \
             config: {{fault: {fault:?}}}}}\n"
        );
        self.0.file("c.yaml", config);
        let mut command = Command::new(env!("CARGO_BIN_EXE_linked-command"));
        command.args(["run", "traces.json", "-c", "c.yaml"]).args(args);
        run(command.current_dir(self.0.path()))
    }
}

const ENDS: [(&str, &str, &str); 5] = [
    ("exit 7 at the end", "", "check: a worker exited with code 7"),
    ("abort at the end", "", "check: a worker was ended by signal 6"),
    (
        "a pipe held open at the end",
        "",
        "check: a worker exited, but a process it started still has its stdout open",
    ),
    (
        "hang at the end",
        "timeout: 4,",
        "check: a worker was still running 4 s after the end of its input",
    ),
    ("exit 3 after an answer", "", "check: a worker exited with code 3"),
];

#[test]
fn a_bad_end_is_red_for_any_number_of_conversations() {
    let fixture = Fixture::new();
    for (fault, entry, message) in ENDS {
        for conversations in [1, 2, 3, 20] {
            let tolerant = ["-o", "json", "--max-error-rate", "1"];
            let ran = fixture.run(fault, conversations, entry, &tolerant);
            let report = ran.json();
            let errors = report["errors"].to_string();
            if conversations < 3 {
                // A process for each conversation, whose own error it is.
                let victim = &report["traces"][conversations - 1]["metrics"][0];
                assert!(victim["error"].is_string(), "{fault}: {victim}");
                continue;
            }
            assert_eq!(ran.code, Some(3), "{fault}: {}", ran.stderr);
            assert!(errors.contains(message), "{fault}: {errors}");
            assert!(ran.stderr.contains(message), "{fault}: {}", ran.stderr);
            assert!(ran.stderr.contains("\nERROR: "), "{fault}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_bad_end_is_in_every_form_of_the_report() {
    let fixture = Fixture::new();
    for form in ["table", "summary", "markdown", "github", "junit", "json"] {
        let ran = fixture.run("exit 7 at the end", 4, "", &["-o", form]);
        assert_eq!(ran.code, Some(3), "{form}: {}", ran.stderr);
        let expected = "check: a worker exited with code 7";
        assert!(ran.stdout.contains(expected), "{form}: {}", ran.stdout);
        assert!(ran.stdout.contains("something is left to say"), "{form}: {}", ran.stdout);
    }
}

#[test]
fn a_good_end_takes_the_time_it_takes() {
    let fixture = Fixture::new();
    for fault in ["a slow exit at the end", "no fault at the end"] {
        let ran = fixture.run(fault, 6, "", &["-o", "json"]);
        assert_eq!(ran.code, Some(0), "{fault}: {}", ran.stderr);
    }
}

#[test]
fn a_worker_that_the_host_kills_is_not_blamed_for_it() {
    let fixture = Fixture::new();
    for (fault, kind) in [("hang without TERM", "timed_out"), ("noise before", "bad_answer")] {
        let ran = fixture.run(fault, 6, "timeout: 4,", &["-o", "json"]);
        let report = ran.json();
        assert_eq!(report["traces"][5]["metrics"][0]["error_type"], kind, "{}", ran.stderr);
        assert_eq!(report["errors"], json!([]), "{}", ran.stderr);
    }
}

#[test]
fn results_of_a_worker_that_exited_badly_are_not_resumed() {
    let fixture = Fixture::new();
    let resume = ["-o", "json", "--resume", "--save-run", "r.evalrun", "-v"];
    for _ in 0..2 {
        let ran = fixture.run("exit 7 at the end", 6, "", &resume);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(ran.stderr.contains("0 of 6 evaluations are from"), "{}", ran.stderr);
        assert!(ran.stderr.contains("a worker exited with code 7"), "{}", ran.stderr);
    }
    let other = fixture.run("no fault at the end", 6, "", &resume);
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    let again = fixture.run("no fault at the end", 6, "", &resume);
    assert!(again.stderr.contains("6 of 6 evaluations are from"), "{}", again.stderr);
}

/// A program that does not number its lines and prints one answer too many: which answer belongs to which document is unknown.
#[test]
fn an_answer_too_many_is_an_error_of_the_run() {
    let fixture = Fixture::new();
    let run = |fault: &str, isolation: &str| {
        let args = ["-o", "json", "--max-error-rate", "1", "--jobs", "1"];
        let ran = fixture.run(fault, 6, &format!("isolation: {isolation},"), &args);
        let report = ran.json();
        let victim = report["traces"][5]["metrics"][0]["error_type"].clone();
        (ran.code, report["errors"].to_string(), ran.stderr, victim)
    };

    let (code, errors, stderr, victim) = run("an answer too many", "auto");
    // On a busy machine both answers may be read at once. Then they are known to be the victim's.
    if victim.is_null() {
        assert_eq!(code, Some(3), "{stderr}");
        let expected = "check: it printed more answers than it was given documents";
        assert!(errors.contains(expected) && stderr.contains(expected), "{errors} {stderr}");
        assert!(stderr.contains("ERROR: "), "{stderr}");
    } else {
        assert_eq!(victim, "bad_answer");
    }
    // A process of its own printed two documents, which is its own error and can be tolerated.
    let (code, errors, stderr, victim) = run("an answer too many", "process");
    assert_eq!((code, &*errors), (Some(0), "[]"), "{stderr}");
    assert_eq!(victim, "bad_answer");
    let (code, errors, stderr, _) = run("turn out of range", "auto");
    assert_eq!((code, &*errors), (Some(0), "[]"), "{stderr}");
}
