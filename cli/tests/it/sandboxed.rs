//! `executor: sandbox`: programs that try to read, write and connect are kept from it, and otherwise run as without it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod source_distributions;

use std::{
    fs,
    io::ErrorKind,
    net::TcpListener,
    os::unix::fs::MetadataExt as _,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    containment::is_available,
    support::{
        Directory, Ran, has,
        processes::{assert_gone, wait_until},
        trace,
    },
};

/// Tries what a contained program must not do, and answers.
const PYTHON: &str = r#"import sys
was_forked = "statistics" in sys.modules
import json, os, socket, statistics
document = json.load(sys.stdin)
place = document["config"]
done = []
def attempt(name, action):
    try:
        action()
        done.append(name)
    except Exception as error:
        print(name, error, file=sys.stderr)
attempt("read", lambda: open(place["secret"]).read())
attempt("write", lambda: open(__file__ + ".left", "w").close())
attempt("connect", lambda: socket.create_connection(("127.0.0.1", place["port"]), 10).close())
details = {"done": done, "forked": was_forked, "variables": sorted(os.environ)}
print(json.dumps({"score": 0.75, "details": details}))
"#;

const JAVASCRIPT: &str = r#"
const fs = require("fs"), net = require("net");
const document = JSON.parse(fs.readFileSync(0, "utf8"));
const done = [];
const attempt = (name, action) => { try { action(); done.push(name); } catch (error) { console.error(error.message); } };
attempt("read", () => fs.readFileSync(document.config.secret));
attempt("write", () => fs.writeFileSync(__filename + ".left", ""));
const answer = () => { console.log(JSON.stringify({ score: 0.75, details: { done } })); process.exit(0); };
const socket = net.connect(document.config.port, "127.0.0.1", () => { done.push("connect"); answer(); });
socket.on("error", answer);
"#;

const SHELL: &str = r#"
cat >/dev/null
done=
cat "$(dirname "$0")/../secret" >/dev/null 2>&1 && done="\"read\","
touch "$0.left" 2>/dev/null && done="$done\"write\","
[ -n "$done" ] && done="${done%,}"
echo "{\"score\": 0.75, \"details\": {\"done\": [$done]}}"
"#;

/// A directory with a file that programs must not read, and a server that they must not reach.
struct World {
    directory: Directory,
    server: TcpListener,
}

impl World {
    /// `None`, with a message, if this machine cannot contain programs.
    fn new() -> Option<Self> {
        if !is_available() {
            return None;
        }
        let directory = Directory::new();
        directory.file("secret", "the secret");
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        Some(Self { directory, server })
    }

    /// Entries of a configuration: the files with these keys, each once in a sandbox and once without.
    fn config(&self, files: &[&str], keys: impl Fn(&str) -> &'static str) {
        let secret = self.directory.join("secret");
        let port = self.server.local_addr().unwrap().port();
        let config = format!("config: {{secret: {secret:?}, port: {port}}}");
        let entry = |file: &&str| {
            let keys = keys(file);
            format!(
                "- {{name: in {file}, type: code, path: {file}, {config}{keys}, executor: sandbox}}\n\
                 - {{name: out {file}, type: code, path: {file}, {config}{keys}}}\n"
            )
        };
        let entries: String = files.iter().map(entry).collect();
        self.directory.file("c.yaml", format!("evaluators:\n{entries}"));
    }

    fn run(&self, traces: &str) -> Ran {
        self.directory.run(&[&trace(traces), "-c", "c.yaml", "-o", "json", "-v"])
    }

    /// Number of connections so far.
    fn connections(&self) -> usize {
        let accept = || match self.server.accept() {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => panic!("{error}"),
        };
        std::iter::repeat_with(accept).take_while(|accepted| *accepted).count()
    }
}

/// Every evaluation of that name: its score and details.
fn evaluations(report: &Value, name: &str) -> Vec<(Option<f64>, Value)> {
    let of = |trace: &Value| {
        let metrics = trace["metrics"].as_array().unwrap().clone();
        metrics.into_iter().filter(|metric| metric["metric_name"] == name)
    };
    let traces = report["traces"].as_array().unwrap();
    traces.iter().flat_map(of).map(|it| (it["score"].as_f64(), it["details"].clone())).collect()
}

/// Checks that a file does everything without a sandbox, nothing in it, and has the same score.
#[track_caller]
fn assert_contained(report: &Value, file: &str, attempts: &[&str]) {
    let (inside, outside) =
        (evaluations(report, &format!("in {file}")), evaluations(report, &format!("out {file}")));
    assert!(!inside.is_empty() && inside.len() == outside.len(), "{report:#}");
    for ((inside_score, inside), (outside_score, outside)) in inside.iter().zip(&outside) {
        assert_eq!((inside_score, outside_score), (&Some(0.75), &Some(0.75)), "{file}: {report:#}");
        assert_eq!(outside["done"], serde_json::json!(attempts), "{file} without a sandbox");
        assert_eq!(inside["done"], serde_json::json!([]), "{file} in a sandbox");
    }
}

#[test]
fn programs_for_one_document_are_contained() {
    let Some(world) = World::new() else { return };
    let mut files = vec![("src/check.sh", &["read", "write"][..])];
    world.directory.script("src/check.sh", SHELL);
    let mut connections = 0;
    for (program, file, text) in
        [("python3", "src/check.py", PYTHON), ("node", "src/check.js", JAVASCRIPT)]
    {
        if has(program) {
            world.directory.file(file, text);
            files.push((file, &["read", "write", "connect"]));
            connections += 1;
        }
    }
    let names: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
    world.config(&names, |_| "");
    let report = world.run("a01_otlp_basic_parts").exits(0).json();
    for (file, attempts) in files {
        assert_contained(&report, file, attempts);
    }
    assert_eq!(world.connections(), connections, "each connects only without a sandbox");
}

#[test]
fn forked_interpreters_are_contained() {
    let Some(world) = World::new() else { return };
    if !has("python3") {
        return;
    }
    world.directory.file("src/check.py", PYTHON);
    world.config(&["src/check.py"], |_| "");
    let ran = world.run("i11_five_traces_plain").exits(0);
    let report = ran.json();
    assert_contained(&report, "src/check.py", &["read", "write", "connect"]);
    for (_, details) in evaluations(&report, "in src/check.py") {
        assert_eq!(details["forked"], true, "{}", ran.stderr);
        let names = ["HOME", "PATH", "PYTHONDONTWRITEBYTECODE"].map(Value::from);
        let seen = details["variables"].as_array().unwrap();
        assert!(names.iter().all(|name| seen.contains(name)), "{seen:?}");
        assert!(!seen.contains(&"CARGO_MANIFEST_DIR".into()), "{seen:?}");
    }
    assert_eq!(world.connections(), 5);
}

/// Leaves a process that writes an answer to the standard output of whichever fork it finds.
const FORGER: &str = r#"import sys
import json, os, statistics, time
document = json.load(sys.stdin)
first = not os.path.exists("/tmp/forger")
if first:
    open("/tmp/forger", "w").close()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            own = os.getpid()
            while True:
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    for name in ("1", "4", "5", "6", "7", "8", "9"):
                        if int(pid) in (1, own):
                            continue
                        try:
                            with open("/proc/%s/fd/%s" % (pid, name), "wb", buffering=0) as stream:
                                stream.write(b'{"score": 0.0, "details": {"forged": true}}\n')
                        except OSError:
                            pass
        os._exit(0)
    os.wait()
else:
    # Time for the other one.
    end = time.monotonic() + 1
    while time.monotonic() < end:
        sum(range(1000))
print(json.dumps({"score": 1.0}))
"#;

#[test]
fn a_fork_cannot_answer_for_another_one() {
    let Some(world) = World::new() else { return };
    if !has("python3") {
        return;
    }
    // The name is not in the text, so it is forked.
    let text = FORGER.replace("\"/proc\"", "\"/pr\" + \"oc\"").replace("\"/proc/", "\"/pr\" \"oc/");
    world.directory.file("src/check.py", text);
    world.directory.file(
        "c.yaml",
        "evaluators:\n- {name: check, type: code, path: src/check.py, executor: sandbox}\n",
    );
    let ran = world.run("i11_five_traces_plain").exits(0);
    let found = evaluations(&ran.json(), "check");
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|(score, _)| *score == Some(1.0)), "{found:?}");
    assert!(!ran.stderr.contains("not forked"), "{}", ran.stderr);
}

/// Ways to end, by file.
const FAULTS: [(&str, &str); 7] = [
    ("exits.py", "import sys; sys.exit(3)"),
    ("aborts.py", "import os; os.abort()"),
    ("killed.py", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
    ("hangs.py", "import time; time.sleep(600)"),
    (
        "ignores.py",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
    ),
    ("silent.py", "pass"),
    ("raises.py", "raise ValueError('no')"),
];

#[test]
fn faults_are_reported_as_without_a_sandbox() {
    let Some(world) = World::new() else { return };
    if !has("python3") {
        return;
    }
    for (file, text) in FAULTS {
        world.directory.file(&format!("src/{file}"), text);
    }
    let files: Vec<String> = FAULTS.iter().map(|(file, _)| format!("src/{file}")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    // Those that hang are slower than any limit.
    let hangs = |file: &str| file.ends_with("hangs.py") || file.ends_with("ignores.py");
    world.config(&files, |file| if hangs(file) { ", timeout: 1" } else { ", timeout: 120" });
    for traces in ["a01_otlp_basic_parts", "i11_five_traces_plain"] {
        let report = world.run(traces).exits(3).json();
        for trace in report["traces"].as_array().unwrap() {
            let metrics = trace["metrics"].as_array().unwrap();
            for pair in metrics.chunks(2) {
                let [inside, outside] = [&pair[0], &pair[1]].map(|it| it["error_type"].clone());
                assert_eq!(inside, outside, "{}: {pair:#?}", pair[0]["metric_name"]);
                assert!(inside.is_string(), "{pair:#?}");
            }
        }
    }
}

/// Leaves a process that keeps the output open.
const LEAKS: &str = r#"import subprocess
subprocess.Popen(["sh", "-c", "sleep 600; : @MARKER@"])
print('{"score": 1}')
"#;

#[test]
fn what_a_program_leaves_in_a_sandbox_ends_with_it() {
    let Some(world) = World::new() else { return };
    if !has("python3") {
        return;
    }
    let marker = world.directory.join("left").display().to_string();
    world.directory.file("src/leaks.py", LEAKS.replace("@MARKER@", &marker));
    for traces in ["a01_otlp_basic_parts", "i11_five_traces_plain"] {
        world.config(&["src/leaks.py"], |_| ", timeout: 120");
        let report = world.run(traces).exits(3).json();
        for trace in report["traces"].as_array().unwrap() {
            let [inside, outside] = [&trace["metrics"][0], &trace["metrics"][1]];
            assert_eq!((&inside["score"], &inside["error"]), (&1.0.into(), &Value::Null));
            // Its output may be incomplete, because that process could go on writing.
            assert_eq!(outside["error_type"], "leaked_pipe", "{outside}");
        }
        wait_until("processes that are left", || running(&marker).is_empty());
    }
}

/// Returns true if the number of processes is limited: for root, from Linux 6.14 on.
fn limits_processes() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    !is_root || (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

#[test]
fn what_the_sandbox_prevents_is_said() {
    let Some(world) = World::new() else { return };
    if !has("python3") {
        return;
    }
    for (file, text) in [
        ("connects.py", "import socket; socket.create_connection(('127.0.0.1', 9), 10)"),
        ("writes.py", "open(__file__ + '.left', 'w')"),
        ("forbidden.py", "import os, signal; os.kill(os.getpid(), signal.SIGSYS)"),
        ("large.py", "import tempfile; tempfile.TemporaryFile().truncate(65 << 20)"),
        ("memory.py", "bytearray(2 << 30)"),
        (
            "threads.py",
            "import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        ),
    ] {
        world.directory.file(&format!("src/{file}"), text);
    }
    let place = world.directory.path().display();
    world.directory.file("lib/shared.py", "");
    world.directory.file("src/opens.py", format!("open('{place}/secret')"));
    world.directory.file("src/relative.py", "open('secret')");
    let moved =
        "import os, sys\nsys.path.append(os.path.dirname(__file__) + '/../lib')\nimport shared";
    world.directory.file("src/moved.py", moved);
    world.directory.script("src/cat", &format!("cat '{place}/secret'"));
    let hidden = ["src/opens.py", "src/relative.py", "src/moved.py", "src/cat"];
    let others = ["connects", "writes", "forbidden", "large", "memory", "threads"]
        .map(|name| format!("src/{name}.py"));
    let others = others.each_ref().map(String::as_str);
    world.config(&[&others[..], &hidden].concat(), |_| "");
    let ran = world.run("a01_otlp_basic_parts").exits(3);
    for (file, hint) in [
        ("connects", "it runs in a sandbox without network; `sandbox: {network: true}`"),
        ("writes", "`sandbox: {read: [..], write: [..]}`"),
        ("forbidden", "it called something that the sandbox forbids"),
        ("large", "a sandbox limits each file to 64MiB, and no key raises this"),
        ("memory", "with 1GiB of memory; raise it with `limits: {memory: ..}`"),
        (
            "threads",
            "at most 64 processes and threads together; raise it with `sandbox: {processes: ..}`",
        ),
    ] {
        let error = ran.error_of(&format!("in src/{file}.py"));
        assert!(error.contains(hint) || file == "threads" && !limits_processes(), "{error}");
        let error = ran.error_of(&format!("out src/{file}.py"));
        assert!(!error.contains("sandbox"), "{error}");
    }
    for file in hidden {
        let error = ran.error_of(&format!("in {file}"));
        let path = world.directory.join(if file == "src/moved.py" { "lib" } else { "secret" });
        let hint =
            "exists, but the sandbox does not show it; list it under `sandbox: {read: [..]}`";
        assert!(error.contains(&format!("({} {hint})", path.display())), "{error}");
    }
}

#[test]
fn nothing_is_left_when_the_command_is_killed() {
    let Some(world) = World::new() else { return };
    if !has("python3") {
        return;
    }
    world.directory.file("src/check.py", "import time; time.sleep(600)");
    world.directory.file(
        "c.yaml",
        "evaluators:\n- {name: a, type: code, path: src/check.py, executor: sandbox, timeout: 500}\n",
    );
    let args = ["run", &trace("a01_otlp_basic_parts"), "-c", "c.yaml"];
    let mut command = world.directory.command(&args).spawn().unwrap();
    let source = world.directory.join("src/check.py").display().to_string();
    let mut found = Vec::new();
    // Both processes of the helper, and the interpreter.
    wait_until("the evaluator runs", || {
        found = running(&source);
        found.len() >= 3
    });
    command.kill().unwrap();
    command.wait().unwrap();
    found.iter().for_each(|process| assert_gone(process));
}

/// An installation replaces the file of the command while a run goes on.
#[test]
#[expect(clippy::disallowed_methods, reason = "the command is started from another file")]
fn a_run_goes_on_when_the_file_of_the_command_is_replaced() {
    let Some(world) = World::new() else { return };
    if !has("python3") {
        return;
    }
    let directory = &world.directory;
    let program = directory.join("evaluator");
    let installed = env!("CARGO_BIN_EXE_evaluator");
    if fs::hard_link(installed, &program).is_err() {
        fs::copy(installed, &program).unwrap();
    }
    let source = format!(
        "import os, time\n\
         os.chdir({:?})\n\
         open('started', 'w').close()\n\
         while not os.path.exists('replaced'):\n    time.sleep(0.01)\n\
         print('{{\"score\": 1.0}}')\n",
        directory.join("out").display()
    );
    directory.file("src/check.py", source);
    fs::create_dir(directory.join("out")).unwrap();
    let entry = |name: &str| {
        format!(
            "- {{name: {name}, type: code, path: src/check.py, executor: sandbox, \
             sandbox: {{write: [out]}}, isolation: process, timeout: 500}}\n"
        )
    };
    directory.file("c.yaml", format!("evaluators:\n{}{}", entry("a"), entry("b")));
    let mut command = Command::new(&program);
    command.args(["run", &trace("a01_otlp_basic_parts"), "-c", "c.yaml", "--jobs", "1"]);
    command.current_dir(directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let command = command.spawn().unwrap();
    wait_until("the first evaluation runs", || directory.join("out/started").exists());
    fs::remove_file(&program).unwrap();
    directory.file("out/replaced", "");
    let output = command.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Processes with this text in their command line.
pub(crate) fn running(text: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let has_text = |id: &String| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    let ids = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()) && has_text(id)).collect()
}

/// What a build script, a procedural macro and the program itself try. Returns the names of what worked.
const ATTEMPTS: &str = r#"
fn attempts(beside: &str) -> String {
    let mut done = String::new();
    if std::fs::read("@SECRET@").is_ok() {
        done.push_str("read!");
    }
    if std::fs::write(std::path::Path::new(beside).join("left"), "").is_ok() {
        done.push_str("write!");
    }
    if std::net::TcpStream::connect("127.0.0.1:@PORT@").is_ok() {
        done.push_str("connect!");
    }
    done
}
"#;

/// Answers one document or, as a worker, any number of them.
const RUST: &str = r#"
use std::io::{self, BufRead, Read};

fn main() {
    let answer = format!(
        "{{\"score\": 0.75, \"details\": {{\"done\": {:?}, \"built\": {:?}, \"process\": {}}}}}",
        attempts(env!("CARGO_MANIFEST_DIR")), BUILT, std::process::id(),
    );
    match std::env::args().nth(1).as_deref() {
        Some("--describe") => println!(
            "{{\"sdk\": \"none\", \"sdk_version\": \"0\", \"protocol_version\": \"1.1\", \"capabilities\": [\"stream\"], \"evaluators\": []}}"
        ),
        Some("--stream") => io::stdin().lock().lines().for_each(|_| println!("{answer}")),
        _ => {
            io::stdin().read_to_string(&mut String::new()).unwrap();
            println!("{answer}");
        }
    }
}
"#;

impl World {
    /// Writes a source that makes the attempts.
    fn rust(&self, name: &str, text: &str) {
        let secret = self.directory.join("secret").display().to_string();
        let port = self.server.local_addr().unwrap().port().to_string();
        let text =
            format!("{text}{ATTEMPTS}").replace("@SECRET@", &secret).replace("@PORT@", &port);
        self.directory.file(name, text);
    }

    /// A package whose build script and procedural macro make the attempts, too.
    fn package(&self) {
        let package = "[package]\nname = \"hostile\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        self.directory.file(
            "src/hostile/Cargo.toml",
            format!("{package}[dependencies]\nsnoop = {{ path = \"snoop\" }}\n[workspace]\n"),
        );
        self.directory.file(
            "src/hostile/snoop/Cargo.toml",
            format!("{package}[lib]\nproc-macro = true\n").replace("hostile", "snoop"),
        );
        self.rust(
            "src/hostile/build.rs",
            "fn main() { println!(\"cargo::rustc-env=SCRIPT={}\", attempts(env!(\"CARGO_MANIFEST_DIR\"))) }",
        );
        self.rust(
            "src/hostile/snoop/src/lib.rs",
            "#[proc_macro]\npub fn attempt(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n\
             format!(\"{:?}\", attempts(env!(\"CARGO_MANIFEST_DIR\"))).parse().unwrap() }\n",
        );
        let text =
            format!("const BUILT: [&str; 2] = [env!(\"SCRIPT\"), snoop::attempt!()];\n{RUST}");
        self.rust("src/hostile/src/main.rs", &text);
    }

    /// Runs the entries of the configuration that a name selects.
    fn run_rust(&self, prefix: &str) -> Value {
        let text = self.directory.read("c.yaml");
        let mine = text.lines().filter(|line| !line.contains("name: ") || line.contains(prefix));
        self.directory.file("mine.yaml", mine.collect::<Vec<_>>().join("\n"));
        let traces = trace("i11_five_traces_plain");
        let mut command =
            self.directory.command(&["run", &traces, "-c", "mine.yaml", "-o", "json"]);
        command.env("EVALUATOR_CACHE_DIR", self.directory.join("cache"));
        let ran = crate::support::finish(command.spawn().unwrap());
        ran.exits(0).json()
    }
}

#[test]
fn builds_and_rust_programs_are_contained() {
    let Some(world) = World::new() else { return };
    world.package();
    let snoop = world.directory.join("src/hostile/snoop");
    let lone = format!(
        "---\n[dependencies]\nsnoop = {{ path = {snoop:?} }}\n{}---\n\
         const BUILT: [&str; 1] = [snoop::attempt!()];\n{RUST}",
        world.directory.empty_dependencies()
    );
    world.rust("src/lone.rs", &lone);
    world.config(&["src/hostile", "src/lone.rs"], |_| "");
    let inside = world.run_rust("in ");
    assert_eq!(world.connections(), 0);
    let outside = world.run_rust("out ");
    assert!(world.connections() > 0);
    let all = "read!write!connect!";
    for (file, built) in [("src/hostile", 2), ("src/lone.rs", 1)] {
        let inside = evaluations(&inside, &format!("in {file}"));
        let outside = evaluations(&outside, &format!("out {file}"));
        assert_eq!((inside.len(), outside.len()), (5, 5));
        for ((score, details), done) in
            inside.iter().zip([""; 5]).chain(outside.iter().zip([all; 5]))
        {
            assert_eq!(*score, Some(0.75));
            assert_eq!(details["done"], done, "{file}: {details}");
            assert_eq!(details["built"], serde_json::json!(vec![done; built]), "{file}: {details}");
        }
        // One worker, which is process 2 or later of its sandbox, answers all documents.
        let processes: Vec<_> =
            inside.iter().map(|(_, details)| details["process"].as_u64()).collect();
        assert!(processes.iter().all(|it| *it < Some(1000)), "{processes:?}");
        assert!(processes.windows(2).any(|pair| pair[0] == pair[1]), "{processes:?}");
    }
}

/// A build backend without dependencies, which records in the package what was tried while it was built.
const BACKEND: &str = r#"import os, socket, zipfile
done = []
def attempt(name, action):
    try:
        action()
        done.append(name)
    except Exception as error:
        print(name, error)
attempt("read", lambda: open("@SECRET@").read())
attempt("write", lambda: open("@BESIDE@", "w").close())
attempt("connect", lambda: socket.create_connection(("127.0.0.1", @PORT@), 10).close())

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "tried-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.writestr("tried.py", "done = %r\n" % done)
        wheel.writestr("tried-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tried\nVersion: 1\n")
        wheel.writestr("tried-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tried-1.dist-info/RECORD", "")
    return name
"#;

/// A directory of the tests of requirements, in which this world's files are.
impl World {
    fn requirements(&self) -> bool {
        crate::requirements::make_wheels(self.directory.path())
    }

    fn evaluate(&self) -> Ran {
        crate::requirements::evaluate(&self.directory)
    }
}

#[test]
fn wheels_are_installed_in_a_sandbox_and_nothing_else() {
    let Some(world) = World::new() else { return };
    if !world.requirements() {
        return;
    }
    let text = "import json, sys, tiny\nprint(json.dumps({'score': tiny.score(), 'details': {'prefix': sys.prefix}}))\n";
    world.directory.file("src/check.py", text);
    world.directory.file("src/requirements.txt", "tiny >= 9\n");
    world.config(&["src/check.py"], |_| "");
    let report = world.evaluate().exits(0).json();
    let prefix = |name: &str| {
        let (score, details) = evaluations(&report, name).remove(0);
        assert_eq!(score, Some(0.75));
        details["prefix"].as_str().unwrap().to_owned()
    };
    let (inside, outside) = (prefix("in src/check.py"), prefix("out src/check.py"));
    assert_eq!(inside, format!("{outside}-contained"), "they share no environment");

    // What would run code is refused before anything is installed.
    world.directory.file("src/requirements.txt", "./package\n");
    let ran = world.evaluate().exits(3);
    let error = ran.error_of("in src/check.py");
    assert!(error.contains("may only name packages of the index"), "{error}");
}

#[test]
fn builds_of_python_packages_are_contained() {
    let Some(world) = World::new() else { return };
    if !world.requirements() {
        return;
    }
    let secret = world.directory.join("secret").display().to_string();
    let port = world.server.local_addr().unwrap().port().to_string();
    let beside = world.directory.join("src/left").display().to_string();
    let backend = BACKEND.replace("@SECRET@", &secret).replace("@PORT@", &port);
    world.directory.file("src/package/backend.py", backend.replace("@BESIDE@", &beside));
    world.directory.file(
        "src/package/pyproject.toml",
        "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n\
         [project]\nname = \"tried\"\nversion = \"1\"\n",
    );
    world.directory.file("src/requirements.txt", "./package\n");
    world.directory.file(
        "src/check.py",
        "import json, tried\nprint(json.dumps({'score': 0.75, 'details': {'done': tried.done}}))\n",
    );
    let entry =
        "{name: in, type: code, path: src/check.py, executor: sandbox, sandbox: {builds: true}}";
    world.directory.file("c.yaml", format!("evaluators:\n- {entry}\n"));
    let report = world.evaluate().exits(0).json();
    let (score, details) = evaluations(&report, "in").remove(0);
    assert_eq!((score, &details["done"]), (Some(0.75), &serde_json::json!([])));
    assert_eq!(world.connections(), 0);
    assert!(!world.directory.join("src/left").exists());
}

#[test]
fn check_names_the_directory_that_a_javascript_program_sees() {
    let Some(world) = World::new() else { return };
    if !has("node") {
        return;
    }
    world.directory.file("repository/package.json", "{}");
    world.directory.file("repository/evals/check.js", "");
    world.config(&["repository/evals/check.js"], |_| "");
    let ran = world.directory.evaluator(&["check", "c.yaml"]).exits(0);
    let package = world.directory.join("repository").display().to_string();
    let text = format!("needs all of its package {package} and JavaScript");
    assert!(ran.stdout.contains(&text), "{}", ran.stdout);
}

#[test]
fn own_tests_are_contained() {
    let Some(world) = World::new() else { return };
    let test = |path: &str, contain: &[&str]| {
        let mut command = world.directory.command(&[&["test"], contain, &[path]].concat());
        command.env("EVALUATOR_CACHE_DIR", world.directory.join("cache"));
        let ran = crate::support::finish(command.spawn().unwrap());
        assert!(ran.stderr.contains("1 test"), "{path}: {}{}", ran.stdout, ran.stderr);
        ran.code
    };
    let secret = world.directory.join("secret").display().to_string();
    let mut paths = vec!["own/rust"];
    let package =
        "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    world.directory.file("own/rust/Cargo.toml", package);
    world.directory.file(
        "own/rust/src/main.rs",
        format!("fn main() {{}}\n#[test]\nfn reads_nothing() {{ assert!(std::fs::read({secret:?}).is_err()) }}\n"),
    );
    if has("python3") {
        world.directory.file("own/check.py", "");
        world.directory.file(
            "own/test_check.py",
            format!(
                "import check, unittest\nclass Own(unittest.TestCase):\n    def test_reads_nothing(self):\n        \
                 self.assertRaises(OSError, open, {secret:?})\n"
            ),
        );
        paths.push("own/check.py");
    }
    if has("node") {
        world.directory.file("js/check.js", "");
        world.directory.file(
            "js/check.test.js",
            format!(
                "require('./check.js'); const test = require('node:test');\n\
                 test('reads nothing', () => require('assert').throws(() => require('fs').readFileSync({secret:?})));\n"
            ),
        );
        paths.push("js/check.js");
    }
    for path in paths {
        assert_eq!(test(path, &["--contain"]), Some(0), "{path}");
        assert_eq!(test(path, &[]), Some(1), "{path} reads the file without a sandbox");
    }
}
