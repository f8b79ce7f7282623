//! `evaluator bundle`: what goes in, what is refused, and a run of what was unpacked elsewhere.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use evaluator_test_support::program::run_with_input;
use serde_json::{Value, json};

use crate::{
    library_faults, requirements,
    support::{Directory, Ran, finish, has, has_typescript, place::Place},
};

const SCRIPT: &str = "cat >/dev/null\necho '{\"score\": 0.75}'";

const PYTHON: &str =
    "import json, sys, tiny\njson.load(sys.stdin)\nprint(json.dumps({'score': tiny.score()}))\n";

const JAVASCRIPT: &str = "const { score } = require('half');\nrequire('fs').readFileSync(0);\n\
     console.log(JSON.stringify({ score: score() }));\n";

const TYPESCRIPT: &str = "import { readFileSync } from 'node:fs';\nconst score: number = 0.5;\nreadFileSync(0);\n\
     console.log(JSON.stringify({ score }));\n";

const RUST: &str = "use std::io::Read;\n\nfn main() {\n    let mut document = String::new();\n    \
     std::io::stdin().read_to_string(&mut document).unwrap();\n    println!(\"{{\\\"score\\\": 0.75}}\");\n}\n";

/// A program in a lone file, for a test whose cache is empty.
fn lone(directory: &Directory) -> String {
    format!("---\n[dependencies]\n{}---\n{RUST}", directory.empty_dependencies())
}

/// A line with one conversation.
fn line(trace: u64) -> String {
    let messages = |role: &str, text: &str| {
        json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
    };
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = json!({
        "traceId": format!("{trace:032x}"), "spanId": format!("{trace:016x}"), "name": "invoke_agent a",
        "startTimeUnixNano": "1000", "endTimeUnixNano": "1500",
        "attributes": [
            attribute("gen_ai.operation.name", "invoke_agent"),
            attribute("gen_ai.input.messages", &messages("user", "Hello")),
            attribute("gen_ai.output.messages", &messages("assistant", "Yes.")),
        ],
    });
    format!("{}\n", json!([span]))
}

/// Makes the bundle `b.tar.gz` of `checks/c.yaml`.
fn bundle(directory: &Directory, more: &[&str]) -> Ran {
    let args = [&["bundle", "-c", "checks/c.yaml", "-o", "b.tar.gz"], more].concat();
    finish(requirements::command(directory, &args).spawn().unwrap())
}

/// Unpacks the bundle into a new directory, without its program unless that is wanted.
fn unpack(directory: &Directory, with_program: bool) -> Directory {
    let other = Directory::new();
    let archive = directory.join("b.tar.gz");
    let left_out = if with_program { "" } else { "--exclude ./evaluator --exclude evaluator" };
    let ran = other.sh(&format!("mkdir checks && tar xzf {archive:?} -C checks {left_out}"));
    ran.exits(0);
    other
}

fn pipe(mut command: Command, lines: &[String]) -> Ran {
    run_with_input(&mut command, lines.concat())
}

const PIPE: [&str; 4] = ["pipe", "--group-by", "trace", "-c"];

fn args_of(config: &str) -> Vec<&str> {
    PIPE.into_iter().chain([config]).collect()
}

fn records(output: &str) -> Vec<Value> {
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Name and score of each evaluation of the conversations.
fn scores(output: &str) -> Vec<(String, Value)> {
    let records = records(output);
    let conversations = records.iter().filter(|it| it["kind"] == "conversation");
    let evaluations =
        conversations.flat_map(|it| it["conversation"]["evaluations"].as_array().unwrap().clone());
    evaluations.map(|it| (it["name"].as_str().unwrap().to_owned(), it["score"].clone())).collect()
}

/// Names of the entries of an archive.
fn names(archive: &Path) -> BTreeSet<String> {
    let directory = Directory::new();
    let listed = directory.sh(&format!("tar tzf {archive:?}")).exits(0).stdout;
    listed.lines().map(|name| name.trim_end_matches('/').to_owned()).collect()
}

fn projects() -> Directory {
    let directory = Directory::new();
    directory.script("checks/scores", SCRIPT);
    directory.file("checks/c.yaml", "evaluators:\n- {name: scores, type: code, path: ./scores}\n");
    directory
}

#[test]
fn a_bundle_has_what_the_configuration_names_in_the_same_bytes_each_time() {
    let directory = projects();
    directory.file("checks/other.txt", "not named");
    directory.file("checks/data/rules.txt", "rules");
    directory.file("checks/base.yaml", "retries: 1\n");
    directory.file("checks/golden.json", r#"{"eval_set_id": "s", "eval_cases": []}"#);
    directory.file("checks/prompts/p.md", "Is it right? {{ response }}\n");
    directory.file(
        "checks/c.yaml",
        "extends: base.yaml\neval_set: golden.json\nevaluators:\n- {name: scores, type: code, path: ./scores}\n\
         - {name: python, type: code, path: nested/check.py}\n",
    );
    directory.file("checks/nested/check.py", "import helper\n");
    directory.file("checks/nested/helper.py", "");
    let key = "sk-proj-0123456789abcdefghij";
    let make = |directory: &Directory| {
        let args = ["bundle", "-c", "checks/c.yaml", "-o", "b.tar.gz", "--include", "checks/data"];
        let mut command = requirements::command(directory, &args);
        finish(command.env("OPENAI_API_KEY", key).spawn().unwrap()).exits(0);
        fs::read(directory.join("b.tar.gz")).unwrap()
    };
    if !has("python3") {
        return;
    }
    let first = make(&directory);
    let expected = [
        "evaluator",
        "eval_config.yaml",
        "bundle.json",
        "base.yaml",
        "golden.json",
        "data",
        "data/rules.txt",
        "nested",
        "nested/check.py",
        "nested/helper.py",
        "scores",
    ];
    let expected: BTreeSet<String> = expected.map(str::to_owned).into();
    assert_eq!(names(&directory.join("b.tar.gz")), expected);
    let other = unpack(&directory, false);
    let all = other.sh("cat $(find checks -type f)").stdout;
    assert!(!all.contains(key) && all.contains("rules"), "{all}");
    directory.sh("touch -d 2001-01-01 checks/* && chmod 600 checks/c.yaml").exits(0);
    assert!(make(&directory) == first, "the bytes depend on times or permissions");
}

#[test]
fn a_bundle_does_not_have_the_archive_that_it_replaces() {
    let directory = projects();
    directory.file("checks/b.tar.gz", "an earlier one");
    let args = ["bundle", "-c", "checks/c.yaml", "-o", "checks/b.tar.gz", "--include", "checks"];
    directory.evaluator(&args).exits(0);
    let names = names(&directory.join("checks/b.tar.gz"));
    assert!(names.contains("c.yaml") && !names.contains("b.tar.gz"), "{names:?}");
}

#[test]
fn what_cannot_be_in_a_bundle_is_named_and_nothing_is_written() {
    let directory = projects();
    directory.script("outside", SCRIPT);
    directory.script("checks/bundle-files/own", SCRIPT);
    directory.file("checks/keys.sh", "#!/bin/sh\nKEY=sk-proj-0123456789abcdefghij\n");
    directory.sh("chmod +x checks/keys.sh && ln -s ../outside checks/link").exits(0);
    let absolute = directory.join("checks/scores").display().to_string();
    let config = |entry: &str| format!("evaluators:\n- {{name: a, type: code, {entry}}}\n");
    for (entry, reason) in [
        ("path: ../outside".to_owned(), "outside: it is outside of"),
        ("path: ./link".to_owned(), "link: it is outside of"),
        (format!("path: {absolute}"), "has to name it relative to itself"),
        ("path: ./scores, cwd: /".to_owned(), "/: it is outside of"),
        ("path: ./bundle-files/own".to_owned(), "a bundle has files of its own of this name"),
        (
            "path: ./scores, executor: docker, docker: {image: alpine}".to_owned(),
            "`a`: it runs in a container (`executor: docker`)",
        ),
        ("path: ./scores, env: {PYTHONPATH: lib}".to_owned(), "`a`: its entry sets PYTHONPATH"),
        ("path: ./keys.sh".to_owned(), "it has the value of the variable OPENAI_API_KEY"),
    ] {
        directory.file("checks/c.yaml", config(&entry));
        let args = ["bundle", "-c", "checks/c.yaml", "-o", "b.tar.gz"];
        let mut command = requirements::command(&directory, &args);
        command.env("OPENAI_API_KEY", "sk-proj-0123456789abcdefghij");
        let ran = finish(command.spawn().unwrap()).exits(2);
        assert!(ran.stderr.contains(reason), "{entry}: {}", ran.stderr);
        assert!(!directory.join("b.tar.gz").exists(), "{entry}");
    }
    directory.file("checks/c.yaml", config("path: ./scores"));
    for (make, reason) in [
        (
            "echo _authToken=sk-proj-0123456789abcdefghij >checks/more/.npmrc",
            ".npmrc: it has the value of the variable",
        ),
        ("mkfifo checks/more/fifo", "fifo: it is neither a file nor a directory"),
        ("mkdir -p packages && ln -s ../../packages checks/more/up", "up: it is outside of"),
        (
            "mkdir -p checks/shared && ln -s ../shared checks/more/shared",
            "shared: it is a link to ../shared, which is not in the bundle",
        ),
    ] {
        let made = format!("rm -rf checks/more && mkdir checks/more && {make}");
        directory.sh(&made).exits(0);
        let args = ["bundle", "-c", "checks/c.yaml", "-o", "b.tar.gz", "--include", "checks/more"];
        let mut command = requirements::command(&directory, &args);
        command.env("OPENAI_API_KEY", "sk-proj-0123456789abcdefghij");
        let ran = finish(command.spawn().unwrap()).exits(2);
        assert!(ran.stderr.contains(reason), "{make}: {}", ran.stderr);
        assert!(!directory.join("b.tar.gz").exists(), "{make}");
    }
    directory.file(
        "checks/c.yaml",
        "evaluators:\n- {name: a, type: remote, source: local, ref: a.py}\n",
    );
    bundle(&directory, &[]).exits(2).says("`a`: evaluators of the source `local` are not bundled");
    directory.script("checks/model", "cat");
    let judge = "judge: {model: \"command:model\"}\nevaluators:\n- {name: a, type: llm_judge, criteria: Kind.}\n";
    directory.file("checks/c.yaml", judge);
    bundle(&directory, &[]).exits(2).says("`a`: its model is the program `command:model`");
    directory.file(
        "checks/c.yaml",
        "tests:\n- {id: a, input: hi, assertions: [{type: contains, value: x}]}\n",
    );
    bundle(&directory, &[]).exits(2).says("c.yaml is an eval file, and these are not bundled");
    assert!(!directory.join("b.tar.gz").exists());
    // The name decides whether Spark unpacks it.
    let ran = directory.evaluator(&["bundle", "-c", "checks/c.yaml", "-o", "b.tar.zst"]).exits(2);
    assert!(ran.stderr.contains("must end with .tar.gz"), "{}", ran.stderr);
    assert!(!directory.join("b.tar.zst").exists());
}

#[test]
fn a_bundle_that_does_not_fit_is_refused_with_both_values() {
    if !has("python3") {
        return;
    }
    let directory = projects();
    directory.file("checks/check.py", "print('{\"score\": 1}')\n");
    let config = "evaluators:\n- {name: a, type: code, path: check.py}\n";
    directory.file("checks/c.yaml", config);
    bundle(&directory, &[]).exits(0);
    let other = unpack(&directory, false);
    let manifest: Value = serde_json::from_str(&other.read("checks/bundle.json")).unwrap();
    let tool = manifest["tool"].as_str().unwrap();
    let python = manifest["python"].as_str().unwrap();
    for (key, value, here) in [
        ("tool", json!("evaluator 9.9.9"), tool),
        ("target", json!("sparc-solaris"), manifest["target"].as_str().unwrap()),
        ("glibc", json!("99.1"), "this machine has"),
        ("python", json!("3.1"), python),
        ("evaluator_bundle", json!(7), "this program reads 1"),
    ] {
        let mut changed = manifest.clone();
        changed[key] = value.clone();
        other.file("checks/bundle.json", changed.to_string());
        let config = "checks/eval_config.yaml";
        let traces = crate::support::trace("a01_otlp_basic_parts");
        let run = vec!["run", &traces, "-c", config];
        for args in [args_of(config), run, vec!["check", config], vec!["serve", "-c", config]] {
            let ran = pipe(other.command(&args), &[line(1)]).exits(2);
            let value = value.to_string();
            let both = [value.trim_matches('"'), here];
            assert!(both.iter().all(|it| ran.stderr.contains(it)), "{key}: {}", ran.stderr);
            assert_eq!(ran.stdout, "", "{key}");
        }
    }
    // Without an interpreter nothing starts, either.
    other.file("checks/bundle.json", manifest.to_string());
    let mut command = other.command(&args_of("checks/eval_config.yaml"));
    command.env("PATH", other.join("nothing"));
    let ran = pipe(command, &[line(1)]).exits(2);
    assert!(ran.stderr.contains(&format!("needs Python {python}")), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    // A bundle that lost its file, or a part of it, is not taken for a project.
    other.file("checks/bundle.json", &manifest.to_string()[..40]);
    let ran = pipe(other.command(&args_of("checks/eval_config.yaml")), &[line(1)]).exits(2);
    assert!(ran.stderr.contains("the bundle is damaged"), "{}", ran.stderr);
    other.file("checks/bundle-files/x", "");
    other.file("checks/bundle.json", "{}");
    let ran = pipe(other.command(&args_of("checks/eval_config.yaml")), &[line(1)]).exits(2);
    assert!(ran.stderr.contains("the bundle is damaged"), "{}", ran.stderr);
}

#[test]
fn a_configuration_in_a_bundle_is_not_bundled_again() {
    let directory = projects();
    bundle(&directory, &[]).exits(0);
    let other = unpack(&directory, false);
    let args = ["bundle", "-c", "checks/eval_config.yaml", "-o", "again.tar.gz"];
    let ran = other.evaluator(&args).exits(2);
    assert!(ran.stderr.contains("it is in a bundle already"), "{}", ran.stderr);
    assert!(!other.join("again.tar.gz").exists());
    // A file of that name of another tool means nothing.
    directory.file("checks/bundle.json", "{\"entries\": []}");
    let ran = pipe(directory.command(&args_of("checks/c.yaml")), &[line(1)]).exits(0);
    assert_eq!(scores(&ran.stdout), [("scores".to_owned(), json!(0.75))]);
}

#[test]
fn a_compiled_program_is_taken_as_it_is_and_never_built_again() {
    if !has("cargo") {
        return;
    }
    let directory = projects();
    directory.file("checks/check.rs", lone(&directory));
    directory.file("checks/c.yaml", "evaluators:\n- {name: rust, type: code, path: check.rs}\n");
    bundle(&directory, &[]).exits(0);
    let home = requirements::command(&directory, &args_of("checks/c.yaml"));
    let home = pipe(home, &[line(1)]).exits(0);
    let other = unpack(&directory, false);
    let there = || {
        let mut command = other.command(&args_of("checks/eval_config.yaml"));
        command.env("PATH", other.join("nothing"));
        pipe(command, &[line(2)])
    };
    let ran = there().exits(0);
    assert_eq!(scores(&ran.stdout), [("rust".to_owned(), json!(0.75))]);
    let header = |ran: &Ran| records(&ran.stdout).remove(0);
    let (home_header, header) = (header(&home), header(&ran));
    assert!(home_header["plan"].is_string(), "{home_header}");
    assert_eq!(home_header["plan"], header["plan"]);
    assert_eq!(home_header["evaluators"][0]["code"], header["evaluators"][0]["code"]);
    // Parts of both places are one run.
    directory.file("home.evalrun", &home.stdout);
    directory.file("there.evalrun", &ran.stdout);
    let args = ["report", "home.evalrun", "there.evalrun", "--expect", "2", "-o", "json"];
    let report = directory.evaluator(&args).exits(0).json();
    assert_eq!(report["traces"].as_array().unwrap().len(), 2);
    // Another program in its place has not the code that the bundle says.
    let program = other.sh("find checks/bundle-files/programs -type f").stdout;
    let program = other.join(program.trim());
    let content = fs::read(&program).unwrap();
    fs::write(&program, "#!/bin/sh\necho '{\"score\": 1}'\n").unwrap();
    let ran = there().exits(2);
    assert!(ran.stderr.contains("it is not what the bundle was made with"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    // What is not in it cannot be built.
    fs::write(&program, content).unwrap();
    other.file("checks/new.rs", RUST);
    other.file("checks/eval_config.yaml", "evaluators:\n- {name: n, type: code, path: new.rs}\n");
    let ran = there().exits(2);
    assert!(ran.stderr.contains("new.rs is not in the bundle"), "{}", ran.stderr);
}

#[test]
fn typescript_runs_by_tsx_where_there_are_no_variables() {
    let directory = projects();
    directory.file("checks/check.ts", TYPESCRIPT);
    directory.file("checks/c.yaml", "evaluators:\n- {name: ts, type: code, path: check.ts}\n");
    // A Node.js that strips no types leaves the file to tsx, which is a script of its own.
    directory.script("old/node", "echo v20.19.0");
    let tsx = "while read -r _; do :; done\n[ \"$(node)\" = v20.19.0 ] && echo '{\"score\": 0.75}'";
    directory.script("checks/node_modules/.bin/tsx", tsx);
    let mut command =
        requirements::command(&directory, &["bundle", "-c", "checks/c.yaml", "-o", "b.tar.gz"]);
    let path = format!("{}:/usr/bin:/bin", directory.join("old").display());
    finish(command.env("PATH", path).spawn().unwrap()).exits(0);
    let other = unpack(&directory, false);
    let mut command = other.command(&args_of("checks/eval_config.yaml"));
    command.env_remove("PATH");
    let ran = pipe(command, &[line(1)]).exits(0);
    assert_eq!(scores(&ran.stdout), [("ts".to_owned(), json!(0.75))]);
}

#[test]
fn a_fetched_evaluator_is_there_with_its_pin() {
    const CONFIG: &str =
        "evaluators:\n  - {name: polite, type: remote, ref: evaluators/polite/polite.py}\n";
    if !has("python3") {
        return;
    }
    // The cache is outside of the directory of the configuration, as it is for users.
    let place = Place::new("");
    place.directory.file("checks/c.yaml", CONFIG);
    let text = "import json, sys\njson.load(sys.stdin)\nprint(json.dumps({'score': 1.0}))\n";
    place.server.file("evaluators/polite/polite.py", text);
    let args = ["bundle", "-c", "checks/c.yaml", "-o", "b.tar.gz"];
    place.evaluator(&args).exits(0);
    let other = unpack(&place.directory, false);
    place.server.forget();
    let home = pipe(place.command(&args_of("checks/c.yaml")), &[line(1)]).exits(0);
    let mut command = other.command(&args_of("checks/eval_config.yaml"));
    command.env("HOME", other.join("home"));
    for name in ["EVALUATOR_CACHE_DIR", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    if has_namespaces() {
        command = on_read_only(&other, &command);
    }
    let there = pipe(command, &[line(1)]).exits(0);
    assert_eq!(scores(&there.stdout), [("polite".to_owned(), json!(1.0))]);
    assert_eq!(records(&home.stdout)[0]["plan"], records(&there.stdout)[0]["plan"]);
    // What it has is fixed.
    let ran = other.evaluator(&["update", "checks/eval_config.yaml"]).exits(2);
    assert!(ran.stderr.contains("`evaluator update` where the bundle was made"), "{}", ran.stderr);
    // An edit is not the content of the pin, and what is not there is not fetched, though the source has it.
    place.server.file("evaluators/polite/polite.py", text);
    let fetched = "checks/bundle-files/evaluators/github/evaluators/polite/polite.py";
    for (change, reason) in [
        (format!("echo 'print(1)' >{fetched}"), "polite.py"),
        (format!("rm {fetched}"), "and nothing is fetched here"),
    ] {
        other.sh(&change).exits(0);
        let mut command = place.command(&args_of("checks/eval_config.yaml"));
        command.current_dir(other.path());
        let ran = pipe(command, &[line(1)]).exits(2);
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

/// Files of this machine that a dynamic program loads: the loader and its libraries.
fn libraries(directory: &Directory, programs: &str) -> Vec<PathBuf> {
    let listed = directory.sh(&format!("ldd {programs} 2>/dev/null")).stdout;
    // The names of the programs end with a colon.
    let words = listed.split_whitespace().filter(|it| it.starts_with('/') && !it.ends_with(':'));
    let files: BTreeSet<PathBuf> = words.map(PathBuf::from).filter(|it| it.is_file()).collect();
    files.into_iter().collect()
}

/// Returns a command that runs where the directory of the bundle is read only.
#[expect(clippy::disallowed_methods, reason = "unshare makes the mount")]
fn on_read_only(bundle: &Directory, command: &Command) -> Command {
    let mut outer = Command::new("/usr/bin/unshare");
    let script = "mount --bind -o ro \"$0\" \"$0\" && ! touch \"$0/x\" 2>/dev/null && exec \"$@\"";
    outer.args(["-r", "-m", "/bin/sh", "-c", script]).arg(bundle.join("checks"));
    outer.arg(command.get_program()).args(command.get_args()).current_dir(bundle.path());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// Returns the command that runs the program of a bundle in a root directory with nothing but the bundle, `/proc`, `/dev/null`, and
/// these paths, all read only. The bundle has no C library: the loader and the libraries of programs are among the paths.
#[expect(clippy::disallowed_methods, reason = "unshare makes the root directory")]
fn in_root(bundle: &Directory, paths: &[PathBuf], args: &[&str]) -> Command {
    use std::fmt::Write as _;
    let root = bundle.join("root");
    fs::create_dir_all(&root).unwrap();
    let root = root.display();
    let mut script = format!(
        "set -e; mount -t tmpfs none {root}; mkdir {root}/proc {root}/dev {root}/tmp {root}/checks\n\
         mount --rbind /proc {root}/proc; touch {root}/dev/null; mount --bind /dev/null {root}/dev/null\n\
         mount --bind -o ro {} {root}/checks\n",
        bundle.join("checks").display()
    );
    for path in paths {
        let path = path.display();
        let made = match Path::new(&path.to_string()).is_dir() {
            true => format!("mkdir -p {root}{path}"),
            false => format!("mkdir -p $(dirname {root}{path}); touch {root}{path}"),
        };
        writeln!(script, "{made}; mount --bind -o ro {path} {root}{path}").unwrap();
    }
    script += "exec chroot \"$@\"";
    let mut command = Command::new("/usr/bin/unshare");
    command.args(["-r", "-m", "/bin/sh", "-c", &script, "sh"]).arg(bundle.join("root"));
    // No variables, as with Spark: interpreters are where they were.
    command.arg("/checks/evaluator").args(args).env_clear();
    command
}

/// Returns true if this machine has namespaces for an empty root directory.
#[expect(clippy::disallowed_methods, reason = "unshare makes the root directory")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn has_namespaces() -> bool {
    let script = "mount -t tmpfs none /mnt && mkdir /mnt/x && chroot / true";
    let tried =
        Command::new("/usr/bin/unshare").args(["-r", "-m", "/bin/sh", "-c", script]).output();
    let is_there = tried.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("SKIPPED: no namespace for an empty root directory");
    }
    is_there
}

#[test]
fn in_an_empty_root_a_bundle_is_the_run_at_home() {
    let directory = projects();
    if !has_namespaces() || !has("cargo") || !library_faults::make_wheels(&directory) {
        return;
    }
    let (has_node, has_typescript) = (has("node"), has_typescript());
    directory.file("checks/quality/check.rs", lone(&directory));
    directory.file("checks/py/check.py", PYTHON);
    directory.file("checks/py/requirements.txt", "tiny >= 9\n");
    directory.file("checks/js/check.js", JAVASCRIPT);
    directory.file("checks/js/package.json", "{\"dependencies\": {\"half\": \"1\"}}");
    directory.file("checks/js/node_modules/half/index.js", "exports.score = () => 0.5;\n");
    directory.file("checks/ts/check.ts", TYPESCRIPT);
    let node = if has_node { "- {name: js, type: code, path: js/check.js}\n" } else { "" };
    let typescript =
        if has_typescript { "- {name: ts, type: code, path: ts/check.ts}\n" } else { "" };
    directory.file(
        "checks/c.yaml",
        format!(
            "evaluators:\n- {{name: rust, type: code, path: quality/check.rs}}\n\
             - {{name: python, type: code, path: py/check.py}}\n\
             - {{name: one, type: metric, metric: 'autoevals:Version', requirements: [autoevals==1]}}\n\
             - {{name: two, type: metric, metric: 'autoevals:Version', requirements: [autoevals==2]}}\n- {{name: tool_call_count_v1, type: builtin, max: 0}}\n{node}{typescript}"
        ),
    );
    bundle(&directory, &[]).exits(0);
    let lines = [line(1), line(2)];
    let home = pipe(requirements::command(&directory, &args_of("checks/c.yaml")), &lines).exits(0);
    let other = unpack(&directory, true);
    let manifest: Value = serde_json::from_str(&other.read("checks/bundle.json")).unwrap();
    let python = PathBuf::from(manifest["interpreters"]["python"].as_str().unwrap());
    let node = manifest["interpreters"]["node"].as_str().map(PathBuf::from);
    let programs = [Some(other.join("checks/evaluator")), Some(python.clone()), node.clone()];
    let programs: Vec<String> =
        programs.iter().flatten().map(|it| it.display().to_string()).collect();
    let prefix = python.parent().unwrap().parent().unwrap().to_owned();
    let modules =
        format!("{} {}/lib/python3*/lib-dynload/*.so", programs.join(" "), prefix.display());
    let mut paths = libraries(&other, &modules);
    let only = |program: &str| libraries(&other, program);
    let args = args_of("/checks/eval_config.yaml");

    // No interpreter: nothing starts, and there is no record.
    let ran = pipe(in_root(&other, &only(&programs[0]), &args), &lines).exits(2);
    assert!(ran.stderr.contains("the bundle needs Python"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");

    match prefix == Path::new("/usr") {
        true => {
            paths.extend([python.clone(), prefix.join("lib").join(python.file_name().unwrap())])
        }
        false => paths.push(prefix),
    }
    paths.extend(node);
    let there = pipe(in_root(&other, &paths, &args), &lines).exits(0);
    assert_eq!(scores(&home.stdout), scores(&there.stdout));
    let of = |name: &str, score: f64| (name.to_owned(), json!(score));
    assert!(scores(&there.stdout).contains(&of("one", 0.1)), "{}", there.stdout);
    assert!(scores(&there.stdout).contains(&of("two", 0.2)), "{}", there.stdout);
    let wanted = 5 + usize::from(has_node) + usize::from(has_typescript);
    assert_eq!(scores(&there.stdout).len(), lines.len() * wanted);
    assert!(scores(&there.stdout).iter().all(|(_, score)| score.is_number()), "{}", there.stdout);
    let plan = |ran: &Ran| records(&ran.stdout)[0]["plan"].clone();
    assert!(plan(&home).is_string());
    assert_eq!(plan(&home), plan(&there));

    // Packages are those that the bundle was made with.
    for (change, reason) in [
        (
            "find . -name '*.py' -exec sh -c 'echo >>$0' {} ';'",
            "it is not what the bundle was made",
        ),
        ("rm -r *", "the bundle is damaged"),
    ] {
        other.sh(&format!("cd checks/bundle-files/python && {change}")).exits(0);
        let args = args_of("checks/eval_config.yaml");
        let ran = pipe(requirements::command(&other, &args), &lines).exits(2);
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}
