//! Metrics of libraries that break: each way is an error by its name, and never a score.
//!
//! The libraries are made here, as in `library_metrics.rs`.
#![cfg(unix)]

use std::{
    fs,
    net::TcpListener,
    process::{Command, Stdio},
};

use crate::{
    containment::is_available,
    library_metrics::{configure, entry, library_file, run, with_libraries},
    requirements,
    support::{Directory, finish, trace},
};

/// A way to break: the name of the metric, the body of its method, and a part of the error.
const FAULTS: &[(&str, &str, &str)] = &[
    ("NotANumber", "return Score(float('nan'))", "the metric gave NaN, which is not a score"),
    ("Infinite", "return Score(float('inf'))", "gave inf, outside of its range from 0 to 1"),
    ("TooHigh", "return Score(1.5)", "the metric gave 1.5, outside of its range from 0 to 1"),
    ("TooLow", "return Score(-0.1)", "the metric gave -0.1, outside of its range from 0 to 1"),
    ("Text", "return Score('good')", "the metric gave str 'good', which is not a number"),
    ("Mapping", "return Score({'a': 1})", "the metric gave dict {'a': 1}, which is not a number"),
    ("Complex", "return Score(1j)", "the metric gave complex 1j, which is not a number"),
    ("Lazy", "return Score(n for n in [1])", "the metric gave generator <generator object"),
    ("Nothing", "return None", "the metric raised AttributeError: 'NoneType' object"),
    ("Yields", "yield Score(1.0)", "the metric raised AttributeError: 'generator' object"),
    ("Raises", "raise KeyError('verdict')", "the metric raised KeyError: 'verdict'"),
    ("Asserts", "assert False", "the metric raised AssertionError"),
    (
        "Mute",
        "raise type('Mute', (Exception,), {'__str__': lambda self: None})()",
        "the metric raised Mute: its text cannot be read",
    ),
    ("Recurses", "return self._run_eval_sync(output)", "the metric raised RecursionError"),
    ("Greedy", "return Score(len(bytearray(1 << 62)))", "the metric raised MemoryError"),
    ("Exits", "sys.exit('no key')", "the metric raised SystemExit: no key"),
    ("Interrupts", "raise KeyboardInterrupt", "the metric raised KeyboardInterrupt"),
    ("Leaves", "os._exit(0)", "produced no output on stdout"),
    ("Aborts", "os.abort()", "exited with code -6"),
    ("Killed", "os.kill(os.getpid(), 9)", "exited with code -9"),
    ("Crashes", "import ctypes; ctypes.string_at(0)", "exited with code -11"),
    ("Hangs", "time.sleep(600)", "timed out"),
    (
        "Lingers",
        "threading.Thread(target=time.sleep, args=(600,)).start(); return Score(1.0)",
        "timed out",
    ),
    (
        "Reports",
        "import socket; socket.create_connection(('127.0.0.1', 9), 5)",
        "the metric raised ConnectionRefusedError",
    ),
    (
        "Pretends",
        "os.write(1, b'{\"score\": 1.0}\\n'); raise ValueError('after its own answer')",
        "the metric raised ValueError: after its own answer",
    ),
    ("Babbles", "return Score(1.0, 'x' * (2 << 20))", "more than"),
    ("Garbles", "return Score(1.0, '\\ud800')", "surrogate"),
];

/// Those whose method is asynchronous, which this library never awaits.
const ASYNCHRONOUS: &str = "class Async(Scorer):
    async def _run_eval_sync(self, output, **kwargs):
        return Score(1.0)
";

/// Writes the module with all of them.
fn write_faults(directory: &Directory) {
    let mut text = "import os, sys, threading, time\n\nfrom .score import Score as Plain, Scorer\n\n\n\
         def Score(score, reason=None):\n    found = Plain(score)\n    found.metadata = {'rationale': reason}\n    return found\n\n\n"
        .to_owned();
    for (name, body, _) in FAULTS {
        text += &format!(
            "class {name}(Scorer):\n    def _run_eval_sync(self, output, **kwargs):\n        {body}\n\n\n"
        );
    }
    library_file(directory, "autoevals/faults.py", &(text + ASYNCHRONOUS));
}

fn fault(name: &str) -> String {
    let keys = format!("metric: 'autoevals.faults:{name}', timeout: 4, limits: {{output: 1MiB}}");
    entry(&name.to_lowercase(), &keys)
}

#[test]
fn every_way_to_break_is_an_error_by_its_name() {
    let Some(directory) = with_libraries() else { return };
    write_faults(&directory);
    let coroutine = ("Async", "", "the metric raised AttributeError: 'coroutine' object");
    let faults: Vec<_> = FAULTS.iter().copied().chain([coroutine]).collect();
    let entries: String = faults.iter().map(|(name, ..)| fault(name)).collect();
    configure(&directory, &(entries + &entry("works", "metric: 'autoevals:Works'")));
    let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"]).exits(3);
    let mut wrong = Vec::new();
    for (name, _, message) in &faults {
        let error = ran.error_of(&name.to_lowercase());
        if !error.contains(message) {
            wrong.push(format!("{name}: {}", error.chars().take(300).collect::<String>()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let evaluations = ran.evaluations(0);
    assert_eq!(evaluations.last().unwrap(), "works FAILED");
    assert_eq!(evaluations.iter().filter(|it| it.contains(" ERROR ")).count(), faults.len());
}

/// What a library does when it is imported, and a part of the error; without one, its metric scores.
const AT_IMPORT: &[(&str, &str, Option<&str>)] = &[
    (
        "insists",
        "socket.create_connection(('127.0.0.1', PORT), 5)",
        Some("the library cannot be imported: "),
    ),
    (
        "tries",
        "try:\n    socket.create_connection(('127.0.0.1', PORT), 5)\nexcept OSError:\n    pass",
        None,
    ),
    (
        "goes_on_trying",
        "def send():\n    while True:\n        try:\n            \
         socket.create_connection(('127.0.0.1', PORT), 5).close()\n        except OSError:\n            \
         time.sleep(0.05)\n\n\nthreading.Thread(target=send, daemon=True).start()",
        None,
    ),
    ("waits_at_its_end", "atexit.register(time.sleep, 600)", Some("timed out")),
];

/// Telemetry that is sent while a library is imported: without network it is an error by its name, or changes nothing.
#[test]
fn telemetry_at_import_neither_hangs_nor_leaves_the_sandbox() {
    let Some(directory) = with_libraries() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    // Nothing listens at this one.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut executors = vec![("", closed, "ConnectionRefusedError")];
    if is_available() {
        executors.push((", executor: sandbox", port, "Error: "));
    }
    for (executor, port, refusal) in executors {
        let mut entries = String::new();
        for (name, at_import, _) in AT_IMPORT {
            let text = format!(
                "import atexit, os, socket, threading, time\n\nfrom .score import Score, Scorer\n\nPORT = {port}\n\
                 {at_import}\n\n\nclass Works(Scorer):\n    def _run_eval_sync(self, output, **kwargs):\n        \
                 return Score(1.0)\n"
            );
            library_file(&directory, &format!("autoevals/{name}.py"), &text);
            let keys = format!("metric: 'autoevals.{name}:Works', timeout: 4{executor}");
            entries += &entry(name, &keys);
        }
        configure(&directory, &entries);
        let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"]).exits(3);
        for ((name, _, error), evaluation) in AT_IMPORT.iter().zip(ran.evaluations(0)) {
            match error {
                Some(message) => {
                    let error = ran.error_of(name);
                    assert!(error.contains(message), "{name}: {error}");
                    let is_refused = !message.contains("imported") || error.contains(refusal);
                    assert!(is_refused, "{name}: {error}");
                }
                None => assert_eq!(evaluation, format!("{name} PASSED"), "{executor}"),
            }
        }
    }
    let reached = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(reached, Err(std::io::ErrorKind::WouldBlock), "nothing left a sandbox");
}

/// The faults that end or outlast a process take no other conversation with them.
#[test]
fn a_worker_that_breaks_leaves_the_other_conversations_alone() {
    let Some(directory) = with_libraries() else { return };
    let text = "import os, threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n\n\n\
                def exact_match(*, outputs, reference_outputs, **kwargs):\n    \
                if outputs == 'leave':\n        os._exit(0)\n    \
                if outputs == 'stop':\n        raise KeyboardInterrupt\n    \
                return {'key': 'x', 'score': outputs == reference_outputs}\n";
    library_file(&directory, "openevals/__init__.py", text);
    configure(&directory, &entry("match", "metric: 'openevals:exact_match'"));
    let answers = ["Here.", "leave", "Here.", "stop", "There."];
    let turns = answers.map(|answer| ("Where?", answer));
    directory.file("trace.json", evaluator_test_support::recording::recording(turns));
    directory.file("set.json", crate::library_metrics::set(&[("Where?", "Here.")]));
    let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json", "--jobs", "1"]);
    let all: Vec<String> = (0..5).flat_map(|index| ran.evaluations(index)).collect();
    assert_eq!(
        [&all[0], &all[2], &all[4]],
        ["match PASSED", "match PASSED", "match FAILED"],
        "{all:?}"
    );
    assert!(all[1].starts_with("match ERROR") && all[3].starts_with("match ERROR"), "{all:?}");
    ran.exits(3);
}

#[test]
fn a_metric_in_a_sandbox_has_its_packages_its_models_and_no_network() {
    if !is_available() {
        return;
    }
    let Some(directory) = with_libraries() else { return };
    let connects = "import os, socket\n\nfrom .score import Score, Scorer\n\n\nclass Connects(Scorer):\n    \
                    def _run_eval_sync(self, output, **kwargs):\n        \
                    socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 5)\n        return Score(1.0)\n";
    library_file(&directory, "autoevals/connects.py", connects);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connects = |name: &str, more: &str| {
        entry(
            name,
            &format!("metric: 'autoevals.connects:Connects', env: {{PORT: '{port}'}}{more}"),
        )
    };
    let entries = connects("outside", "")
        + &connects("inside", ", executor: sandbox")
        + &entry("works", "metric: 'autoevals:Works', executor: sandbox, threshold: 0.2")
        + &entry(
            "asks",
            "metric: 'autoevals:Asks', models: {gpt: 'fake:replies'}, executor: sandbox",
        );
    directory.file("replies", "\"yes\"\n\"no\"\n");
    configure(&directory, &entries);
    let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"]).exits(3);
    let evaluations = ran.evaluations(0);
    assert_eq!(evaluations[0], "outside PASSED");
    assert_eq!(evaluations[2..], ["works PASSED", "asks PASSED"], "{}", ran.stdout);
    let error = ran.error_of("inside");
    assert!(error.contains("it runs in a sandbox without network"), "{error}");
    for at in [1, 2, 3] {
        let contained = &ran.json()["traces"][0]["metrics"][at]["containment"];
        assert_eq!(contained["network"], false, "{contained}");
    }
}

/// Writes wheels of a library in two versions, each of which needs another version of a package.
const MAKE_WHEELS: &str = r#"
import sys, zipfile

def wheel(name, version, text, *requires):
    info = f"{name}-{version}.dist-info/"
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-{version}-py3-none-any.whl", "w") as file:
        for path, content in text.items():
            file.writestr(path, content)
        lines = "".join(f"Requires-Dist: {it}\n" for it in requires)
        file.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}")
        file.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(info + "RECORD", "")

SCORER = """
from . import llm
from .score import Score, Scorer
import small

class Version(Scorer):
    def _run_eval_sync(self, output, **kwargs):
        return Score(small.VERSION / 10)
"""
SCORE = """
class Score:
    def __init__(self, score):
        self.score, self.metadata = score, {}

class Scorer:
    def eval(self, output, expected=None, **kwargs):
        return self._run_eval_sync(output, **kwargs)
"""
for version in (1, 2):
    wheel("small", version, {"small.py": f"VERSION = {version}\n"})
    files = {"autoevals/__init__.py": SCORER, "autoevals/score.py": SCORE, "autoevals/llm.py": "class OpenAIScorer:\n    pass\n"}
    wheel("autoevals", version, files, f"small=={version}")
"#;

/// Makes wheels of an index, among them those of the library; returns false where that is not possible.
#[expect(clippy::disallowed_methods, reason = "wheels are made by Python itself")]
pub(crate) fn make_wheels(directory: &Directory) -> bool {
    if !requirements::make_wheels(directory.path()) {
        return false;
    }
    let mut python = Command::new("python3");
    python.args(["-c", MAKE_WHEELS]).arg(directory.join("wheels")).stdin(Stdio::null());
    assert!(python.status().expect("Python starts").success());
    true
}

#[test]
fn versions_run_side_by_side_and_conflicts_are_errors_of_their_own_entries() {
    let directory = Directory::new();
    if !make_wheels(&directory) {
        return;
    }
    let version = |name: &str, requirements: &str| {
        let keys = "metric: 'autoevals:Version', threshold: 0.05";
        entry(name, &format!("{keys}, requirements: [{requirements}]"))
    };
    let entries = version("one", "autoevals==1")
        + &version("two", "autoevals==2")
        + &version("both", "autoevals==1, small==2")
        + &version("gone", "autoevals==1, nothing-has-this-name==1");
    directory.file("c.yaml", format!("evaluators:\n{entries}"));
    let traces = trace("a01_otlp_basic_parts");
    let mut command =
        requirements::command(&directory, &["run", &traces, "-c", "c.yaml", "-o", "json"]);
    // A uv that the system has would be asked instead of pip.
    fs::create_dir_all(directory.path().join("bin")).unwrap();
    let ran = finish(command.env("EVALUATOR_PYTHON_SDK", "none").spawn().unwrap()).exits(3);
    let metrics = &ran.json()["traces"][0]["metrics"];
    assert_eq!([&metrics[0]["score"], &metrics[1]["score"]], [0.1, 0.2], "{metrics}");
    for (name, reason) in [("both", "conflict"), ("gone", "nothing-has-this-name==1")] {
        let error = ran.error_of(name);
        assert!(error.starts_with("Dependency installation failed: "), "{name}: {error}");
        assert!(error.contains(reason), "{name}: {error}");
    }
}
