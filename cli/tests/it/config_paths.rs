//! Relative paths of configurations: relative to the file, and what does not exist is found before anything runs.

use std::{fs, os::unix::fs::symlink};

use crate::support::{Directory, eval_set, finish, trace};

const PASS: &str = "cat >/dev/null; echo '{\"score\": 1}'";
const FAIL: &str = "cat >/dev/null; echo '{\"score\": 0}'";

fn code(name: &str, path: &str) -> String {
    format!("- {{name: {name}, type: code, path: {path}}}\n")
}

#[test]
fn paths_are_relative_to_the_configuration_wherever_the_command_runs() {
    let directory = Directory::new();
    directory.script("conf/check", PASS);
    directory.script("check", FAIL);
    directory.script("conf/here", "cat >/dev/null; test -f marker && echo '{\"score\": 1}'");
    directory.file("conf/data/marker", "");
    directory.file("conf/goldens.json", fs::read(eval_set("library")).unwrap());
    let entries = code("check", "check")
        + "- {name: here, type: code, path: ./here, cwd: data}\n"
        + "- {name: tool_trajectory_avg_score, type: builtin}\n";
    directory.file("conf/c.yaml", format!("eval_set: goldens.json\nevaluators:\n{entries}"));
    directory.file("elsewhere/file", "");
    let config = directory.path().join("conf/c.yaml").display().to_string();
    for (working, config) in [
        ("", "conf/c.yaml"),
        ("conf", "c.yaml"),
        ("elsewhere", "../conf/c.yaml"),
        ("elsewhere", &config),
    ] {
        let mut command =
            directory.command(&["run", &trace("k01_traj_exact"), "-c", config, "-o", "json"]);
        command.current_dir(directory.path().join(working));
        let ran = finish(command.spawn().unwrap()).exits(0);
        assert_eq!(
            ran.evaluations(0),
            ["check PASSED", "here PASSED", "tool_trajectory_avg_score PASSED"]
        );
        assert!(!ran.stderr.contains("does not exist"), "{}", ran.stderr);
    }
}

#[test]
fn what_only_a_shell_expands_gets_a_hint() {
    let directory = Directory::new();
    directory.script("check", PASS);
    for (entry, hint) in [
        ("path: ~/check", "`~` is not expanded; write /home/me/check"),
        ("path: check, cwd: '~'", "`~` is not expanded; write /home/me\n"),
        ("path: ~you/check", "`~you` is not expanded; write the whole path"),
        (
            "path: check, executor: sandbox, sandbox: {read: [$HOME/data]}",
            "`$HOME` is not expanded; write /home/me/data",
        ),
        ("path: $CHECKS/check", "`$CHECKS` is not expanded; write the whole path"),
    ] {
        directory.file("c.yaml", format!("evaluators:\n- {{name: a, type: code, {entry}}}\n"));
        let trace = trace("a01_otlp_basic_parts");
        let mut command = directory.command(&["run", &trace, "-c", "c.yaml"]);
        let ran = finish(command.env("HOME", "/home/me").spawn().unwrap());
        ran.exits(2).reports_nothing().says(hint);
    }
    let judge = "judge: {model: openai/m, cassette: ~/c.json}\nevaluators: [{name: a, type: code, path: check}]";
    directory.file("c.yaml", judge);
    directory.evaluator(&["check", "c.yaml"]).exits(2).says("`~` is not expanded");
}

#[test]
fn a_path_that_exists_in_the_working_directory_only_is_used_with_one_warning() {
    let directory = Directory::new();
    directory.script("checks/a", PASS);
    directory.script("checks/b", PASS);
    let entries = code("a", "checks/a") + &code("b", "checks/b");
    directory.file("conf/c.yaml", format!("evaluators:\n{entries}"));
    let ran = directory
        .run(&[&trace("a01_otlp_basic_parts"), "-c", "conf/c.yaml", "-o", "json"])
        .exits(0);
    assert_eq!(ran.evaluations(0), ["a PASSED", "b PASSED"]);
    let ran = ran.says(
        "`path: checks/a` (and 1 more) does not exist next to the configuration; the one in the working directory is used",
    );
    assert_eq!(ran.stderr.matches("warning: ").count(), 1, "{}", ran.stderr);
}

#[test]
fn what_does_not_exist_is_named_once_with_its_place_and_nothing_runs() {
    let directory = Directory::new();
    directory.script("conf/fine", "touch ran");
    symlink("nowhere", directory.path().join("conf/dangling")).unwrap();
    let entries = code("fine", "fine")
        + &code("gone", "gone.py")
        + &code("dangling", "dangling")
        + "- {name: remote, type: remote, source: local, ref: a/a.py, cwd: nowhere}\n";
    directory.file(
        "conf/c.yaml",
        format!("eval_set: gone.json\nsources: {{file: index.yaml, local: shelf}}\nevaluators:\n{entries}"),
    );
    let here = directory.path().join("conf").display().to_string();
    let traces = ["a01_otlp_basic_parts", "k01_traj_exact"].map(trace);
    let ran =
        directory.run(&[&traces[0], &traces[1], "-c", "conf/c.yaml"]).exits(2).reports_nothing();
    let mut ran = ran;
    for (expected, place) in [
        ("`eval_set` names {here}/gone.json, which does not exist", "1:11"),
        ("`file` names {here}/index.yaml, which does not exist", "2:17"),
        ("`local` names {here}/shelf, which does not exist", "2:36"),
        ("`path` names {here}/gone.py, which does not exist", "5:34"),
        ("`path` names {here}/dangling, which does not exist", "6:38"),
        ("`cwd` names {here}/nowhere, which does not exist", "7:65"),
    ] {
        let expected = expected.replace("{here}", &here);
        assert_eq!(ran.stderr.matches(&expected).count(), 1, "{}", ran.stderr);
        ran = ran.says(&format!("conf/c.yaml:{place}"));
    }
    assert!(!directory.path().join("ran").exists() && !directory.path().join("conf/ran").exists());
    directory.evaluator(&["check", "conf/c.yaml"]).exits(2).says("conf/c.yaml:5:34");
    directory.evaluator(&["serve", "-c", "conf/c.yaml", "--addr", "127.0.0.1:0"]).exits(2);
}

#[test]
fn an_eval_set_that_is_given_on_the_command_line_replaces_one_that_does_not_exist() {
    let directory = Directory::new();
    directory.file(
        "c.yaml",
        "eval_set: gone.json\nevaluators: [{name: tool_trajectory_avg_score, type: builtin}]\n",
    );
    let args = [&*trace("k01_traj_exact"), "-c", "c.yaml", "-e", &eval_set("library")];
    directory.run(&args).exits(0);
}

#[test]
fn a_configuration_that_is_not_a_file_has_paths_of_the_working_directory() {
    let directory = Directory::new();
    directory.script("check", PASS);
    let config = format!("evaluators:\n{}", code("check", "check"));
    let mut command =
        directory.command(&["run", &trace("a01_otlp_basic_parts"), "-c", "/dev/stdin"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), config.as_bytes()).unwrap();
    let ran = finish(child).exits(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
}

#[test]
fn the_examples_run_from_anywhere() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let directory = Directory::new();
    for config in ["eval_config.yaml", "eval_config.typescript.yaml", "community/eval_config.yaml"]
    {
        let config = examples.join(config).display().to_string();
        let checked = directory.evaluator(&["check", &config]);
        assert!(!checked.stderr.contains("does not exist"), "{}", checked.stderr);
    }
}
