//! Programs that ask models from a sandbox without network: they reach the proxy of their entry, and nothing else.
#![cfg(target_os = "linux")]

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::{
    containment::is_available,
    proxy::{FLOOD, MANY, ONE, PYTHON, WITH_CLIENT, good, metric, run},
    sandboxed::running,
    support::{
        Directory, has, kept_source,
        processes::{assert_gone, wait_until},
        trace,
    },
};

/// As many conversations as it takes for interpreters to be forked, and one more.
const FIVE: &str = "i11_five_traces_plain";

/// The configuration with these entries, all of them in a sandbox.
fn contained(entries: &str) -> String {
    format!(
        "judge: {{model: openai/judge}}\ndefaults: {{executor: sandbox}}\nevaluators:\n{entries}"
    )
}

fn can_run() -> bool {
    is_available() && has("python3")
}

const JAVASCRIPT: &str = r#"
const fs = require("fs");
const document = JSON.parse(fs.readFileSync(0, "utf8"));
fetch(process.env.AGENTV_TARGET_PROXY_URL + "/invoke", {
  method: "POST", body: JSON.stringify({ question: "Is it good?" }),
  headers: { Authorization: "Bearer " + process.env.AGENTV_TARGET_PROXY_TOKEN },
}).then((response) => response.json()).then((reply) => console.log(reply.rawText));
"#;

#[test]
fn programs_score_as_without_a_sandbox() {
    if !can_run() {
        return;
    }
    let directory = Directory::new();
    directory.file("src/asks.py", PYTHON);
    directory.file("src/asks.js", JAVASCRIPT);
    let with = kept_source("with", WITH_CLIENT);
    let mut entries = format!(
        "- {{name: fork, type: code, path: src/asks.py, target: {{max_calls: 2}}}}\n\
         - {{name: process, type: code, path: src/asks.py, target: {{}}, isolation: process}}\n\
         - {{name: worker, type: code, path: {with:?}, models: {{judge: openai/judge, max_calls: 2}}}}\n"
    );
    if has("node") {
        entries += "- {name: node, type: code, path: src/asks.js, target: {}, timeout: 120}\n";
    }
    let count = entries.lines().count();
    let [inside, outside] = [contained(&entries), contained(&entries).replace("sandbox", "local")]
        .map(|config| {
            let server = good();
            directory.file("c.yaml", config);
            let ran = run(&directory, &server, &[FIVE], &["-vv", "--jobs", "3"]).exits(0);
            assert_eq!(server.requests().len(), 5 * (count + 1));
            assert!(!ran.stderr.contains("a new process for every evaluation"), "{}", ran.stderr);
            ran
        });
    let said = "no network but the proxy of its models";
    assert!(inside.stderr.contains(said) && !outside.stderr.contains(said), "{}", inside.stderr);
    for conversation in 0..5 {
        for evaluator in 0..count {
            let of = |ran| metric(ran, conversation, evaluator);
            for key in ["score", "target_proxy", "warnings", "error"] {
                assert_eq!(of(&inside)[key], of(&outside)[key], "{key}: {}", of(&inside));
            }
            let containment = &of(&inside)["containment"];
            assert_eq!(
                (&containment["network"], &containment["proxy"]),
                (&json!(false), &json!(true))
            );
            assert_eq!(of(&outside)["containment"], Value::Null);
        }
    }
}

/// Runs the attacks in a fork: a program that names files of /proc itself would not be forked.
const FORKED: &str = r#"
import io, json, os, runpy, sys
document = sys.stdin.read()
sys.stdin = io.StringIO(document)
runpy.run_path(os.path.join(os.path.dirname(__file__), "attack.py"), run_name="__main__")
"#;

/// Tries everything that a program with a proxy must not do. `config` names what is outside.
const ATTACKS: &str = r#"
import ctypes, json, os, socket, struct, sys, urllib.error, urllib.parse, urllib.request

document = json.load(sys.stdin)
config = document["config"]
url = os.environ["AGENTV_TARGET_PROXY_URL"]
port = urllib.parse.urlparse(url).port
kept, done, failed = [], [], []

def attempt(name, action):
    try:
        action()
        done.append(name)
    except Exception as error:
        failed.append([name, str(error)])

def connect(host, port):
    return lambda: socket.create_connection((host, port), 5)

def made(*kind):
    return lambda: kept.append(socket.socket(*kind))

def bound(host, port, *options):
    def action():
        listener = socket.socket()
        kept.append(listener)
        for option in options:
            listener.setsockopt(socket.SOL_SOCKET, option, 1)
        listener.bind((host, port))
        listener.listen()
    return action

def ask(token):
    request = urllib.request.Request(url + "/invoke", data=b'{"question": "q"}',
        headers={"Authorization": "Bearer " + token})
    return urllib.request.urlopen(request, timeout=60).status

def status(token):
    try:
        return ask(token)
    except urllib.error.HTTPError as error:
        return error.code

def abstract(name):
    client = socket.socket(socket.AF_UNIX)
    kept.append(client)
    client.connect("\0" + name)

def listener_of_others():
    rows = [line.split() for line in open("/proc/net/tcp")][1:]
    listening = ["socket:[" + row[9] + "]" for row in rows if row[3] == "0A"]
    assert len(listening) == 1, rows
    for process in filter(str.isdigit, os.listdir("/proc")):
        directory = "/proc/" + process + "/fd/"
        try:
            links = [os.readlink(directory + fd) for fd in os.listdir(directory)]
        except OSError:
            continue
        if set(links) & set(listening):
            return
    raise OSError("no process has it")

def stolen(number):
    libc = ctypes.CDLL(None, use_errno=True)
    for process in (1, os.getppid()):
        pidfd = os.pidfd_open(process)
        for descriptor in range(3, 32):
            if libc.syscall(number, pidfd, descriptor, 0) >= 0:
                return
    raise OSError(ctypes.get_errno(), "pidfd_getfd")

def inherited():
    for fd in range(3, 256):
        try:
            socket.socket(fileno=os.dup(fd))
            return
        except OSError:
            pass
    raise OSError("none")

attempt("inherited", inherited)

attempt("host", connect("127.0.0.1", config["port"]))
attempt("model", connect("127.0.0.1", config["model"]))
attempt("metadata", connect("169.254.169.254", 80))
attempt("internet", connect("192.0.2.1", 443))
attempt("proxy of another address", connect("169.254.169.254", port))
attempt("other address of the machine", connect(config["address"], config["port"]))
attempt("IPv6", connect("::1", config["port"]))
attempt("name", lambda: socket.getaddrinfo("example.com", 80))
attempt("UDP", made(socket.AF_INET, socket.SOCK_DGRAM))
attempt("raw", made(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("multipath", made(socket.AF_INET, socket.SOCK_STREAM, 262))
attempt("SCTP", made(socket.AF_INET, socket.SOCK_STREAM, 132))
attempt("netlink", made(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("packet", made(socket.AF_PACKET, socket.SOCK_RAW))
for host in ("127.0.0.1", "0.0.0.0"):
    attempt("bind " + host, bound(host, port))
    attempt("bind again " + host, bound(host, port, socket.SO_REUSEADDR))
    attempt("share " + host, bound(host, port, socket.SO_REUSEPORT, socket.SO_REUSEADDR))
attempt("abstract", lambda: abstract(config["abstract"]))
attempt("descriptors", listener_of_others)
attempt("pidfd_getfd", lambda: stolen(438))
# Other ports of the sandbox, which no other process uses: refused where Landlock knows ports.
escaped, done = done, []
attempt("bind another port", bound("127.0.0.1", config["port"]))
attempt("bind any port", bound("127.0.0.1", 0))
attempt("bind another address", bound("127.0.0.2", port))
statuses = [status(os.environ["AGENTV_TARGET_PROXY_TOKEN"]), status(config["token"]), status("")]
print(json.dumps({"score": 1, "details": {"escaped": escaped, "bound": done, "failed": failed, "statuses": statuses}}))
"#;

#[test]
fn attacks_on_the_network_fail_with_a_proxy() {
    use std::os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    };

    if !can_run() {
        return;
    }
    let (directory, server) = (Directory::new(), good());
    let outside = TcpListener::bind("0.0.0.0:0").unwrap();
    outside.set_nonblocking(true).unwrap();
    let name = format!("proxied-test-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap());
    directory.file("src/attack.py", ATTACKS);
    let port = outside.local_addr().unwrap().port();
    let model = server.url();
    let model = model.rsplit(':').next().unwrap().split('/').next().unwrap();
    let config = format!(
        "config: {{port: {port}, model: {model}, address: 127.0.0.2, abstract: {name}, token: {}}}",
        "f".repeat(64)
    );
    directory.file("src/forked.py", FORKED);
    let entry = |name: &str, file: &str| {
        format!(
            "- {{name: {name}, type: code, path: src/{file}, target: {{}}, timeout: 300, {config}}}\n"
        )
    };
    let entries = entry("fork", "forked.py") + &entry("process", "attack.py");
    directory.file("c.yaml", contained(&entries));
    let ran = run(&directory, &server, &[FIVE], &["-v", "--jobs", "3"]).exits(0);
    assert!(!ran.stderr.contains("fork: a new process"), "{}", ran.stderr);
    for conversation in 0..5 {
        for evaluator in [0, 1] {
            let metric = metric(&ran, conversation, evaluator);
            let details = &metric["details"];
            assert_eq!(details["escaped"], json!([]), "{metric:#}");
            if metric["containment"]["landlock_abi"].as_u64() >= Some(4) {
                assert_eq!(details["bound"], json!([]), "{metric:#}");
                assert_eq!(details["failed"].as_array().unwrap().len(), 27, "{metric:#}");
            }
            assert_eq!(details["statuses"], json!([200, 401, 401]), "{metric:#}");
        }
    }
    assert!(outside.accept().is_err(), "nothing has connected");
    assert_eq!(server.requests().len(), 10);
}

/// Leaves its token for others, and asks with theirs.
const TOKENS: &str = r#"
import json, os, sys, time, urllib.error, urllib.request

document = json.load(sys.stdin)
own, other = document["config"]["own"], document["config"]["other"]

def status(token):
    request = urllib.request.Request(os.environ["AGENTV_TARGET_PROXY_URL"] + "/info",
        headers={"Authorization": "Bearer " + token})
    try:
        return urllib.request.urlopen(request, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code

def leave(name, text):
    with open("shared/new " + name, "w") as file:
        file.write(text)
    os.rename("shared/new " + name, "shared/" + name)

def wait(name):
    for _ in range(3000):
        if os.path.exists("shared/" + name):
            return open("shared/" + name).read()
        time.sleep(0.02)
    sys.exit("no " + name)

token = os.environ["AGENTV_TARGET_PROXY_TOKEN"]
leave(own, token)
statuses = [status(token), status(wait(other))]
leave(own + " done", "")
wait(other + " done")
print(json.dumps({"score": 1, "details": {"statuses": statuses}}))
"#;

#[test]
fn an_entry_does_not_reach_the_proxy_of_another() {
    if !can_run() {
        return;
    }
    let directory = Directory::new();
    directory.file("src/tokens.py", TOKENS);
    std::fs::create_dir(directory.join("shared")).unwrap();
    let entry = |own: &str, other: &str| {
        format!(
            "- {{name: {own}, type: code, path: src/tokens.py, target: {{max_calls: 3}}, cwd: ., timeout: 200, \
             sandbox: {{write: [shared]}}, config: {{own: {own}, other: {other}}}}}\n"
        )
    };
    directory.file("c.yaml", contained(&(entry("a", "b") + &entry("b", "a"))));
    let ran = run(&directory, &good(), &[ONE], &["--jobs", "2"]).exits(0);
    for evaluator in [0, 1] {
        let metric = metric(&ran, 0, evaluator);
        assert_eq!(metric["details"]["statuses"], json!([200, 401]), "{metric}");
    }
}

#[test]
fn floods_time_limits_and_retries_are_as_without_a_sandbox() {
    if !can_run() {
        return;
    }
    let directory = Directory::new();
    directory.file("src/flood.py", FLOOD);
    let endless = FLOOD.replace("print(json", "while True: send(head + b'{}')\nprint(json");
    directory.file("src/endless.py", endless);
    let dies = "\nif not os.path.exists('state/again'):\n    open('state/again', 'w')\n    os.kill(os.getpid(), 9)\nprint(";
    directory.file("src/dies.py", PYTHON.replace("\nprint(", dies));
    directory.file("src/asks.py", PYTHON);
    std::fs::create_dir(directory.join("state")).unwrap();
    directory.file(
        "c.yaml",
        contained(
            "- {name: flood, type: code, path: src/flood.py, target: {max_calls: 5}, timeout: 120}\n\
             - {name: endless, type: code, path: src/endless.py, target: {max_calls: 5}, timeout: 5}\n\
             - {name: dies, type: code, path: src/dies.py, target: {max_calls: 1}, retries: 2, cwd: ., sandbox: {write: [state]}}\n\
             - {name: asks, type: code, path: src/asks.py, target: {}}\n",
        ),
    );
    let ran = run(&directory, &good(), &[ONE], &[]).exits(3);
    let expected = ["flood PASSED", "endless ERROR timed_out", "dies PASSED", "asks PASSED"];
    assert_eq!(ran.evaluations(0), expected);
    for evaluator in [0, 1] {
        let asked = metric(&ran, 0, evaluator)["target_proxy"].clone();
        assert!(asked["call_count"].as_u64().unwrap() <= 5, "{asked}");
    }
    let dies = metric(&ran, 0, 2);
    assert_eq!((&dies["attempts"], &dies["target_proxy"]["call_count"]), (&json!(2), &json!(2)));
    assert_eq!(metric(&ran, 0, 3)["target_proxy"]["call_count"], 1);
}

#[test]
fn the_host_keeps_neither_descriptors_nor_threads_of_ended_sandboxes() {
    if !can_run() {
        return;
    }
    let directory = Directory::new();
    directory.file("src/asks.py", PYTHON);
    // Runs outside, as a child of the host, after the other one.
    directory.script(
        "count",
        "cat >/dev/null; set -- /proc/$PPID/fd/*; files=$#; set -- /proc/$PPID/task/*; \
         echo \"{\\\"score\\\": 1, \\\"details\\\": {\\\"files\\\": $files, \\\"threads\\\": $#}}\"",
    );
    directory.file(
        "c.yaml",
        contained(
            "- {name: asks, type: code, path: src/asks.py, target: {}, isolation: process}\n\
             - {name: count, type: code, path: ./count, executor: local}\n",
        ),
    );
    let ran = run(&directory, &good(), &[MANY], &["--jobs", "1"]).exits(0);
    for key in ["files", "threads"] {
        let counts: Vec<u64> =
            (0..15).map(|at| metric(&ran, at, 1)["details"][key].as_u64().unwrap()).collect();
        // The last sandboxes may still be ending.
        let most = counts.iter().skip(5).max().unwrap();
        assert!(*most <= counts[..5].iter().max().unwrap() + 6, "{key}: {counts:?}");
    }
}

#[test]
fn a_sandbox_that_serves_a_proxy_ends_with_its_host() {
    if !can_run() {
        return;
    }
    let directory = Directory::new();
    let server = good();
    directory
        .file("src/asks.py", PYTHON.replace("\nprint(", "\nimport time; time.sleep(600)\nprint("));
    directory.file(
        "c.yaml",
        contained("- {name: asks, type: code, path: src/asks.py, target: {}, timeout: 500}\n"),
    );
    let trace = trace(ONE);
    let args = ["run", &trace, "-c", "c.yaml"];
    let mut command = directory.command(&args);
    command.env("OPENAI_API_KEY", "sk-decoy").env("OPENAI_BASE_URL", server.url());
    let mut command = command.spawn().unwrap();
    wait_until("the program has asked", || server.requests().len() == 1);
    let source = directory.join("src/asks.py").display().to_string();
    let found = running(&source);
    assert!(found.len() >= 3, "{found:?}");
    command.kill().unwrap();
    command.wait().unwrap();
    found.iter().for_each(|process| assert_gone(process));
}

#[test]
fn the_partial_level_needs_network() {
    let directory = Directory::new();
    directory.script("asks", "echo '{\"score\": 1}'");
    directory.file(
        "c.yaml",
        contained(
            "- {name: asks, type: code, path: ./asks, target: {}, sandbox: {level: partial}}\n",
        ),
    );
    let ran = run(&directory, &good(), &[ONE], &[]).exits(2);
    let message = "a sandbox of `level: partial` reaches with network only";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
}
