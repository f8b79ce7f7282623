//! Configurations of Google's Agent Development Kit.
#![cfg(unix)]

use crate::support::{self, Directory, eval_set, trace};

/// Keeps what it reads and what it is called with, and passes.
const KEEPS: &str = r#"cat >read; echo "$#:$1:$2" >called; echo '{"score": 0.6}'"#;

#[test]
fn criteria_are_evaluated_like_entries_of_ours() {
    let directory = Directory::new();
    directory.script("checks/length", KEEPS);
    directory.file(
        "test_config.json",
        r#"{
  "criteria": {
    "answer_length": {"threshold": 0.5, "command": ["checks/length", "--flag", "a b"], "timeout": 30, "on_error": "fail", "min_length": 10},
    "response_match_score": "0.25",
    "strict": {"threshold": 0.7, "minLength": null},
    "tool_trajectory_avg_score": {"threshold": 1, "matchType": "in order", "ignoreArgs": true}
  },
  "customMetrics": {
    "answer_length": {"codeConfig": {"name": "adk_process_metric.run"}},
    "strict": {"code_config": {"name": "checks/length"}}
  },
  "user_simulator_config": {"model": "m"}
}"#,
    );
    let args = [
        &*trace("k01_traj_exact"),
        "-e",
        &eval_set("library"),
        "-c",
        "test_config.json",
        "--jobs",
        "1",
    ];
    let ran = directory.run(&[&args[..], &["-o", "json"]].concat()).exits(1);
    assert_eq!(
        ran.evaluations(0),
        [
            "answer_length PASSED",
            "response_match_score PASSED",
            "strict FAILED",
            "tool_trajectory_avg_score PASSED"
        ]
    );
    assert!(!ran.stderr.contains("user_simulator_config"), "{}", ran.stderr);
    directory.run(&[&args[..], &["-v"]].concat()).exits(1).says(
        "note: `user_simulator_config` has no effect here: recordings are evaluated, and no user is simulated",
    );

    // What the programs received.
    directory.file(
        "one.json",
        r#"{"criteria": {"answer_length": {"threshold": 0.5, "command": "checks/length --flag 'a b'", "minLength": 10}},
            "custom_metrics": {"answer_length": {"code_config": {"name": "shim.run"}}}}"#,
    );
    directory.run(&[&trace("k01_traj_exact"), "-c", "one.json"]).exits(0);
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!(read("called"), "2:--flag:a b\n");
    let document: serde_json::Value = serde_json::from_str(&read("read")).unwrap();
    assert_eq!(document["metric_name"], "answer_length");
    assert_eq!(document["threshold"], 0.5);
    assert_eq!(document["config"], serde_json::json!({"minLength": 10}));
}

#[test]
fn a_custom_metric_replaces_the_built_in_one_of_its_name() {
    let directory = Directory::new();
    directory.script("own", KEEPS);
    let custom = r#""custom_metrics": {"safety_v1": {"code_config": {"name": "own"}}}"#;
    directory.file("c.json", format!(r#"{{"criteria": {{"safety_v1": 0.5}}, {custom}}}"#));
    let ran = directory.run(&[&trace("k01_traj_exact"), "-c", "c.json", "-o", "json"]).exits(0);
    assert_eq!(ran.evaluations(0), ["safety_v1 PASSED"]);
    directory.file("d.json", r#"{"criteria": {"safety_v1": 0.5}}"#);
    let ran = directory.run(&[&trace("k01_traj_exact"), "-c", "d.json", "-o", "json"]).exits(3);
    assert!(ran.error_of("safety_v1").contains("needs a judge model"), "{}", ran.stdout);
    let checked = directory.evaluator(&["check", "d.json"]).exits(2);
    assert!(checked.stdout.contains("[FAIL]  safety_v1"), "{}", checked.stdout);
}

#[test]
fn commands_are_searched_next_to_the_configuration_and_on_path() {
    let directory = Directory::new();
    directory.script("conf/sibling", KEEPS);
    directory.script("bin/on-path", KEEPS);
    directory.file(
        "conf/c.json",
        r#"{"criteria": {"a": 0.5, "b": 0.5, "c": 0.5},
            "custom_metrics": {"a": {"code_config": {"name": "sibling"}}, "b": {"code_config": {"name": "on-path"}},
                               "c": {"code_config": {"name": "nowhere"}}}}"#,
    );
    let path = format!("{}:/usr/bin:/bin", directory.path().join("bin").display());
    let run = |args: &[&str]| {
        let mut command = directory.command(args);
        command.env("PATH", &path);
        support::finish(command.spawn().unwrap())
    };
    run(&["run", &trace("k01_traj_exact"), "-c", "conf/c.json", "-o", "json"])
        .exits(2)
        .reports_nothing()
        .says("conf/nowhere, which does not exist, and no command on PATH has this name")
        .says("conf/c.json:3:");
    let checked = run(&["check", "conf/c.json"]).exits(2);
    for line in ["[PASS]  a", "[PASS]  b", "[FAIL]  c"] {
        assert!(checked.stdout.contains(line), "{line}: {}", checked.stdout);
    }
}

#[test]
fn mistakes_are_underlined_and_nothing_runs() {
    let directory = Directory::new();
    let trace = trace("k01_traj_exact");
    for (text, messages) in [
        (
            "{\"criteria\": {\"m\": 0.5},\n \"custom_metrics\": {\"m\": {\"code_config\": {\"name\": \"my_pkg.metrics.fn\"}}}}",
            &[
                "error: `my_pkg.metrics.fn` is a Python function, and there is no my_pkg/metrics.py next to the configuration",
                "--> c.json:2:51",
                "^^^^^^^^^^^^^^^^^^^ name a file or a program, or give the criterion a `command`",
            ][..],
        ),
        (
            "{\"criteria\": {\"response_match_score\": {}}}",
            &[
                "the key `threshold` is missing in the criterion of `response_match_score`",
                "--> c.json:1:39",
            ],
        ),
        (
            "{\"criteria\": {\"response_match_score\": -0.5}}",
            &[
                "must be in 0..=1, not -0.5",
                "^^^^ here scores are in 0..=1, whatever they are in ADK",
            ],
        ),
        (
            "{\"criteria\": {\"a\": 0.5}",
            &["error: not JSON: unexpected end of text", "--> c.json:1:24"],
        ),
        (
            "{\"criteria\": {\"response_match_score\": 0.5}, \"custom_metric\": {}}",
            &["unknown key `custom_metric`", "did you mean `custom_metrics`?"],
        ),
    ] {
        directory.file("c.json", text);
        for args in [&["check", "c.json"][..], &["run", &trace, "-c", "c.json"]] {
            let ran = directory.evaluator(args).exits(2).reports_nothing();
            messages.iter().fold(ran, |ran, message| ran.says(message));
        }
    }
}

#[test]
fn what_is_probably_a_mistake_is_a_warning() {
    let directory = Directory::new();
    directory.script("own", KEEPS);
    directory.file(
        "c.json",
        r#"{"criteria": {"a": 0.5},
            "custom_metrics": {
              "a": {"code_config": {"name": "own"},
                    "metric_info": {"metric_name": "a", "metric_value_info": {"interval": {"min_value": 1, "max_value": 0}}}},
              "b": {"code_config": {"name": "x.y"}}}}"#,
    );
    directory
        .run(&[&trace("k01_traj_exact"), "-c", "c.json"])
        .exits(0)
        .says("warning: no number is in an interval from 1 to 0")
        .says("warning: `b` is not in `criteria`, so it is not evaluated");
}

#[test]
fn json_that_says_evaluators_is_a_configuration_of_ours() {
    let directory = Directory::new();
    directory.script("own", KEEPS);
    directory.file("c.json", r#"{"evaluators": [{"name": "a", "type": "code", "path": "own"}]}"#);
    directory.run(&[&trace("k01_traj_exact"), "-c", "c.json"]).exits(0);
    directory.file(
        "c.json",
        r#"{"evaluators": [{"name": "a", "type": "code", "path": "own"}], "criteria": {}}"#,
    );
    directory
        .run(&[&trace("k01_traj_exact"), "-c", "c.json"])
        .exits(2)
        .says("unknown key `criteria`");
}
