//! Every command sees the extensions that a program registers with its runner.

use std::process::Command;

use evaluator_test_support::{TestDirectory, run};

const CONFIG: &str = "evaluators:
- {name: content, type: builtin}
- {name: own, type: code, path: own.check, executor: renamed}
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
    let goldens = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/eval_set.json");
    for (args, code, expected) in [
        (&["check", "c.yaml"][..], 0, &["own.check (Shell: sh)", "built-in metric", "kept"][..]),
        (&["check", "adk.json"], 0, &["content"]),
        (&["run", traces, "-c", "c.yaml"], 0, &["content", "own", "kept", "PASSED"]),
        (&["run", traces, "-c", "adk.json"], 0, &["content", "PASSED"]),
        (&["run", traces, "-m", "content"], 0, &["PASSED"]),
        (
            &[
                "run",
                traces,
                "--eval-set",
                goldens,
                "-m",
                "final_response_match_v2",
                "-j",
                "friend/f",
            ],
            0,
            &["PASSED", "15 calls"],
        ),
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
    // `export` knows the registered runtime, too.
    let (code, text) = registered(&directory, &["export", "--for", "agentevals", "own.check"]);
    assert!(!text.contains("no runtime for"), "{code:?}: {text}");
}

#[test]
fn a_registered_trace_format_is_used_like_a_built_in_one() {
    let directory = TestDirectory::new();
    directory.file("t.txt", "notes\nhow far? -> 3 km\nhow long? -> 1 h\n");
    directory.file("broken.txt", "notes\nhow far? -> 3 km\nsilence\n");
    directory.file("plain.txt", "how far?\n");
    directory.file("c.yaml", "trace_format: notes\nevaluators: [{name: content, type: builtin}]\n");
    directory
        .file("wrong.yaml", "trace_format: zipkin\nevaluators: [{name: content, type: builtin}]\n");
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/traces/booking.json");
    for (args, code, expected) in [
        (&["run", "t.txt", "-m", "content"][..], 0, &["note-1", "note-2", "PASSED"][..]),
        (&["run", "t.txt", traces, "-m", "content"], 0, &["note-1", "PASSED"]),
        (&["run", "t.txt", "-m", "content", "--format", "Notes"], 0, &["note-2", "PASSED"]),
        (&["run", "t.txt", "-c", "c.yaml"], 0, &["note-1", "PASSED"]),
        (&["inspect", "t.txt"], 0, &["note-1", "how far?", "1 h"]),
        // Every command knows the names.
        (&["run", "--help"], 0, &["jaeger-json", "notes", "Questions and answers as text"]),
        (&["completions", "bash"], 0, &["jaeger-json notes otlp-json"]),
        (&["schema"], 0, &["\"notes\""]),
        (&["run", "t.txt", "--format", "zipkin"], 2, &["zipkin", "jaeger-json, notes, otlp-json"]),
        (&["check", "wrong.yaml"], 2, &["zipkin", "jaeger-json, notes, otlp-json"]),
        // Unusable parts and unknown content are errors, as in the other formats.
        (
            &["run", "broken.txt", "-m", "content"],
            3,
            &["1 span left out: line 3: it has no ` -> `"],
        ),
        (&["run", "plain.txt", "-m", "content"], 3, &["Could not detect trace format"]),
        (&["run", "t.txt", "-m", "content", "--format", "otlp-json"], 3, &["line 1: invalid JSON"]),
    ] {
        let (found, text) = registered(&directory, args);
        assert_eq!(found, Some(code), "{args:?}: {text}");
        for expected in expected {
            assert!(text.contains(expected), "{args:?}: `{expected}` is not in {text}");
        }
    }
}

#[test]
fn an_eval_file_sees_registered_trace_formats_and_providers() {
    let directory = TestDirectory::new();
    directory.file("t.txt", "notes\nhow far? -> 3 km\n");
    directory.file("targets.yaml", "targets: [{name: default, provider: friend, model: f}]\n");
    for (text, args, code) in [
        ("3 km", &["--outputs", "t.txt"][..], 0),
        ("4 km", &["--outputs", "t.txt"], 1),
        ("is_the_agent_response_valid", &[], 0),
        ("4 km", &[], 1),
    ] {
        let entry = format!("{{type: contains, value: {text}}}");
        let test = format!("{{id: note-1, criteria: x, input: q, assertions: [{entry}]}}");
        directory.file("e.yaml", format!("tests: [{test}]\n"));
        let (found, output) = registered(&directory, &[&["run", "e.yaml"], args].concat());
        assert_eq!(found, Some(code), "{text} {args:?}: {output}");
    }
}

#[test]
fn spans_of_a_registered_convention_are_conversations() {
    let directory = TestDirectory::new();
    let attribute =
        |key: &str, text: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"{text}"}}}}"#);
    let span = format!(
        r#"{{"traceId":"{:032x}","spanId":"{:016x}","name":"ticket","startTimeUnixNano":"1",
            "endTimeUnixNano":"2","attributes":[{},{}]}}"#,
        1,
        1,
        attribute("desk.question", "how far?"),
        attribute("desk.reply", "3 km")
    );
    directory.file(
        "t.json",
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}"#),
    );
    directory.file("own.check", "grep -q '3 km' && echo '{\"score\": 1}'\n");
    directory.file("c.yaml", "evaluators: [{name: own, type: code, path: own.check}]\n");
    for (args, code, expected) in [
        (&["inspect", "t.json"][..], 0, &["how far?", "from desk.question", "from desk.reply"][..]),
        (&["run", "t.json", "-c", "c.yaml"], 0, &["own", "PASSED"]),
    ] {
        let (found, text) = registered(&directory, args);
        assert_eq!(found, Some(code), "{args:?}: {text}");
        for expected in expected {
            assert!(text.contains(expected), "{args:?}: `{expected}` is not in {text}");
        }
    }
}
