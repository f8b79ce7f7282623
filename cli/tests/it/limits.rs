//! What an entry allows its evaluator to use, and where it runs.
#![cfg(unix)]

use crate::support::{Directory, Ran, trace};

/// Runs a script once with these keys in its entry.
fn run(directory: &Directory, script: &str, keys: &str) -> Ran {
    directory.script("check", script);
    directory.file(
        "c.yaml",
        format!("evaluators:\n- {{name: check, type: code, path: ./check, {keys}}}"),
    );
    directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "-o", "json"])
}

/// Prints what a command prints, as a detail of a good answer.
fn telling(command: &str) -> String {
    format!(
        "cat >/dev/null; printf '{{\"score\": 1, \"details\": {{\"printed\": \"%s\"}}}}' \"$({command})\""
    )
}

fn printed(ran: &Ran) -> String {
    ran.json()["traces"][0]["metrics"][0]["details"]["printed"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn limits_hold_for_the_evaluator_alone() {
    let directory = Directory::new();
    let own = printed(&run(&directory, &telling("ulimit -n"), "timeout: 30").exits(0));
    let limited = run(&directory, &telling("ulimit -n"), "limits: {open_files: 17}").exits(0);
    assert_eq!(printed(&limited), "17");
    assert_ne!(own, "17", "the default is what this process has");
    let limited = run(&directory, &telling("ulimit -t"), "limits: {cpu: 7}").exits(0);
    assert_eq!(printed(&limited), "7");
    if cfg!(target_os = "linux") {
        let limited = run(&directory, &telling("ulimit -d"), "limits: {memory: 64MiB}").exits(0);
        assert_eq!(printed(&limited), "65536", "in KiB");
    }
}

#[test]
fn an_evaluator_that_passes_a_limit_is_an_error_that_names_it() {
    let directory = Directory::new();
    let endless = "cat >/dev/null; echo '{\"score\": 1}'; while :; do :; done";
    let ran = run(&directory, endless, "timeout: 500, limits: {cpu: 1}").exits(3);
    assert_eq!(ran.evaluations(0), ["check ERROR signalled"]);
    let error = ran.error_of("check");
    assert!(
        error.ends_with("(it used up its 1 s of processor time, which is its limit `cpu: 1`)"),
        "{error}"
    );

    let ran =
        run(&directory, &format!("trap '' XCPU; {endless}"), "timeout: 500, limits: {cpu: 1}")
            .exits(3);
    assert_eq!(ran.evaluations(0), ["check ERROR signalled"]);
    let error = ran.error_of("check");
    assert!(error.contains("code -9 (something killed it; it had the limit `cpu: 1`"), "{error}");

    if cfg!(target_os = "linux") {
        let greedy =
            "cat >/dev/null; x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo '{\"score\": 1}'";
        let ran = run(&directory, greedy, "timeout: 500, limits: {memory: 32MiB}").exits(3);
        let error = ran.error_of("check");
        assert!(error.contains("it had the limit `memory: 32MiB`, which may be why"), "{error}");
    }

    let ran = run(
        &directory,
        "cat >/dev/null; echo '{\"score\": 1}'",
        "timeout: 500, limits: {output: 10}",
    )
    .exits(3);
    assert_eq!(ran.evaluations(0), ["check ERROR bad_answer"]);
    assert_eq!(
        ran.error_of("check"),
        "Custom evaluator 'check' printed more than 10 bytes on stdout"
    );

    let ran =
        run(&directory, "echo 0123456789abcdef >&2; exit 4", "timeout: 500, limits: {stderr: 8}")
            .exits(3);
    let error = ran.error_of("check");
    assert!(error.contains("code 4: 01\n[... 9 bytes left out ...]\nbcdef"), "{error}");

    let ran =
        run(&directory, "exit 4", "timeout: 500, limits: {open_files: 20, memory: 1GiB}").exits(3);
    assert_eq!(
        ran.error_of("check"),
        "Custom evaluator 'check' exited with code 4 (it had the limits `memory: 1GiB` and `open_files: 20`, which may be why)"
    );
    let ran = run(&directory, "exit 4", "timeout: 30").exits(3);
    assert_eq!(ran.error_of("check"), "Custom evaluator 'check' exited with code 4");
}

#[test]
fn a_limit_that_makes_no_sense_is_shown_with_its_place() {
    let directory = Directory::new();
    let ran = run(&directory, "touch ran", "limits: {memory: 512M}").exits(2).reports_nothing();
    let ran = ran.says("`memory` must be a number of bytes, or text like `512MiB` or `64kB`");
    ran.says("`512MiB` counts in 1024s, `512MB` in 1000s");
    run(&directory, "touch ran", "limits: {cpus: 2}").exits(2).says("did you mean `cpu`?");
    assert!(!directory.path().join("ran").exists());
}

#[test]
fn an_evaluator_runs_where_its_entry_says() {
    let directory = Directory::new();
    let here = directory.path().display().to_string();
    assert_eq!(printed(&run(&directory, &telling("pwd -P"), "timeout: 30").exits(0)), here);
    directory.file("data/x", "");
    assert_eq!(
        printed(&run(&directory, &telling("pwd -P"), "cwd: data").exits(0)),
        format!("{here}/data")
    );

    // Next to the configuration, if it is not in the working directory.
    directory.file("conf/more/x", "");
    directory
        .file("conf/c.yaml", "evaluators: [{name: check, type: code, path: ./check, cwd: more}]");
    let args = [&trace("a01_otlp_basic_parts"), "-c", "conf/c.yaml", "-o", "json"];
    assert_eq!(printed(&directory.run(&args).exits(0)), format!("{here}/conf/more"));
}

#[test]
fn a_working_directory_that_is_not_there_is_found_before_anything_runs() {
    let directory = Directory::new();
    directory.script("check", "touch ran; exit 1");
    directory.file(
        "c.yaml",
        "evaluators:\n- {name: gone, type: code, path: ./check, cwd: nowhere}\n- {name: file, type: code, path: ./check, cwd: check}\n",
    );
    let here = directory.path().display();
    directory
        .run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "-o", "json"])
        .exits(2)
        .reports_nothing()
        .says(&format!("`cwd` names {here}/nowhere, which does not exist"))
        .says(&format!("`cwd` names {here}/check, which is not a directory"))
        .says("c.yaml:3:48");
    let checked = directory.evaluator(&["check", "c.yaml"]).exits(2);
    assert!(checked.stdout.contains("[FAIL]  gone  `cwd` does not exist"), "{}", checked.stdout);
    assert!(
        checked.stdout.contains("[FAIL]  file  `cwd` is not a directory"),
        "{}",
        checked.stdout
    );
    assert!(!directory.path().join("ran").exists());
}
