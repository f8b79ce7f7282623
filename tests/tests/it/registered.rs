//! What a program registers with its runner is seen by every command.

use std::process::Command;

use evaluator_test_support::{TestDirectory, run};

const CONFIG: &str = "evaluators:
- {name: content, type: builtin}
- {name: own, type: code, path: own.check, executor: beside}
- {name: kept, type: remote, source: drawer, ref: kept/kept.check}
";

/// ADK's form of a configuration, whose names may be built-in metrics.
const ADK: &str = r#"{"criteria": {"content": 0.5}}"#;

/// Exit code and both outputs of `registered ARGS`.
fn registered(directory: &TestDirectory, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_registered"));
    command
        .args(args)
        .current_dir(directory.path())
        .env("XDG_CACHE_HOME", directory.join("cache"))
        .env("HOME", directory.path())
        .env("AGENTEVALS_EVALUATOR_BASE_URL", "http://127.0.0.1:9")
        .env("AGENTEVALS_EVALUATOR_API_URL", "http://127.0.0.1:9");
    let output = run(&mut command);
    (output.code, output.stdout + &output.stderr)
}

#[test]
fn every_command_sees_what_is_registered() {
    let directory = TestDirectory::new();
    directory.file("c.yaml", CONFIG);
    directory.file("adk.json", ADK);
    directory.file("own.check", "cat >/dev/null; echo '{\"score\": 1}'\n");
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/traces/booking.json");
    for (args, code, expected) in [
        (&["check", "c.yaml"][..], 0, &["own.check (Shell: sh)", "built-in metric", "kept"][..]),
        (&["check", "adk.json"], 0, &["content"]),
        (&["run", traces, "-c", "c.yaml"], 0, &["content", "own", "kept", "PASSED"]),
        (&["run", traces, "-c", "adk.json"], 0, &["content", "PASSED"]),
        (&["run", traces, "-m", "content"], 0, &["PASSED"]),
        (&["update", "c.yaml"], 0, &["drawer", "kept/kept.check"]),
        (&["runtimes"], 0, &["Shell", ".check"]),
        (&["list"], 0, &["content", "Is content with everything.", "drawer", "kept/kept.check"]),
        (&["list", "--source", "drawer"], 0, &["kept/kept.check"]),
        (&["list", "--source", "builtin"], 0, &["Is content with everything."]),
        (&["list", "--source", "attic"], 2, &["attic", "drawer"]),
        (&["config", "content"], 0, &["name: content", "type: builtin"]),
        (&["config", "own.check"], 0, &["# Shell", "path: own.check"]),
        (&["config", "kept"], 0, &["source: drawer", "ref: kept/kept.check"]),
    ] {
        let (found, text) = registered(&directory, args);
        assert_eq!(found, Some(code), "{args:?}: {text}");
        for expected in expected {
            assert!(text.contains(expected), "{args:?}: `{expected}` is not in {text}");
        }
    }
    // What is not registered there is not known.
    let (code, text) = registered(&directory, &["export", "--for", "agentevals", "own.check"]);
    assert!(!text.contains("no runtime for"), "{code:?}: {text}");
}
