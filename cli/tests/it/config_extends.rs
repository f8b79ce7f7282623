//! Configurations that extend others, and the versions that they require.

use crate::support::{Directory, Ran, trace};

const PASS: &str = "cat >/dev/null; echo '{\"score\": 1}'";
const SKIPS: &str = "cat >/dev/null; echo '{\"score\": 0, \"status\": \"NOT_EVALUATED\"}'";

fn run(directory: &Directory, config: &str) -> Ran {
    directory.run(&[&trace("a01_otlp_basic_parts"), "-c", config, "-o", "json"])
}

/// A team's policy in a directory of its own, and a project that extends it.
fn directory(policy: &str, project: &str) -> Directory {
    let directory = Directory::new();
    directory.script("policy/shared", PASS);
    directory.script("project/own", PASS);
    directory.script("project/skips", SKIPS);
    directory.file("policy/base.yaml", policy);
    directory.file("project/c.yaml", format!("extends: ../policy/base.yaml\n{project}"));
    directory
}

const SHARED: &str = "evaluators: [{name: shared, type: code, path: shared}]\n";
const OWN: &str = "evaluators: [{name: own, type: code, path: own}]\n";

#[test]
fn evaluators_of_the_extended_file_come_first_and_each_path_is_relative_to_its_file() {
    let directory = directory(SHARED, OWN);
    let ran = run(&directory, "project/c.yaml").exits(0);
    assert_eq!(ran.evaluations(0), ["shared PASSED", "own PASSED"]);
    directory.file("project/c.yaml", "extends: ../policy/base.yaml\n");
    assert_eq!(run(&directory, "project/c.yaml").exits(0).evaluations(0), ["shared PASSED"]);
}

#[test]
fn each_key_counts_unless_the_extending_file_has_it() {
    let skips = "evaluators: [{name: skips, type: code, path: skips}]\n";
    let directory = directory("allow_unevaluated: true\n", skips);
    run(&directory, "project/c.yaml").exits(0);
    let stricter = format!("extends: ../policy/base.yaml\nallow_unevaluated: false\n{skips}");
    directory.file("project/c.yaml", stricter);
    run(&directory, "project/c.yaml").exits(1);
}

#[test]
fn settings_of_judges_are_combined_key_by_key() {
    let judged = "judge: {reask: 1}\n\
         evaluators: [{name: j, type: llm_judge, criteria: The answer is polite.}]\n";
    let directory = directory("judge: {model: openai/policy}\n", judged);
    run(&directory, "project/c.yaml").exits(2).says("OPENAI_API_KEY").says("openai/policy");
}

#[test]
fn what_is_wrong_is_reported_where_it_is_written() {
    let cases = [
        ("retrys: 1\n", OWN, "policy/base.yaml:1:1: unknown key `retrys`"),
        (
            "evaluators: [{name: shared, type: code, path: gone}]\n",
            OWN,
            "base.yaml:1:47: `path` names ",
        ),
        (
            SHARED,
            "evaluators: [{name: shared, type: code, path: own}]\n",
            "c.yaml:2:14: `shared` is the name of an evaluator that `extends` brings",
        ),
        (
            "extends: ../project/c.yaml\n",
            OWN,
            "base.yaml:1:10: `extends` leads back to this configuration",
        ),
        (
            "require_evaluated: true\n",
            "allow_unevaluated: true\nevaluators: [{name: own, type: code, path: own}]\n",
            "c.yaml:2:20: `allow_unevaluated` and `require_evaluated` contradict",
        ),
        (
            "contain: true\n",
            "contain: false\nevaluators: [{name: own, type: code, path: own}]\n",
            "c.yaml:2:10: `contain: false` contradicts the configuration that this one extends",
        ),
        ("retries: 1\n", "", "c.yaml:1:1: the key `evaluators` is missing"),
        ("extends: none.yaml\n", OWN, "none.yaml, which is not a file"),
    ];
    for (policy, project, expected) in cases {
        let directory = directory(policy, project);
        let ran = run(&directory, "project/c.yaml").exits(2).reports_nothing();
        // A terminal gets the position above the line; the text without marks is that of the library.
        let plain: String = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let (place, message) = expected.split_once(": ").unwrap_or(("", expected));
        assert!(plain.contains(place) && plain.contains(message), "{expected}\n{}", ran.stderr);
        assert!(!plain.contains("/../"), "{}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn the_directory_above_a_link_is_that_of_its_target() {
    let directory = directory("unknown: 1\n", OWN);
    directory.file("real/policy/base.yaml", "allow_unevaluated: true\n");
    directory.script("real/project/own", SKIPS);
    directory.file("real/project/c.yaml", format!("extends: ../policy/base.yaml\n{OWN}"));
    std::os::unix::fs::symlink("real/project", directory.join("link")).unwrap();
    run(&directory, "link/c.yaml").exits(0);
}

#[test]
fn a_policy_demands_that_programs_are_contained() {
    let trace = trace("a01_otlp_basic_parts");
    let commands = [
        &["run", &trace, "-c", "project/c.yaml"][..],
        &["check", "project/c.yaml"],
        &["serve", "--addr", "127.0.0.1:0", "-c", "project/c.yaml", "project/more"],
    ];
    for (policy, project) in [
        ("contain: true\n", ""),
        ("contain: true\n", "contain:\n"),
        ("contain: false\n", "contain: true\n"),
    ] {
        let directory = directory(policy, &format!("{project}{OWN}"));
        directory.script("project/own", &format!("echo >>ran; {PASS}"));
        directory.script("project/more", PASS);
        for command in commands {
            let ran = directory.evaluator(command).exits(2).says("not contained: own");
            ran.says("(`contain: true` requires `executor: sandbox`");
        }
        assert!(!directory.join("ran").exists(), "{policy}{project}: nothing is run");
    }
    let directory = directory("contain: false\n", OWN);
    run(&directory, "project/c.yaml").exits(0);
}

#[test]
fn another_version_reports_only_what_the_configuration_requires() {
    let directory = Directory::new();
    directory.script("own", PASS);
    let version = env!("CARGO_PKG_VERSION");
    directory.file("c.yaml", format!("requires: \">=99.2, <100\"\nkey_of_that_version: 1\n{OWN}"));
    let ran = run(&directory, "c.yaml").exits(2).reports_nothing();
    assert!(!ran.stderr.contains("key_of_that_version"), "{}", ran.stderr);
    ran.says(&format!("requires evaluator >=99.2, <100, and this is {version}"));
    directory.file("c.yaml", format!("requires: \"={version}\"\n{OWN}"));
    run(&directory, "c.yaml").exits(0);
    for (written, problem) in
        [("new", "must be a requirement of versions"), ("[1]", "`requires` must be text")]
    {
        directory.file("c.yaml", format!("requires: {written}\n{OWN}"));
        run(&directory, "c.yaml").exits(2).says(problem);
    }
    // A file that is extended may require versions, too.
    directory.file("base.yaml", "requires: \">=99\"\n");
    directory.file("c.yaml", format!("extends: base.yaml\n{OWN}"));
    run(&directory, "c.yaml").exits(2).says("requires evaluator >=99");
}
