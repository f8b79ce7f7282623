//! Policy of containment: keys of a configuration, `--contain`, and where containment is shown.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests may panic, and say what is skipped"
)]

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use evaluator_test_support::finish;
use serde_json::Value;

use crate::support::{Directory, has, trace};

/// Writes to stdout whether `/secret` next to it can be read.
const PROBE: &str = r#"cat >/dev/null; if cat "$(dirname "$0")/../secret" >/dev/null 2>&1; then s=0; else s=1; fi
echo "{\"score\": $s}""#;

/// Returns true if this machine can contain programs. `CONTAINMENT_TESTS=required` makes that a must.
pub(crate) fn is_available() -> bool {
    has_level("full")
}

/// The same for a level. Each is tried once.
pub(crate) fn has_level(level: &'static str) -> bool {
    static TRIED: Mutex<BTreeMap<&str, bool>> = Mutex::new(BTreeMap::new());
    let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    *tried.entry(level).or_insert_with(|| can_contain(level))
}

fn can_contain(level: &str) -> bool {
    let entry = format!(
        "{{name: a, type: code, path: checks/probe, executor: sandbox, sandbox: {{level: {level}}}}}"
    );
    let ran = place(&format!("evaluators: [{entry}]")).evaluator(&["check", "c.yaml"]);
    if ran.code == Some(0) {
        return true;
    }
    let required = std::env::var_os("CONTAINMENT_TESTS").is_some_and(|it| it == "required");
    assert!(!required, "CONTAINMENT_TESTS=required: {}{}", ran.stdout, ran.stderr);
    eprintln!("SKIPPED: this machine has no sandbox: {}{}", ran.stdout, ran.stderr);
    false
}

/// A directory with a secret, and a program in another directory that looks for it: its score is 1 if it cannot read it.
pub(crate) fn place(config: &str) -> Directory {
    let directory = Directory::new();
    directory.file("secret", "key");
    directory.file("data/words", "please");
    directory.file("checks/plain", "");
    directory.script("checks/probe", PROBE);
    directory.file("c.yaml", config);
    directory
}

fn report(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap()
}

#[test]
fn keys_that_have_no_effect_are_errors_with_their_place() {
    let directory = place("");
    for (keys, message) in [
        ("sandbox: {network: true}", "`sandbox` has no effect with `executor: local`"),
        ("executor: sandbox, sandbox: {netwrok: true}", "did you mean `network`?"),
        ("executor: sandbox, inherit_env: true", "`inherit_env: true` would show all secrets"),
        ("executor: sandbox, sandbox: {read: [gone]}", "gone, which does not exist"),
        ("executor: sandbox, sandbox: {write: [secret]}", "secret, which is not a directory"),
        ("executor: sandbox, sandbox: {write: [checks]}", "which contains the program itself"),
        ("executor: docker", "`executor: docker` needs the name of an image"),
    ] {
        let entry = format!("evaluators:\n- {{name: a, type: code, path: checks/probe, {keys}}}\n");
        directory.file("c.yaml", entry);
        let trace = trace("a01_otlp_basic_parts");
        for args in [&["check", "c.yaml"][..], &["run", &trace, "-c", "c.yaml"]] {
            let ran = directory.evaluator(args).exits(2).says(message);
            assert!(ran.stderr.contains("c.yaml:2:"), "{keys}: {}", ran.stderr);
        }
    }
}

#[test]
fn contain_refuses_every_program_that_is_not_contained_before_anything_runs() {
    let directory = place(
        "evaluators:\n\
         - {name: plain, type: code, path: checks/ran}\n\
         - {name: boxed, type: code, path: checks/probe, executor: sandbox}\n\
         - {name: inside, type: linked}\n\
         - {name: far, type: remote, ref: a/a.py}\n\
         - {name: graded, type: openai_eval, grader: {type: python, source: 'def grade(s, i): return 1'}}\n\
         - {name: tool_trajectory_avg_score, type: builtin}\n",
    );
    directory.script("checks/ran", "echo it ran >>../ran");
    let trace = trace("a01_otlp_basic_parts");
    for args in
        [&["run", "--contain", &trace, "-c", "c.yaml"][..], &["check", "--contain", "c.yaml"]]
    {
        let ran = directory.evaluator(args).exits(2);
        let line = ran.stderr.lines().find(|line| line.contains("not contained: "));
        let line = line.unwrap_or_else(|| panic!("{}", ran.stderr));
        assert!(line.contains("not contained: plain, inside, far, graded ("), "{line}");
    }
    assert!(!directory.path().join("ran").exists(), "nothing is run");
}

#[test]
fn models_that_are_programs_are_refused_where_programs_are_contained() {
    let directory = place("");
    directory.script("judge.sh", "cat >/dev/null; echo it ran >>ran; echo '{\"text\": \"yes\"}'");
    let model = "command:judge.sh";
    let judged = "{name: hallucinations_v1, type: builtin}";
    let boxed = "name: a, type: code, path: checks/probe, executor: sandbox";
    let not_contained = "(its model is the program `command:judge.sh`)";
    let contained = "`a` is contained, and its model `command:judge.sh` is a program that is not";
    let judge = format!("judge: {{model: '{model}'}}");
    for (config, options, message) in [
        (format!("{judge}\nevaluators: [{judged}]"), &["--contain"][..], not_contained),
        (format!("evaluators: [{judged}]"), &["--contain", "--judge-model", model], not_contained),
        (
            format!("evaluators: [{{name: hallucinations_v1, type: builtin, {judge}}}]"),
            &["--contain"],
            not_contained,
        ),
        (
            format!("evaluators: [{{{boxed}, models: {{m: '{model}'}}}}]"),
            &["--contain"],
            not_contained,
        ),
        (format!("evaluators: [{{{boxed}, models: {{m: '{model}'}}}}]"), &[], contained),
        (format!("{judge}\nevaluators: [{{{boxed}, target: true}}]"), &[], contained),
        (format!("{judge}\nevaluators: [{{{boxed}, models: true}}]"), &[], contained),
        (
            format!(
                "defaults: {{executor: sandbox}}\nevaluators: [{{name: a, type: code, path: checks/probe, models: \
                 {{n: 'openai/x', m: {{model: '{model}'}}}}}}]"
            ),
            &[],
            contained,
        ),
    ] {
        directory.file("c.yaml", config.clone());
        let trace = trace("a01_otlp_basic_parts");
        for args in [&["check", "c.yaml"][..], &["run", &trace, "-c", "c.yaml"]] {
            let ran = directory.evaluator(&[args, options].concat()).exits(2);
            assert!(ran.stderr.contains(message), "{config}: {}", ran.stderr);
        }
    }
    assert!(!directory.join("ran").exists(), "the program is not started");
    // The same model is permitted where nothing is contained.
    let plain = "evaluators: [{name: a, type: code, path: checks/probe, models: true}]";
    directory.file("c.yaml", format!("{judge}\n{plain}"));
    directory.evaluator(&["check", "c.yaml"]).exits(0);
}

#[test]
fn paths_that_a_run_could_replace_by_links_are_refused() {
    let directory = place("");
    for name in ["out/model", "out/inner", "keys/x"] {
        std::fs::create_dir_all(directory.join(name)).unwrap();
    }
    std::os::unix::fs::symlink("../keys", directory.join("out/link")).unwrap();
    std::os::unix::fs::symlink("out/link", directory.join("chain")).unwrap();
    directory.script("out/planted", PROBE);
    let entry = |name: &str, path: &str, keys: &str| {
        format!(
            "- {{name: {name}, type: code, path: {path}, executor: sandbox, sandbox: {{{keys}}}}}\n"
        )
    };
    let one = |keys: &str| entry("a", "checks/probe", keys);
    let two = |first: &str, second: &str| one(first) + &entry("b", "checks/probe", second);
    for (entries, message) in [
        (one("write: [out, out/inner]"), "`a`: `write` names "),
        (one("write: [out], read: [out/model]"), "`a`: `read` names "),
        (one("write: [out], read: [out/link]"), "`a`: `read` names "),
        (two("write: [out]", "read: [out/model]"), "`b`: `read` names "),
        (two("read: [out/model]", "write: [out]"), "`a`: `read` names "),
        (two("write: [out]", "write: [out/inner]"), "`b`: `write` names "),
        (two("write: [out]", "read: [chain]"), "`b`: `read` names "),
        (two("write: [out]", "read: [chain/x/../..]"), "`b`: `read` names "),
        (one("write: [out]") + &entry("b", "out/planted", ""), "`b`: its program "),
        (one("write: [out]") + "- {name: b, type: code, path: out/planted}\n", "`b`: its program "),
    ] {
        directory.file("c.yaml", format!("evaluators:\n{entries}"));
        let trace = trace("a01_otlp_basic_parts");
        for args in [&["check", "c.yaml"][..], &["run", &trace, "-c", "c.yaml"]] {
            let ran = directory.evaluator(args).exits(2).says(message);
            assert!(ran.stderr.contains("is below "), "{entries}: {}", ran.stderr);
        }
    }
    if is_available() {
        for keys in ["read: [out]", "write: [out]", "read: [data], write: [keys]"] {
            directory.file("c.yaml", format!("evaluators:\n{}", two("write: [out]", keys)));
            directory.evaluator(&["check", "c.yaml"]).exits(0);
        }
    }
}

#[test]
fn a_recommendation_names_fetched_programs_that_are_not_contained() {
    let remote = "- {name: far, type: remote, ref: a/a.py}\n- {name: apart, type: remote, ref: a/b.py, executor: sandbox}\n";
    let directory = place(&format!("evaluators:\n{remote}"));
    let ran = directory.evaluator(&["check", "c.yaml"]);
    assert_eq!(ran.stderr.matches("runs with all of your rights").count(), 1, "{}", ran.stderr);
    ran.says("far from a source runs with all of your rights; `executor: sandbox` contains it");
    let trace = trace("a01_otlp_basic_parts");
    directory.run(&["-v", &trace, "-c", "c.yaml"]).exits(3).says("far from a source runs with");
    let ran = directory.run(&[&*trace, "-c", "c.yaml"]).exits(3);
    assert!(!ran.stderr.contains("from a source runs with"), "{}", ran.stderr);
}

#[test]
fn every_executor_has_a_line() {
    let ran = Directory::new().evaluator(&["runtimes"]).exits(0);
    for executor in ["local ", "sandbox "] {
        let line = ran.stdout.lines().find(|line| line.starts_with(executor));
        let line = line.unwrap_or_else(|| panic!("{executor}: {}", ran.stdout));
        assert!(line.contains(" yes ") || line.contains(" no "), "{line}");
    }
    if is_available() {
        let line = ran.stdout.lines().find(|line| line.starts_with("sandbox ")).unwrap();
        for part in ["user", "mount", "Landlock", "seccomp"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}

#[test]
fn an_executor_that_does_not_exist_never_runs_the_program_elsewhere() {
    let directory = place("evaluators: [{name: a, type: code, path: checks/ran, executor: boxed}]");
    directory.script("checks/ran", "echo it ran >>../ran");
    let trace = trace("a01_otlp_basic_parts");
    let ran = directory.run(&[&*trace, "-c", "c.yaml"]).exits(3);
    assert!(ran.stdout.contains("unknown executor `boxed`"), "{}", ran.stdout);
    directory.run(&["--contain", &*trace, "-c", "c.yaml"]).exits(2).says("not contained: a (");
    assert!(!directory.path().join("ran").exists());
}

#[test]
fn paths_are_shown_with_where_links_lead() {
    if !is_available() {
        return;
    }
    let directory = place(
        "evaluators:\n- name: a\n  type: code\n  path: checks/probe\n  executor: sandbox\n  \
         sandbox: {read: [link], write: [out], network: true, processes: 400, tmp: 1MiB}\n",
    );
    std::fs::create_dir(directory.path().join("out")).unwrap();
    std::os::unix::fs::symlink("data", directory.path().join("link")).unwrap();
    let root = directory.path().canonicalize().unwrap();
    let trace = trace("a01_otlp_basic_parts");
    let checked = directory.evaluator(&["check", "c.yaml"]).exits(0).stdout;
    let ran = directory.run(&["-v", &trace, "-c", "c.yaml"]).exits(0).stderr;
    let data = format!("-> {}", root.join("data").display());
    let out = format!("writes {}", directory.path().join("out").display());
    for text in [&checked, &ran] {
        let line = text.lines().find(|line| line.contains("sandbox: full: ")).expect(text);
        for part in [&*data, &out, "; network;", "400 processes", "1MiB of temporary files"] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(!line.contains("no network"), "{line}");
    }
    let needs = format!("needs {}", root.join("checks").display());
    assert!(ran.contains(&needs) || ran.contains("needs "), "{ran}");
    assert_eq!(ran.matches("sandbox: full: ").count(), 1, "{ran}");
}

#[test]
fn paths_that_run_refuses_are_refused_by_check_with_the_same_sentence() {
    if !is_available() {
        return;
    }
    let directory = place("");
    directory.file("checks/probe.py", "print('{\"score\": 1}')");
    std::os::unix::fs::symlink("/", directory.path().join("link")).unwrap();
    let trace = trace("a01_otlp_basic_parts");
    for (keys, refused) in [
        ("read: [link]", "it would show /; name what the evaluator needs below it"),
        ("read: [/usr/..]", "it would show /"),
        ("read: [/tmp]", "/tmp is the sandbox's own; name a path outside of it"),
        ("read: [/proc/self]", "/proc is the sandbox's own"),
        ("write: [/usr/lib]", "can only be read; name another directory"),
    ] {
        for file in ["checks/probe", "checks/probe.py"].iter().filter(|it| has_runtime(it)) {
            let entry = format!("name: a, type: code, path: {file}, executor: sandbox");
            directory.file("c.yaml", format!("evaluators:\n- {{{entry}, sandbox: {{{keys}}}}}\n"));
            let error =
                directory.run(&[&trace, "-c", "c.yaml", "-o", "json"]).exits(3).error_of("a");
            assert!(error.contains(refused), "{keys} {file}: {error}");
            let checked = directory.evaluator(&["check", "c.yaml"]).exits(2).stdout;
            assert!(checked.contains(&error), "{keys} {file}: {checked}");
        }
    }
    // Named exactly, it can be shown; a project in the directory that the sandbox replaces, too.
    directory.file(
        "c.yaml",
        "evaluators: [{name: a, type: code, path: checks/plain.sh, executor: sandbox, sandbox: {read: [/]}}]",
    );
    directory.script("checks/plain.sh", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.evaluator(&["check", "c.yaml"]).exits(0);
    directory.run(&[&trace, "-c", "c.yaml"]).exits(0);
}

/// Returns true if this machine has what runs the file.
fn has_runtime(file: &str) -> bool {
    !file.ends_with(".py") || has("python3")
}

/// Answers as the client of an engine with every image.
const ENGINE: &str =
    r#"case "$*" in info*) echo 5.0;; *Volumes*) echo null;; image*) echo sha256:1;; esac"#;

#[test]
fn an_engine_that_does_not_answer_is_an_error_that_names_the_one_that_does() {
    for (chosen, other) in [("docker", "podman"), ("podman", "docker")] {
        let directory = place("");
        directory.script(&format!("bin/{chosen}"), "echo cannot connect >&2; exit 1");
        directory.script(&format!("bin/{other}"), ENGINE);
        let path = format!("{}:/usr/bin:/bin", directory.join("bin").display());
        let check = |keys: &str| {
            let entry =
                format!("name: a, type: code, path: checks/probe, executor: docker, {keys}");
            directory.file("c.yaml", format!("evaluators: [{{{entry}}}]"));
            finish(directory.command(&["check", "c.yaml"]).env("PATH", &path).spawn().unwrap())
        };
        let ran = check(&format!("docker: {{image: a, engine: {chosen}}}")).exits(2);
        let message = format!(
            "the engine `{chosen}` does not answer ({chosen}: cannot connect), and `{other}` does; leave `engine` out, or \
             write `docker: {{engine: {other}}}`"
        );
        assert!(ran.stdout.contains(&message), "{}", ran.stdout);
        let ran = check("docker: {image: a}").exits(0);
        assert!(ran.stdout.contains(&format!("containers of {other} 5.0")), "{}", ran.stdout);
    }
}

#[test]
fn reports_say_how_each_result_was_contained() {
    if !is_available() {
        return;
    }
    let directory = place(
        "defaults: {executor: sandbox}\nevaluators:\n\
         - {name: boxed, type: code, path: checks/probe}\n\
         - {name: open, type: code, path: checks/probe, executor: local}\n\
         - {name: tool_trajectory_avg_score, type: builtin}\n",
    );
    let trace = trace("a01_otlp_basic_parts");
    let ran =
        directory.run(&[&*trace, "-c", "c.yaml", "-o", "json", "--save-run", "r.evalrun"]).exits(1);
    assert!(ran.stderr.contains("; 3 evaluators, 1 contained (sandbox)"), "{}", ran.stderr);
    let saved = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(1);
    assert!(saved.stderr.contains("; 3 evaluators, 1 contained (sandbox)"), "{}", saved.stderr);
    for report in [report(&ran.stdout), report(&saved.stdout)] {
        let results = report["traces"][0]["metrics"].as_array().unwrap();
        let containment = &results[0]["containment"];
        assert_eq!(
            (&containment["executor"], &containment["level"]),
            (&"sandbox".into(), &"full".into())
        );
        assert_eq!(containment["network"], false);
        let namespaces = containment["namespaces"].as_array().unwrap();
        assert!(namespaces.contains(&"user".into()) && namespaces.contains(&"net".into()));
        assert_eq!((&results[0]["score"], &results[1]["score"]), (&1.0.into(), &0.0.into()));
        for result in &results[1..] {
            assert_eq!(result.get("containment"), None, "{result}");
        }
    }
}

#[test]
fn programs_that_are_named_by_their_paths_are_contained_if_that_is_demanded() {
    if !is_available() {
        return;
    }
    let boxed = "{name: a, type: code, path: checks/probe, executor: sandbox}";
    let directory = place(&format!("contain: true\nevaluators: [{boxed}]"));
    let trace = trace("a01_otlp_basic_parts");
    for (demand, is_contained) in [
        (&["--no-config"][..], false),
        (&["--no-config", "--contain"], true),
        (&["-c", "c.yaml"], true),
    ] {
        let args = [&*trace, "--evaluator", "checks/probe", "-o", "json"];
        let ran = directory.run(&[&args, demand].concat()).exits(i32::from(!is_contained));
        let report = report(&ran.stdout);
        let result = report["traces"][0]["metrics"].as_array().unwrap().last().unwrap();
        assert_eq!(result["metric_name"], "probe", "{demand:?}");
        assert_eq!(result["score"], f64::from(u8::from(is_contained)), "{demand:?}: {result}");
        assert_eq!(result.get("containment").is_some(), is_contained, "{demand:?}: {result}");
    }
}

#[test]
fn results_of_other_containment_are_not_reused() {
    if !is_available() {
        return;
    }
    let entry =
        |keys: &str| format!("evaluators: [{{name: a, type: code, path: checks/probe, {keys}}}]");
    let directory = place(&entry("timeout: 60"));
    let trace = trace("a01_otlp_basic_parts");
    let resumed = |keys: &str| -> (bool, Value) {
        directory.file("c.yaml", entry(keys));
        let ran = directory.run(&[
            &*trace,
            "-c",
            "c.yaml",
            "--resume",
            "--save-run",
            "r.evalrun",
            "-o",
            "json",
        ]);
        let contained = report(&ran.stdout)["traces"][0]["metrics"][0]["containment"].clone();
        assert_eq!(contained.is_null(), !keys.contains("sandbox"), "{keys}: {}", ran.stdout);
        (ran.stderr.contains("1 of 1 result from an earlier run"), contained)
    };
    assert!(!resumed("timeout: 60").0);
    for keys in [
        "timeout: 60, executor: sandbox",
        "timeout: 60, executor: sandbox, sandbox: {network: true}",
        "timeout: 60, executor: sandbox, sandbox: {read: [data]}",
        "timeout: 60, executor: sandbox, sandbox: {tmp: 1MiB}",
        "timeout: 60, executor: sandbox, sandbox: {processes: 65}",
    ] {
        let (reused, first) = resumed(keys);
        assert!(!reused, "{keys}");
        let (reused, again) = resumed(keys);
        assert!(reused, "{keys}");
        assert_eq!(first, again, "{keys}");
    }
}

/// A Python evaluator whose score is 1 if it cannot read a secret.
const LOOKS: &str = r#"
import json, os, sys

if __name__ == "__main__":
    json.load(sys.stdin)
    secret = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "secret")
    score = 0.0 if os.path.exists(secret) else 1.0
    print(json.dumps({"score": score}))
    if score == 0.0:
        open(secret, "a").write("stolen")
"#;

#[test]
fn evaluators_are_validated_and_tested_in_a_sandbox() {
    if !is_available() {
        return;
    }
    let directory = place("");
    std::fs::create_dir(directory.path().join("all")).unwrap();
    directory.evaluator(&["init", "all/looks.py"]).exits(0);
    directory.file("all/looks/looks.py", LOOKS);
    let secret = || std::fs::read_to_string(directory.path().join("secret")).unwrap();
    let conform = ["conform", "--host", "agentevals", "--contain", "all/looks/looks.py"];
    for args in [&["validate", "--contain", "all/looks"][..], &conform] {
        let ran = directory.evaluator(args).exits(0);
        assert_eq!(secret(), "key", "{args:?}: {}\n{}", ran.stdout, ran.stderr);
    }
    let command = ["conform", "--host", "agentevals", "--contain", "python3", "all/looks/looks.py"];
    let ran = directory.evaluator(&command);
    assert_eq!(secret(), "key", "{}\n{}", ran.stdout, ran.stderr);
    // Without a sandbox it is found.
    directory.evaluator(&["conform", "--host", "agentevals", "all/looks/looks.py"]);
    assert!(secret().contains("stolen"));
}
