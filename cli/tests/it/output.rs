//! The three forms of the report, and what goes where.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};

use crate::support::{self, Directory, eval_set, trace};

fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("good", r#"cat >/dev/null; echo '{"score": 0.9412, "per_invocation_scores": [null], "details": {"é": "☀"}}'"#);
    directory.script("low", r#"cat >/dev/null; echo '{"score": 0}'"#);
    directory.script("crash", "printf 'boom\\nline 2' >&2; exit 3");
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: good}\n  - {name: low, type: code, path: low}\n  \
         - {name: crash, type: code, path: crash}\n  - {name: tool_trajectory_avg_score, type: builtin}\n",
    );
    directory
}

/// Text with durations, rules and runs of blanks made equal.
fn normal(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(['[', ']']);
        let number = bare.strip_suffix("ms").or_else(|| bare.strip_suffix('s'));
        if number.is_some_and(|number| number.parse::<f64>().is_ok()) {
            word.replace(bare, "TIME")
        } else if word.len() > 1 && word.bytes().all(|byte| byte == b'-') {
            "--".to_owned()
        } else {
            word.to_owned()
        }
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ") + "\n";
    text.lines().map(line).collect()
}

/// Checks that the rows of a table keep to the columns that its rule shows.
#[track_caller]
fn assert_aligned(table: &str) {
    let lines: Vec<Vec<char>> = table.lines().map(|line| line.chars().collect()).collect();
    let rule =
        lines.iter().position(|line| line.starts_with(&['-'; 6])).expect("the table has a rule");
    let blanks: Vec<usize> = (0..lines[rule].len()).filter(|at| lines[rule][*at] == ' ').collect();
    let is_row = |line: &&Vec<char>| line.starts_with(&['[']);
    let rows: Vec<_> = lines[rule + 1..].iter().take_while(is_row).collect();
    assert!(rows.len() > 2 && blanks.len() == 12, "{table}");
    for row in [&lines[rule - 1]].iter().chain(&rows) {
        for at in &blanks {
            assert!(row.get(*at).is_none_or(|char| *char == ' '), "column {at}: {table}");
        }
        // Two blanks each separate the mark, the metric and the score, which has a value in every row.
        assert_ne!(row[blanks[3] + 1], ' ', "{table}");
    }
}

#[test]
fn a_table_can_be_read_at_a_glance() {
    let directory = directory();
    let goldens = eval_set("library");
    let ran = directory.run(&[&trace("k02_traj_extra"), "-c", "c.yaml", "-e", &goldens]).exits(3);
    let (table, performance) = ran.stdout.split_once("  Performance Metrics:\n").unwrap();
    assert_aligned(table);
    assert_eq!(
        normal(table),
        "Trace: 4cccb4d99eac7c27751ecfea9cfda8e2\n\
         Invocations: 1\n\
         Metric Score Status Per-Invocation Time Error\n\
         -- -- -- -- -- -- --\n\
         [PASS] good 0.9412 PASSED N/A TIME\n\
         [FAIL] low 0.0000 FAILED TIME\n\
         [ERR ] crash N/A ERROR TIME exited with code 3: line 2\n\
         [FAIL] tool_trajectory_avg_score 0.0000 FAILED 0.0000 TIME\n\
         Error of crash: exited\n\
         stderr: boom\n\
         stderr: line 2\n\
         Invocation 1 trajectory mismatch:\n\
         Expected:\n\
         - a({\"x\": 1})\n\
         - b({\"y\": 2})\n\
         Actual:\n\
         - a({\"x\": 1})\n\
         - z({})\n\
         - b({\"y\": 2})\n\n",
        "{table}"
    );
    assert!(
        performance.contains("\nOverall Performance:\n  Traces: 1, LLM Calls: "),
        "{performance}"
    );
    // Without a terminal there are no colours and no changing lines.
    assert!(!ran.stdout.contains('\x1b') && !ran.stderr.contains(['\x1b', '\r']), "{ran:?}");
}

#[test]
fn a_table_shows_what_was_measured_and_where_calls_differ() {
    let directory = Directory::new();
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: tool_trajectory_alignment, type: builtin, threshold: 0.9, args: {y: ignore}}\n  \
         - {name: tool_call_count_v1, type: builtin, max: 2}\n  - {name: token_usage_v1, type: builtin}\n",
    );
    let goldens = eval_set("library");
    let ran = directory.run(&[&trace("k02_traj_extra"), "-c", "c.yaml", "-e", &goldens]).exits(1);
    let (table, _) = ran.stdout.split_once("  Performance Metrics:\n").unwrap();
    assert_aligned(table);
    assert_eq!(
        normal(table),
        "Trace: 4cccb4d99eac7c27751ecfea9cfda8e2\n\
         Invocations: 1\n\
         Metric Score Status Per-Invocation Time Error\n\
         -- -- -- -- -- -- --\n\
         [FAIL] tool_trajectory_alignment 0.6667 FAILED 0.6667 TIME\n\
         [FAIL] tool_call_count_v1 0.6667 FAILED 0.6667 TIME\n\
         [----] token_usage_v1 N/A NOT_EVALUATED TIME\n\
         Differences of tool_trajectory_alignment:\n\
         turn 1: 0.6667\n\
         a({\"x\": 1})\n\
         + z({})\n\
         b({\"y\": 2})\n\
         tool_call_count_v1: 3\n\
         token_usage_v1: 120\n\n",
        "{table}"
    );
    ran.says(
        "token_usage_v1: 1 conversation not evaluated: it measures; give it a `max` to score turns against",
    );
}

#[test]
fn arguments_are_shown_in_the_order_they_were_given() {
    let directory = Directory::new();
    directory.file(
        "set.json",
        r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [{"user_content": {}, "intermediate_data":
            {"tool_uses": [{"name": "t", "args": {"b": 1, "a": [2.0]}}, {"name": "u"}]}}]}]}"#,
    );
    let args = [&*trace("k02_traj_extra"), "-e", "set.json"];
    let ran = directory.run(&args).exits(1);
    assert!(
        normal(&ran.stdout).contains("- t({\"b\": 1, \"a\": [2.0]})\n- u({})\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_summary_has_a_line_per_metric() {
    let directory = directory();
    let goldens = eval_set("library");
    let args = [&*trace("k01_traj_exact"), "-c", "c.yaml", "-e", &goldens, "-o", "summary"];
    let ran = directory.run(&args).exits(3);
    assert_eq!(
        normal(&ran.stdout),
        "Trace 8c0d82df351c54b1bb96cfd3028f66f9 (1 invocations):\n\
         [PASS] good: 0.9412 (PASSED) [TIME]\n\
         [FAIL] low: 0.0000 (FAILED) [TIME]\n\
         [ERR ] crash: ERROR - exited with code 3: line 2 [TIME]\n\
         [PASS] tool_trajectory_avg_score: 1.0000 (PASSED) [TIME]\n\n\
         Golden cases without a recording:\n- \"weather\"\n- \"second\"\n- \"traj_aab\"\n- \"traj_none\"\n- \"die\"\n\n"
    );
    ran.says(
        "ERROR: 2 passed, 1 failed, 1 errored, 0 not evaluated (4 evaluations in 1 conversation), 3 scored of 4 in total",
    )
    .says("crash: 1 of error type exited, first in trace 8c0d82df351c54b1bb96cfd3028f66f9 (");
}

#[test]
fn json_has_the_agreed_keys_in_the_agreed_order() {
    let directory = directory();
    let ran = directory.run(&[&trace("k01_traj_exact"), "-c", "c.yaml", "-o", "json"]).exits(3);
    assert!(ran.stdout.is_ascii() && ran.stdout.ends_with("}\n"), "{}", ran.stdout);
    let json = ran.json();
    let position =
        |key: &str| ran.stdout.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key}"));
    let orders = [
        &[
            "traces",
            "trace_id",
            "num_invocations",
            "trace_file",
            "conversion_warnings",
            "metrics",
            "errors",
            "summary",
        ][..],
        &[
            "metric_name",
            "score",
            "eval_status",
            "per_invocation_scores",
            "duration_ms",
            "error",
            "error_type",
            "details",
        ],
    ];
    for order in orders {
        assert!(order.is_sorted_by_key(|key| position(key)), "{order:?}: {}", ran.stdout);
    }
    let metrics = json["traces"][0]["metrics"].as_array().unwrap();
    let [good, low, crash, _] = &metrics[..] else { panic!("{metrics:?}") };
    assert_eq!(good["details"]["é"], "☀");
    assert_eq!(good["per_invocation_scores"], serde_json::json!([null]));
    assert_eq!((&low["score"], &low["eval_status"]), (&0.0.into(), &"FAILED".into()));
    assert!(low.get("details").is_none() && low["error"].is_null() && low["error_type"].is_null());
    assert_eq!(crash["error"], "Custom evaluator 'crash' exited with code 3: boom\nline 2");
    assert_eq!(
        (&crash["error_type"], &crash["eval_status"]),
        (&"exited".into(), &"NOT_EVALUATED".into())
    );
    assert!(crash["score"].is_null());
    assert_eq!(
        json["summary"],
        serde_json::json!({"scored": 2, "passed": 1, "failed": 1, "errored": 1, "not_evaluated": 1, "total": 4})
    );
}

#[test]
fn a_reader_that_goes_away_loses_documents_and_nothing_else() {
    let directory = Directory::new();
    // More than a pipe holds.
    let one = std::fs::read_to_string(trace("a01_otlp_basic_parts")).unwrap();
    for number in 1..=400 {
        let other = one.replace("e847dad403e53610ae87e6c273a96009", &format!("{number:032x}"));
        directory.file(&format!("many/{number}.json"), other);
    }
    let args = ["run", "--no-config", "--allow-unevaluated", "many"];
    // Programs that read a part of a document would not notice that it is one.
    for (format, code) in [("table", 0), ("summary", 0), ("json", 3)] {
        let mut child = directory.command(&[&args[..], &["-o", format]].concat()).spawn().unwrap();
        let mut first = String::new();
        let mut stdout = BufReader::with_capacity(16, child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        drop(stdout);
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{format}: {stderr}");
        assert!(!first.is_empty() && !stderr.contains("panicked"), "{stderr}");
        assert!(stderr.contains("400 conversations"), "{stderr}");
    }
}

#[test]
fn closed_streams_are_no_panic() {
    let directory = Directory::new();
    for redirect in [">&-", "2>&-", ">&- 2>&-", ">/dev/full"] {
        let line = format!(
            "'{}' run --no-config --allow-unevaluated '{}' {redirect}; echo \"code $?\" >>codes",
            env!("CARGO_BIN_EXE_evaluator"),
            trace("a01_otlp_basic_parts")
        );
        let ran = directory.sh(&line);
        assert!(!ran.stderr.contains("panicked"), "{redirect}: {}", ran.stderr);
    }
    let codes = std::fs::read_to_string(directory.path().join("codes")).unwrap();
    // A report that is lost is an error.
    let expected =
        if cfg!(target_os = "linux") { "code 3\ncode 0\ncode 3\ncode 3\n" } else { "code 3\n" };
    assert!(codes.starts_with(expected), "{codes}");
}

#[test]
fn whatever_is_printed_needs_an_open_stdout() {
    let directory = Directory::new();
    directory.file("c.yaml", "evaluators: [{name: tool_trajectory_avg_score, type: builtin}]\n");
    let report = directory.path().join("report.json");
    let commands = [
        "schema",
        "runtimes",
        "list --source builtin",
        "check c.yaml",
        "config tool_trajectory_avg_score",
        "completions bash",
        "man",
        "--version",
        "run --help",
    ];
    for command in commands {
        for (redirect, code) in [(">&-", 3), (">/dev/null", 0)] {
            let (ran, shown) = shell(&directory, command, redirect);
            assert_eq!(ran.code, Some(code), "{shown}: {}", ran.stderr);
            assert_eq!(ran.stderr.contains("cannot write to stdout"), code == 3, "{}", ran.stderr);
        }
    }
    // What goes to a file needs none.
    let command = format!(
        "run '{}' --no-config --allow-unevaluated -o json={}",
        trace("a01_otlp_basic_parts"),
        report.display()
    );
    let (ran, _) = shell(&directory, &command, ">&-");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(report.exists());
}

/// Runs the command in a shell that redirects its streams.
fn shell(directory: &Directory, command: &str, redirect: &str) -> (support::Ran, String) {
    let line = format!("'{}' {command} {redirect}", env!("CARGO_BIN_EXE_evaluator"));
    (directory.sh(&line), line)
}

#[test]
fn a_score_below_its_threshold_is_shown_below_it() {
    let directory = Directory::new();
    directory.script(
        "check",
        r#"cat >/dev/null; echo '{"score": 0.79999999, "per_invocation_scores": [0.799999]}'"#,
    );
    directory.script("s", r#"cat >/dev/null; echo '{"score": 0.9999999999}'"#);
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: check, type: code, path: check, threshold: 0.8}\n  \
         - {name: s, type: code, path: s, threshold: 1}\n",
    );
    for (form, parts) in [
        ("table", ["[FAIL] check 0.79999999 FAILED", "[FAIL] s 0.9999999999 FAILED"]),
        ("summary", ["[FAIL] check: 0.79999999 (FAILED)", "[FAIL] s: 0.9999999999 (FAILED)"]),
        (
            "github",
            [
                "score 0.79999999 is below the threshold 0.8 (turn 1: 0.799999)",
                "score 0.9999999999 is below the threshold 1",
            ],
        ),
        ("junit", ["score 0.79999999 is below", "score 0.9999999999 is below"]),
        ("markdown", ["| 0.79999999 |", "| 0.9999999999 |"]),
    ] {
        let ran = directory.run(&[&trace("k01_traj_exact"), "-c", "c.yaml", "-o", form]).exits(1);
        for part in parts {
            assert!(normal(&ran.stdout).contains(part), "{form}: no {part} in {}", ran.stdout);
        }
    }
}

#[test]
fn a_json_report_is_json_whatever_evaluators_answer() {
    let directory = Directory::new();
    directory.script(
        "odd",
        &format!(
            r#"cat >/dev/null; echo '{{"score": 1, "details": {{"a": [NaN, -Infinity, 1e999], "n": {}}}}}'"#,
            "7".repeat(5000)
        ),
    );
    directory.file("c.yaml", "evaluators: [{name: odd, type: code, path: odd}]\n");
    let ran = directory.run(&[&trace("k01_traj_exact"), "-c", "c.yaml", "-o", "json"]).exits(0);
    let details = &ran.json()["traces"][0]["metrics"][0]["details"];
    assert_eq!(details["a"], serde_json::json!(["NaN", "-Infinity", "Infinity"]));
    assert_eq!(details["n"], "7".repeat(5000));
}

#[test]
fn equal_errors_are_shown_once_with_their_number() {
    let directory = Directory::new();
    directory
        .script("same", "cat >/dev/null; echo 'error: same: config.max is missing' >&2; exit 2");
    directory.script(
        "some",
        "grep -q 8c0d82df && { echo 'error: odd words' >&2; exit 1; }; echo '{\"score\": 1}'",
    );
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: same, type: code, path: same}\n  - {name: some, type: code, path: some}\n",
    );
    let traces = ["k01_traj_exact", "k02_traj_extra", "a01_otlp_basic_parts"].map(trace);
    for form in ["table", "summary", "github", "markdown"] {
        let mut args: Vec<&str> = traces.iter().map(String::as_str).collect();
        args.extend(["-c", "c.yaml", "-o", form]);
        let ran = directory.run(&args).exits(3);
        let shown = ran.stdout.replace('\\', "");
        assert_eq!(shown.matches("config.max is missing").count(), 1, "{form}: {shown}");
        assert!(shown.contains("all 3 conversations"), "{form}: {shown}");
        assert!(!shown.contains("of 3 conversations"), "{form}: {shown}");
        assert!(!shown.contains("Custom evaluator"), "{form}: {shown}");
        assert!(!ran.stderr.contains("Custom evaluator"), "{form}: {}", ran.stderr);
    }
    // Programs see each of them.
    for form in ["json", "junit"] {
        let mut args: Vec<&str> = traces.iter().map(String::as_str).collect();
        args.extend(["-c", "c.yaml", "-o", form]);
        let ran = directory.run(&args).exits(3);
        assert!(ran.stdout.matches("config.max is missing").count() >= 3, "{}", ran.stdout);
    }
}

#[test]
fn the_message_of_a_panic_stands_in_the_table() {
    let directory = Directory::new();
    directory.script(
        "panics",
        "cat >/dev/null; printf 'debug 1\\n' >&2; printf \"\\nthread 'main' (7) panicked at src/main.rs:5:9:\\nindex out of \
         bounds\\nnote: run with RUST_BACKTRACE=1\\nerror: panics: the evaluator panicked\\n\" >&2; exit 1",
    );
    directory.script("aborts", "cat >/dev/null; kill -ABRT $$");
    directory.script("wide", r#"cat >/dev/null; echo '{"score": 1.0000000001}'"#);
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: panics, type: code, path: panics}\n  - {name: aborts, type: code, path: aborts}\n  \
         - {name: wide, type: code, path: wide}\n",
    );
    for form in ["table", "summary"] {
        let args = [&trace("k01_traj_exact"), "-c", "c.yaml", "-o", form];
        let text = directory.run(&args).exits(3).stdout;
        for part in [
            "exited with code 1: panicked: index out of bounds (src/main.rs:5:9)",
            "killed by signal 6 (SIGABRT)",
            "its result is not valid: score: expected a number from 0 to 1, found 1.0000000001",
        ] {
            assert!(text.contains(part), "{form}: no {part} in {text}");
        }
    }
}
