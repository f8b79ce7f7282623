//! What fingerprints consist of: the same in every checkout, and each edit by its name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;

const CHECK: &str = "import json, sys, rules\njson.load(sys.stdin)\n\
                     print(json.dumps({'score': rules.SCORE}))\n";

const CONFIG: &str = "\
evaluators:
  - {name: check, type: code, path: ../tools/check.py, threshold: 0.5, config: {min: 1}}
  - name: asks
    type: llm_judge
    prompt: file:ask.md
    judge: {model: 'command:model.sh', samples: 1}
  - name: grades
    type: openai_eval
    grader: {type: python, source: 'def grade(sample, item): return 1'}
  - {name: response_match_score, type: builtin, threshold: 0.5}
";

/// A project with an evaluator outside of the directory of its configuration, a judge and a grader.
fn project(directory: &Directory) {
    directory.file("tools/check.py", CHECK);
    directory.file("tools/rules.py", "SCORE = 1\n");
    directory.file("evals/c.yaml", CONFIG);
    directory.file("evals/ask.md", "Is it kind? {{ response }}");
    let reply = r#"cat >/dev/null; echo '{"text": "{\"reasoning\": \"r\", \"score\": 1}"}'"#;
    directory.script("evals/model.sh", reply);
}

/// Runs the project from a directory in it; `variables` are set. Returns the parts of each evaluator: digests by
/// `EVALUATOR PART NAME`.
fn parts(
    directory: &Directory,
    from: &str,
    config: &str,
    variables: &[(&str, &str)],
) -> BTreeMap<String, String> {
    let traces = trace("a01_otlp_basic_parts");
    let file = directory.join(FILE);
    let file = file.to_str().unwrap();
    let args = ["run", &traces, "-c", config, "--save-run", file, "-o", "json"];
    let mut command = support::command(&directory.join(from), &args);
    command.envs(variables.iter().copied());
    finish(command.spawn().unwrap());
    let [header] = &lines(directory, "header")[..] else { panic!("no header") };
    let header: Value = serde_json::from_str(header).unwrap();
    let mut all = BTreeMap::new();
    for evaluator in header["evaluators"].as_array().unwrap() {
        let name = evaluator["name"].as_str().unwrap();
        assert!(evaluator["fingerprint"].is_string(), "{evaluator}");
        for part in ["code", "settings", "environment"] {
            for (key, digest) in evaluator[part].as_object().unwrap() {
                all.insert(format!("{name} {part} {key}"), digest.as_str().unwrap().to_owned());
            }
        }
    }
    all
}

fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let names = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    names.cloned().collect()
}

#[test]
fn the_same_project_has_the_same_parts_anywhere() {
    let (here, there) = (Directory::new(), Directory::new());
    project(&here);
    project(&there);
    let first = parts(&here, "evals", "c.yaml", &[]);
    let code: Vec<&String> = first.keys().filter(|name| name.contains(" code ")).collect();
    let expected = ["asks code command:model.sh", "check code check.py", "check code rules.py"];
    assert_eq!(code, expected);
    for name in [
        "asks settings prompt",
        "asks settings judge.models",
        "asks settings threshold",
        "asks environment command:model.sh",
        "check settings config.min",
        "check settings name",
        "check environment interpreter",
        "grades settings grader",
        "grades environment interpreter",
        "response_match_score environment revision",
    ] {
        assert!(first.contains_key(name), "{name}: {first:?}");
    }
    assert_eq!(changed(&first, &parts(&there, "evals", "c.yaml", &[])), [""; 0]);
    assert_eq!(changed(&first, &parts(&here, "", "evals/c.yaml", &[])), [""; 0]);
    assert_eq!(changed(&first, &parts(&here, "tools", "../evals/c.yaml", &[])), [""; 0]);
    // The same interpreter by another name.
    let python = here.sh("python3 -c 'import sys; print(sys.executable)'").stdout;
    let real = fs::canonicalize(python.trim()).unwrap();
    std::os::unix::fs::symlink(&real, here.join("py")).unwrap();
    let by_link = here.join("py");
    let linked = [("EVALUATOR_PYTHON", by_link.to_str().unwrap())];
    assert_eq!(changed(&first, &parts(&here, "evals", "c.yaml", &linked)), [""; 0]);
}

#[test]
fn each_edit_changes_the_part_by_its_name() {
    let directory = Directory::new();
    project(&directory);
    let before = parts(&directory, "evals", "c.yaml", &[]);
    let edits = [
        ("tools/check.py", "import json", "import  json", "check code check.py"),
        ("tools/rules.py", "1", "0.5", "check code rules.py"),
        ("evals/c.yaml", "min: 1", "min: 2", "check settings config.min"),
        ("evals/c.yaml", "py, threshold: 0.5", "py, threshold: 0.7", "check settings threshold"),
        ("evals/c.yaml", "min: 1}", "min: 1}, timeout: 9", "check settings timeout"),
        ("evals/c.yaml", "min: 1}", "min: 1}, env: {SECRET: x}", "check settings env"),
        ("evals/c.yaml", "return 1", "return 0.5", "grades settings grader"),
        ("evals/ask.md", "kind", "brief", "asks settings prompt"),
        ("evals/c.yaml", "command:model.sh", "command:./model.sh", "asks settings judge.models"),
        ("evals/model.sh", "cat", "cat -", "asks code command:model.sh"),
        ("evals/c.yaml", "samples: 1", "samples: 3", "asks settings judge.samples"),
        (
            "evals/c.yaml",
            "builtin, threshold: 0.5",
            "builtin, threshold: 0.25",
            "response_match_score settings threshold",
        ),
    ];
    for (file, old, new, part) in edits {
        let text = directory.read(file);
        assert!(text.contains(old), "{file}: {old}");
        fs::write(directory.join(file), text.replace(old, new)).unwrap();
        let mut after = changed(&before, &parts(&directory, "evals", "c.yaml", &[]));
        if part == "asks settings judge.models" {
            // Another model is another program.
            after.retain(|name| !name.contains(" command:"));
        }
        assert_eq!(after, [part], "{file}: {new}");
        fs::write(directory.join(file), text).unwrap();
    }
    assert_eq!(changed(&before, &parts(&directory, "evals", "c.yaml", &[])), [""; 0]);
    let text = fs::read_to_string(directory.join(FILE)).unwrap();
    assert!(!text.contains(directory.path().to_str().unwrap()), "a path of this machine: {text}");
}

const MAIN: &str = "fn main() {\n    println!(\"{{\\\"score\\\": {}}}\", lib::SCORE);\n}\n";

/// A Rust package with a path dependency and a file that its build generates.
fn package(directory: &Directory) {
    let package = |name: &str, more: &str| {
        let text = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}"
        );
        directory.file(&format!("{name}/Cargo.toml"), text);
    };
    package("lib", "");
    package("rust", "[workspace]\n[dependencies]\nlib = {path = \"../lib\"}\n");
    directory.file("lib/src/lib.rs", "pub const SCORE: f64 = 1.0;\n");
    let build = "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
                 std::fs::write(out + \"/made.rs\", \"\").unwrap();\n    \
                 println!(\"cargo:rerun-if-changed=build.rs\");\n}\n";
    directory.file("rust/build.rs", build);
    let made = "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n";
    directory.file("rust/src/main.rs", format!("{made}{MAIN}"));
    directory.file("evals/lone.rs", MAIN.replace("lib::SCORE", "\"1.0\""));
    let config = "evaluators:\n  - {name: rust, type: code, path: ../rust}\n  \
                  - {name: lone, type: code, path: lone.rs}\n";
    directory.file("evals/c.yaml", config);
}

#[test]
fn a_rust_evaluator_is_its_sources() {
    let (here, there) = (Directory::new(), Directory::new());
    package(&here);
    package(&there);
    let of = |directory: &Directory| parts(directory, "evals", "c.yaml", &[]);
    let first = of(&here);
    let code: Vec<&String> = first.keys().filter(|name| name.contains(" code ")).collect();
    let expected = [
        "lone code lone.rs",
        "rust code Cargo.lock",
        "rust code build.rs",
        "rust code lib.rs",
        "rust code lib/Cargo.toml",
        "rust code main.rs",
        "rust code rust/Cargo.toml",
    ];
    assert_eq!(code, expected);
    let moved = changed(&first, &of(&there));
    assert!(moved.iter().all(|name| name.contains(" environment ")), "{moved:?}");
    here.file("lib/src/lib.rs", "pub const SCORE: f64 = 0.5;\n");
    let edited = changed(&first, &of(&here));
    assert_eq!(edited, ["rust code lib.rs", "rust environment program"]);
}

#[test]
fn each_conversation_has_its_content_and_its_prompt() {
    let directory = directory();
    let content = |more: &[&str]| {
        let (one, five) = (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"));
        let args = ["run", &one, &five, "-c", "c.yaml"];
        finish(
            directory.command(&[&args[..], &SAVE, more].concat()).env("RUN", "0").spawn().unwrap(),
        );
        let lines = lines(&directory, "conversation");
        let conversations = lines.iter().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let conversation = &line["conversation"];
            let (content, prompt) = (&conversation["content"], &conversation["prompt"]);
            (content.as_str().unwrap().to_owned(), prompt.as_str().unwrap().to_owned())
        });
        conversations.collect::<BTreeSet<_>>()
    };
    let first = content(&[]);
    assert_eq!(first.len(), CONVERSATIONS);
    assert!(first.iter().all(|(_, prompt)| (1..=100).contains(&prompt.chars().count())));
    // Golden turns are no content.
    assert_eq!(content(&["-e", &eval_set("library")]), first);
    let header: Value = serde_json::from_str(&lines(&directory, "header")[0]).unwrap();
    let started = header["started"].as_str().unwrap();
    assert!(started.len() == 20 && started.ends_with('Z'), "{started}");
    let report = directory.evaluator(&["report", FILE, "-o", "json"]).json();
    assert_eq!(report["traces"].as_array().unwrap().len(), CONVERSATIONS);
    assert!(report["traces"][0]["prompt"].is_string(), "{report}");
    for key in ["started", "content"] {
        assert!(report.get(key).or(report["traces"][0].get(key)).is_none(), "{key}: {report}");
    }
}
