//! What evaluators see of the environment, and what they do not.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::collections::BTreeSet;

use crate::support::{
    Directory, Ran, finish, has,
    place::{Place, TRACE},
    trace,
};

/// Tells the names of all variables it sees, and the value of one.
const TELLING: &str = "cat >/dev/null; printf '{\"score\": 1, \"details\": {\"seen\": \"%s\", \"own\": \"%s\"}}' \
                       \"$(env | grep -o '^[A-Za-z_0-9]*=' | tr -d '\\n')\" \"$OWN\"";

const SECRETS: [(&str, &str); 4] = [
    ("OPENAI_API_KEY", "s3cr3t"),
    ("GITHUB_TOKEN", "s3cr3t"),
    ("AWS_SECRET_ACCESS_KEY", "s3cr3t"),
    ("https_proxy", "http://me:s3cr3t@127.0.0.1:9"),
];

const OPEN: [(&str, &str); 5] = [
    ("KEYBOARD", "de"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("PYTHONPATH", "/nowhere"),
    ("MAX_TOKENS", "3"),
    ("http_proxy", "http://127.0.0.1:9"),
];

/// Runs the telling evaluator with these keys in its entry.
fn run(keys: &str, more: &[&str]) -> Ran {
    let directory = Directory::new();
    directory.script("check", TELLING);
    directory
        .file("c.yaml", format!("evaluators:\n- {{name: check, type: code, path: ./check{keys}}}"));
    let trace = trace("a01_otlp_basic_parts");
    let args = ["run", &trace, "-c", "c.yaml", "-o", "json"];
    let mut command = directory.command(&[&args, more].concat());
    command.envs(SECRETS).envs(OPEN);
    finish(command.spawn().unwrap()).exits(0)
}

fn details(ran: &Ran) -> serde_json::Value {
    ran.json()["traces"][0]["metrics"][0]["details"].clone()
}

/// Which of the variables of this test were seen.
fn seen(ran: &Ran) -> BTreeSet<String> {
    let names: BTreeSet<String> =
        details(ran)["seen"].as_str().unwrap().split('=').map(str::to_owned).collect();
    for name in ["PATH", "HOME"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    let ours = SECRETS.iter().chain(&OPEN).map(|(name, _)| *name).chain(["OWN"]);
    ours.filter(|name| names.contains(*name)).map(str::to_owned).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn evaluators_see_everything_but_secrets() {
    let open = OPEN.map(|(name, _)| name);
    let secrets = SECRETS.map(|(name, _)| name);
    assert_eq!(seen(&run("", &[])), set(open));
    assert_eq!(seen(&run(", inherit_env: true", &[])), set(open.into_iter().chain(secrets)));
    assert_eq!(seen(&run(", inherit_env: false", &[])), set([]));
}

#[test]
fn an_entry_names_what_its_evaluator_sees_all_the_same() {
    let ran = run(", inherit_env: false, env: [OPENAI_API_KEY, KEYBOARD, NOT_SET]", &[]);
    assert_eq!(seen(&ran), set(["OPENAI_API_KEY", "KEYBOARD"]));
    let ran = run(", env: {GITHUB_TOKEN: , OWN: my own, KEYBOARD: other}", &[]);
    assert_eq!(
        seen(&ran),
        set(OPEN.map(|(name, _)| name).into_iter().chain(["GITHUB_TOKEN", "OWN"]))
    );
    assert_eq!(details(&ran)["own"], "my own");
}

#[test]
fn a_variable_that_is_named_as_the_key_of_a_model_is_a_secret() {
    let others = set(OPEN.map(|(name, _)| name).into_iter().filter(|name| *name != "KEYBOARD"));
    for settings in [
        "api_key_env: KEYBOARD",
        "credential_ref: a, credentials: {a: {kind: env, name: KEYBOARD}}",
    ] {
        let of_run = format!("}}\njudge: {{model: openai/a, {settings}");
        let of_entry = format!(", models: {{a: {{model: openai/a, {settings}}}}}");
        for keys in [of_run, of_entry.clone()] {
            let mut seen = seen(&run(&keys, &[]));
            // Where the entry offers models, this is the token.
            seen.remove("OPENAI_API_KEY");
            assert_eq!(seen, others, "{keys}");
        }
        assert!(
            seen(&run(&(of_entry + ", env: [KEYBOARD]"), &[])).contains("KEYBOARD"),
            "{settings}"
        );
    }
}

#[test]
fn a_program_that_answers_instead_of_a_model_sees_no_key_of_another_one() {
    let directory = Directory::new();
    directory.script(
        "model",
        "cat >/dev/null; env >\"$(dirname \"$0\")/seen\"; echo '{\"text\": \"none\"}'",
    );
    directory.script("check", TELLING);
    let offered = "models: {a: {model: openai/a, api_key_env: KEYBOARD}}";
    directory.file(
        "c.yaml",
        format!(
            "evaluators:\n- {{name: check, type: code, path: ./check, {offered}}}\n\
             - {{name: judge, type: llm_judge, criteria: Kind., judge: {{model: 'command:model', samples: 1}}}}\n"
        ),
    );
    let mut command = directory.command(&["run", &trace("a01_otlp_basic_parts"), "-c", "c.yaml"]);
    command.envs(OPEN);
    finish(command.spawn().unwrap()).exits(3);
    let seen = directory.read("seen");
    assert!(seen.contains("MAX_TOKENS=3") && !seen.contains("KEYBOARD="), "{seen}");
}

#[test]
fn withheld_variables_are_named_with_v() {
    let ran = run("", &["-v"]).says("withheld from check: ");
    for (name, _) in SECRETS {
        assert!(ran.stderr.contains(name), "{name}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("s3cr3t"), "{}", ran.stderr);
    for (keys, more) in [("", None), (", inherit_env: true", Some("-v"))] {
        let ran = run(keys, more.as_slice());
        assert!(!ran.stderr.contains("withheld"), "{}", ran.stderr);
    }
}

#[test]
fn a_source_that_names_a_secret_is_warned_about() {
    let directory = Directory::new();
    directory.script("check", "cat >/dev/null; echo \"{\\\"score\\\": ${OPENAI_API_KEY:-1}}\"");
    let run = |keys: &str| {
        let entry = format!("evaluators:\n- {{name: check, type: code, path: ./check{keys}}}");
        directory.file("c.yaml", entry);
        let trace = trace("a01_otlp_basic_parts");
        let mut command = directory.command(&["run", &trace, "-c", "c.yaml", "-o", "json"]);
        finish(command.env("OPENAI_API_KEY", "0.75").env("OTHER_API_KEY", "").spawn().unwrap())
    };
    let ran = run("").exits(0).says("check names OPENAI_API_KEY in its source");
    assert!(!ran.stderr.contains("OTHER_API_KEY"), "{}", ran.stderr);
    let ran = run(", env: [OPENAI_API_KEY]").exits(0);
    assert!(!ran.stderr.contains("OPENAI_API_KEY"), "{}", ran.stderr);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.75);
}

#[test]
fn the_error_of_an_evaluator_without_its_secret_says_what_to_write() {
    let directory = Directory::new();
    directory.file("c.yaml", "evaluators:\n- {name: check, type: code, path: ./check}");
    let run = |script: &str| {
        directory.script("check", script);
        let trace = trace("a01_otlp_basic_parts");
        let mut command = directory.command(&["run", &trace, "-c", "c.yaml", "-o", "json"]);
        finish(command.env("OPENAI_API_KEY", "s3cr3t").spawn().unwrap())
    };
    let hint =
        "OPENAI_API_KEY is withheld from evaluators, unless their entry names it under `env`";
    let ran = run("echo 'KeyError: OPENAI_API_KEY' >&2; exit 1").exits(3);
    // The key of a model is not needed to ask one.
    let offer = "it asks a model, and its entry offers none: add `target: {}`, which offers the model of `judge:`, or \
                 `models: {NAME: MODEL}`";
    let error = "Custom evaluator 'check' exited with code 1: KeyError: OPENAI_API_KEY";
    assert_eq!(ran.error_of("check"), format!("{error} ({offer}; {hint})"));
    // If the evaluator still answers with a score, the score counts, with a warning.
    for said in [
        "cat >/dev/null; echo 'no OPENAI_API_KEY' >&2; echo '{\"score\": 1}'",
        "cat >/dev/null; echo '{\"score\": 1, \"details\": {\"why\": \"no OPENAI_API_KEY\"}}'",
    ] {
        let ran = run(said).exits(0);
        assert_eq!(ran.json()["traces"][0]["metrics"][0]["warnings"][0], hint);
    }
}

#[test]
fn a_fetched_evaluator_sees_what_its_entry_names() {
    if !has("python3") {
        return;
    }
    let program = "import json, os, sys\njson.load(sys.stdin)\n\
                   print(json.dumps({'score': 1.0, 'details': {'seen': '='.join(os.environ)}}))\n";
    for (keys, expected) in [
        ("", set([])),
        ("env: [GITHUB_TOKEN]", set(["GITHUB_TOKEN"])),
        ("inherit_env: true", set(SECRETS.iter().chain(&OPEN).map(|(name, _)| *name))),
    ] {
        let entry = format!("- {{name: check, type: remote, ref: check/check.py, {keys}}}");
        let place = Place::new(&format!("evaluators:\n{}", entry.replace(", }", "}")));
        place.server.file("check/check.py", program);
        let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
        command.envs(OPEN).envs(SECRETS).env("NO_PROXY", "*").env("no_proxy", "*");
        let ran = finish(command.spawn().unwrap()).exits(0);
        assert_eq!(seen(&ran), expected, "{keys}");
    }
}

/// A shell script that answers 1 if it finds nothing in the environment of its parent, and 0 if it does.
#[cfg(target_os = "linux")]
const PRYING: &str = "cat >/dev/null; if tr '\\0' '\\n' </proc/$PPID/environ 2>/dev/null | grep -q s3cr3t; \
                      then echo '{\"score\": 0}'; else echo '{\"score\": 1}'; fi";

/// Runs as a user other than root, because root may read everything.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "this is what is tested")]
fn secrets_cannot_be_read_back_from_the_parent() {
    use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

    let is_root = fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt;
        own.uid() == 0
    });
    if is_root && !has("setpriv") {
        return;
    }
    // Where everybody may go, which is not so for every target directory.
    let directory = std::env::temp_dir().join(format!("evaluator-secrets-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    open(&directory);
    let file = |name: &str, text: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        open(&path);
    };
    file("check", format!("#!/bin/sh\n{PRYING}\n").as_bytes());
    file("trace.json", &fs::read(trace("a01_otlp_basic_parts")).unwrap());
    file("c.yaml", b"evaluators: [{name: check, type: code, path: ./check}]");
    file("evaluator", &fs::read(env!("CARGO_BIN_EXE_evaluator")).unwrap());
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new(if is_root { "setpriv" } else { "env" });
        if is_root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command
            .args(args)
            .current_dir(&directory)
            .env("OPENAI_API_KEY", "s3cr3t")
            .env("HOME", &directory);
        command.output().unwrap()
    };
    let control = as_nobody(&["sh", "-c", "./check </dev/null; true"]);
    let ran = as_nobody(&["./evaluator", "run", "trace.json", "-c", "c.yaml", "-o", "json"]);
    // What this process is fed by does not matter: it reads its own streams as always.
    let fed =
        as_nobody(&["sh", "-c", "./evaluator run /dev/stdin -c c.yaml -o summary <trace.json"]);
    fs::remove_dir_all(&directory).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !text(&control.stdout).contains("\"score\": 0") {
        eprintln!("SKIPPED: no process can read the environment of a parent: {control:?}");
        return;
    }
    assert!(text(&ran.stdout).contains("\"score\": 1.0"), "{ran:?}");
    assert!(text(&fed.stdout).contains("check: 1.0000"), "{fed:?}");
}
