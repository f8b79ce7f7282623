//! What evaluations may share changes nothing that is reported.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use crate::support::{
    Directory, finish, has,
    processes::{assert_gone, signal, wait_for_line},
    trace,
};
use serde_json::Value;

/// Says in a file whether the interpreter had done its imports before, and ends in as many ways as there are conversations.
const EVALUATOR: &str = r#"import sys
open("seen", "a").write("forked\n" if "statistics" in sys.modules else "started\n")
import json, os, statistics
document = json.load(sys.stdin)
text = document["invocations"][0]["final_response"] or ""
print("looked at", text, file=sys.stderr)
way = sum(map(ord, text)) % 5
if way == 0:
    raise ValueError("nothing good about " + text)
if way == 1:
    sys.exit(3)
if way == 2:
    os.abort()
print(json.dumps({"score": statistics.mean([0, 1]), "details": {"way": way, "file": __file__, "argv": sys.argv}}))
"#;

fn config(isolation: &str, timeout: u32) -> String {
    format!(
        "evaluators:\n  - {{name: check, type: code, path: check.py, timeout: {timeout}{isolation}}}\n"
    )
}

/// The report without what is measured.
fn without_durations(mut report: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.retain(|key, _| !key.contains("duration"));
                object.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut report);
    report
}

/// Runs the evaluator over five conversations: the report, the exit code, what was said, and the ways it was started.
fn run(directory: &Directory, isolation: &str) -> (Value, Option<i32>, String, String) {
    let _ = fs::remove_file(directory.path().join("seen"));
    directory.file("c.yaml", config(isolation, 30));
    let trace = trace("i11_five_traces_plain");
    let ran = directory.run(&[&trace, "-c", "c.yaml", "-o", "json", "-v"]);
    let seen = fs::read_to_string(directory.path().join("seen")).expect("the evaluator has run");
    (without_durations(ran.json()), ran.code, ran.stderr, seen)
}

#[test]
fn forked_evaluations_are_reported_as_started_ones() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", EVALUATOR);
    let (started, exit, _, seen) = run(&directory, ", isolation: process");
    assert_eq!(seen, "started\n".repeat(5));
    for isolation in ["", ", isolation: auto"] {
        let (forked, code, said, seen) = run(&directory, isolation);
        assert_eq!((forked, code), (started.clone(), exit), "{said}");
        assert_eq!(seen, "forked\n".repeat(5), "{said}");
        assert!(!said.contains("a new process"), "{said}");
    }
}

#[test]
fn unusual_evaluators_are_started_and_reported_once() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", EVALUATOR);
    directory.file("statistics.py", "def mean(values): return 1\n");
    let (report, _, said, seen) = run(&directory, "");
    assert_eq!(seen, "started\n".repeat(5));
    let why = "check: a new process for every evaluation (statistics.py is next to the evaluator)";
    assert_eq!(said.matches(why).count(), 1, "{said}");
    let (alone, ..) = run(&directory, ", isolation: process");
    assert_eq!(report, alone);
}

/// A package that was installed. It says that it was imported, and starts what `THREAD` says.
const PACKAGE: &str = r#"import ctypes, os, threading, time
open("imported", "a").write("import\n")
kind = os.environ.get("THREAD")
if kind == "python":
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
elif kind:
    libc, thread = ctypes.CDLL(None), ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, libc.pause, None)
    def stop():
        global thread
        if thread:
            libc.pthread_cancel(thread)
            libc.pthread_join(thread, None)
            thread = None
    if kind == "stops before a fork":
        os.register_at_fork(before=stop)
"#;

/// Runs an evaluator whose first lines are these over five conversations: the numbers of forks and of imports of the package,
/// and what was said.
fn run_with_package(first_lines: &str, thread: &str) -> (usize, usize, String) {
    let directory = Directory::new();
    directory.file("venv/site-packages/heavy/__init__.py", PACKAGE);
    directory.file("venv/site-packages/heavy/part.py", "value = 1\n");
    directory.file("venv/site-packages/numpy/__init__.py", "");
    directory.file(
        "venv/site-packages/numpy/random.py",
        "def seed(): open('seeded', 'a').write('seeded\\n')\n",
    );
    let rest = "import heavy.part, sys\nsys.stdin.read()\nprint('{\"score\": 1}')\n";
    directory.file("check.py", format!("{first_lines}{rest}"));
    directory.file("c.yaml", config("", 30));
    let trace = trace("i11_five_traces_plain");
    let mut command = directory.command(&["run", &trace, "-c", "c.yaml", "-o", "json", "-v"]);
    command.env("PYTHONPATH", directory.path().join("venv/site-packages")).env("THREAD", thread);
    let ran = finish(command.spawn().unwrap()).exits(0);
    let lines = |name: &str| {
        fs::read_to_string(directory.path().join(name)).unwrap_or_default().lines().count()
    };
    (lines("seeded"), lines("imported"), ran.stderr)
}

#[test]
fn installed_packages_are_imported_once_where_only_imports_precede_them() {
    if !has("python3") || !cfg!(target_os = "linux") {
        return;
    }
    let seeds = "import numpy.random\n";
    for (first_lines, imports) in [
        (
            "\"\"\"Looks at\n\nsomething.\"\"\"\n\n# A comment.\nimport numpy.random\nfrom heavy import (\n    part,\n)\n",
            1,
        ),
        ("from heavy import part  # its value\nimport numpy.random\n", 1),
        (seeds, 1),
        ("import numpy.random\nimport os\nos.environ['MODE'] = '1'\n", 5),
        ("import numpy.random\ntry:\n    import heavy\nexcept ImportError:\n    pass\n", 5),
    ] {
        let (seeded, imported, said) = run_with_package(first_lines, "");
        assert_eq!((seeded, imported), (5, imports), "{first_lines}{said}");
    }
    // A thread that the package stops before each fork is no obstacle; any other is.
    let (seeded, imported, said) = run_with_package(seeds, "stops before a fork");
    assert_eq!((seeded, imported), (5, 1), "{said}");
    for thread in ["python", "stays"] {
        let (seeded, imported, said) = run_with_package(seeds, thread);
        assert_eq!((seeded, imported), (0, 6), "{said}");
        assert!(said.contains("the imports started threads"), "{said}");
    }
}

#[test]
fn few_conversations_are_not_worth_a_server() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", EVALUATOR);
    directory.file("c.yaml", config("", 30));
    directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml"]);
    assert_eq!(fs::read_to_string(directory.path().join("seen")).unwrap(), "started\n");
}

#[cfg(target_os = "linux")]
#[test]
fn limits_hold_for_forks_as_for_processes() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", EVALUATOR);
    let limits = ", limits: {memory: 1GiB, cpu: 20, open_files: 64}";
    let (started, exit, ..) = run(&directory, &format!(", isolation: process{limits}"));
    let (forked, code, said, seen) = run(&directory, limits);
    assert_eq!((forked, code), (started, exit), "{said}");
    assert_eq!(seen, "forked\n".repeat(5), "{said}");

    let own = "memory: 300MiB, cpu: 20, open_files: 64";
    directory.file(
        "check.py",
        "import json, statistics\nimport resource, sys\n\
         of = lambda name: resource.getrlimit(getattr(resource, 'RLIMIT_' + name))\n\
         print(json.dumps({'score': 1, 'details': {name: of(name) for name in ('DATA', 'CPU', 'NOFILE')}}))\n",
    );
    directory.file(
        "c.yaml",
        format!(
            "evaluators:\n  - {{name: check, type: code, path: check.py, limits: {{{own}}}}}\n"
        ),
    );
    let ran =
        directory.run(&[&trace("i11_five_traces_plain"), "-c", "c.yaml", "-o", "json"]).exits(0);
    let details = &ran.json()["traces"][4]["metrics"][0]["details"];
    let expected =
        serde_json::json!({"DATA": [300 << 20, 300 << 20], "CPU": [20, 21], "NOFILE": [64, 64]});
    assert_eq!(*details, expected);
    directory.file(
        "check.py",
        "import json\nif 'b' in input(): held = b'x' * (2 << 30)\nprint(json.dumps({'score': 1}))\n",
    );
    let ran =
        directory.run(&[&trace("i11_five_traces_plain"), "-c", "c.yaml", "-o", "json"]).exits(3);
    let error = ran.error_of("check");
    assert!(error.contains("MemoryError") && error.contains("`memory: 300MiB`"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn no_fork_outlives_a_run_that_is_killed() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file(
        "check.py",
        "import json, os, signal, statistics, subprocess, sys, time\n\
         signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         child = subprocess.Popen(['sleep', '600'])\n\
         with open('new', 'w') as pids: print(os.getpid(), child.pid, os.getppid(), file=pids)\n\
         os.rename('new', 'pids')\n\
         time.sleep(600)\n",
    );
    directory.file("c.yaml", config("", 600));
    let traces = trace("i11_five_traces_plain");
    let mut run = directory
        .command(&["run", &traces, "-c", "c.yaml", "-o", "json", "--jobs", "1"])
        .spawn()
        .expect("the command starts");
    let pids = wait_for_line(&directory.path().join("pids"));
    let pids: Vec<&str> = pids.split_whitespace().collect();
    assert!(pids.iter().all(|pid| signal("0", pid)), "all are there");
    let server = fs::read_to_string(format!("/proc/{}/cmdline", pids[2]));
    assert!(server.is_ok_and(|line| line.contains("check.py")), "it is forked from another");
    run.kill().expect("it can be killed");
    run.wait().expect("it has ended");
    pids.iter().for_each(|pid| assert_gone(pid));
}

#[test]
fn a_fork_that_is_late_is_timed_out_like_any_other() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file(
        "check.py",
        "import json, time\nprint(json.dumps({'score': 1}), flush=True)\ntime.sleep(600)\n",
    );
    directory.file("c.yaml", config("", 1));
    let ran =
        directory.run(&[&trace("i11_five_traces_plain"), "-c", "c.yaml", "-o", "json"]).exits(3);
    for conversation in 0..5 {
        assert_eq!(ran.evaluations(conversation), ["check ERROR timed_out"]);
    }
}

/// Ends in as many ways as there are conversations, and says in a file whether what is compiled of it is kept.
const JAVASCRIPT: &str = r#"const fs = require("fs");
const { mean } = require("mean");
// One that speaks of it by its full name is left alone.
const dir = require("module")["getCompile" + "CacheDir"]?.();
fs.appendFileSync("seen", dir ? "cached\n" : "plain\n");
if (dir) fs.writeFileSync("where", dir);
const document = JSON.parse(fs.readFileSync(0, "utf8"));
const text = document.invocations[0].final_response || "";
console.error("looked at", text);
const way = [...text].reduce((sum, it) => sum + it.charCodeAt(0), 0) % 5;
if (way === 0) throw new Error("nothing good about " + text);
if (way === 1) process.exit(3);
if (way === 2) process.kill(process.pid, "SIGKILL");
console.log(JSON.stringify({ score: mean([0, 1]), details: { way, file: __filename, argv: process.argv, env: Object.keys(process.env) } }));
"#;

fn javascript(directory: &Directory) {
    directory.file("node_modules/mean/package.json", r#"{"name": "mean"}"#);
    let mean = "exports.mean = (values) => values.reduce((a, b) => a + b) / values.length;\n";
    directory.file("node_modules/mean/index.js", mean);
    directory.file("check.js", JAVASCRIPT);
}

fn run_javascript(directory: &Directory, more: &str) -> (Value, Option<i32>, String, String) {
    let _ = fs::remove_file(directory.path().join("seen"));
    let entry = format!("{{name: check, type: code, path: check.js, timeout: 60{more}}}");
    directory.file("c.yaml", format!("evaluators:\n  - {entry}\n"));
    let trace = trace("i11_five_traces_plain");
    let ran = directory.run(&[&trace, "-c", "c.yaml", "-o", "json", "-v"]);
    let seen = fs::read_to_string(directory.path().join("seen")).expect("the evaluator has run");
    (without_durations(ran.json()), ran.code, ran.stderr, seen)
}

#[test]
fn javascript_whose_compiled_code_is_kept_is_reported_as_any_other() {
    if !has("node") {
        return;
    }
    let directory = Directory::new();
    javascript(&directory);
    let (plain, exit, said, seen) = run_javascript(&directory, ", isolation: process");
    assert_eq!(seen, "plain\n".repeat(5));
    assert!(!said.contains("compiled again"), "{said}");
    for more in ["", ", isolation: auto"] {
        let (cached, code, said, seen) = run_javascript(&directory, more);
        assert_eq!((cached, code), (plain.clone(), exit), "{said}");
        // A Node.js without a compile cache is reported once.
        if seen.contains("cached") {
            assert_eq!(seen, "cached\n".repeat(5), "{said}");
            assert!(!said.contains("compiled again"), "{said}");
            let kept = fs::read_to_string(directory.path().join("where")).expect("it was cached");
            assert!(!std::path::Path::new(&kept).exists(), "{kept} is left behind");
        } else {
            let why = "check: compiled again for every evaluation (Node.js ";
            assert_eq!(said.matches(why).count(), 1, "{said}");
        }
    }
}

#[test]
fn javascript_that_brings_nothing_along_is_started_as_ever() {
    if !has("node") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.js", JAVASCRIPT.replace(r#"require("mean")"#, "{ mean: () => 0.5 }"));
    let (_, _, said, seen) = run_javascript(&directory, "");
    assert_eq!(seen, "plain\n".repeat(5));
    assert!(!said.contains("compiled again"), "{said}");
}

#[test]
fn compiled_code_is_not_kept_where_something_is_unusual() {
    if !has("node") {
        return;
    }
    let directory = Directory::new();
    javascript(&directory);
    for more in [", env: {NODE_OPTIONS: --enable-source-maps}", ", limits: {cpu: 50}"] {
        let (_, _, said, seen) = run_javascript(&directory, more);
        assert_eq!(seen, "plain\n".repeat(5), "{more}");
        let why = "check: compiled again for every evaluation (";
        assert_eq!(said.matches(why).count(), 1, "{more}: {said}");
    }
}

#[test]
fn a_directory_for_compiled_code_that_cannot_be_had_changes_nothing() {
    if !has("node") {
        return;
    }
    let directory = Directory::new();
    // What deletes its own code is compiled again from then on, and no conversation is lost.
    let deletes = format!(
        "const at = require('module')['getCompile' + 'CacheDir']?.();\n\
         if (at) require('fs').rmSync(require('path').dirname(require('path').dirname(at)), {{ recursive: true, force: true }});\n\
         {JAVASCRIPT}"
    );
    javascript(&directory);
    let (plain, exit, ..) = run_javascript(&directory, ", isolation: process");
    directory.file("check.js", deletes);
    let (cached, code, said, _) = run_javascript(&directory, "");
    let scores = |report: &Value| report.to_string().matches("\"score\":0.5").count();
    assert_eq!((scores(&cached), code), (scores(&plain), exit), "{said}");
}
