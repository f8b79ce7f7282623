//! Looking at a configuration without running it.
#![cfg(unix)]

mod support;

use support::Folder;

#[test]
fn a_sound_configuration_is_shown_with_what_would_run() {
    let folder = Folder::new();
    folder.script("good", "echo it ran >>ran");
    folder.file("here/c.yaml", "evaluators:\n  - {name: good, type: code, path: good}\n  - {name: beside, type: code, path: beside.rs}\n");
    folder.file("here/beside.rs", "this is not rust, and nobody compiles it");
    let ran = folder.evaluator(&["check", "here/c.yaml"]).exits(0);
    assert!(ran.stdout.contains("[PASS]  good"), "{}", ran.stdout);
    assert!(ran.stdout.contains("here/beside.rs (Rust: "), "{}", ran.stdout);
    assert!(!folder.path().join("ran").exists(), "nothing is run");
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    let folder = Folder::new();
    folder.file(
        "c.yaml",
        "eval_set: no.json\nevaluators:\n  - {name: gone, type: code, path: gone.py}\n  - {name: what, type: builtin}\n  \
         - {name: tool_trajectory_avg_score, type: builtin}\n",
    );
    let ran = folder.evaluator(&["check", "c.yaml"]).exits(2);
    for part in [
        "[FAIL]  eval set",
        "[FAIL]  gone",
        "gone.py",
        "[FAIL]  what",
        "[PASS]  tool_trajectory_avg_score",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    folder.file("bad.yaml", "evaluators: [{name: a, type: builtin, treshold: 1}]");
    folder.evaluator(&["check", "bad.yaml"]).exits(2).says("did you mean `threshold`?");
}

#[test]
fn the_schema_is_json() {
    let folder = Folder::new();
    let ran = folder.evaluator(&["schema"]).exits(0);
    assert_eq!(ran.json()["required"][0], "evaluators");
}
