//! `executor: docker` with a real engine: honest programs, programs that try to break out, and every way in which a container
//! could be left behind.
//!
//! `cargo test -p evaluator-tests --test it docker -- --ignored --test-threads=1` needs root, `docker.io` and
//! `busybox-static`. The engine and its image are made for the test run (see `engine`); nothing is downloaded.

mod engine;
mod package;

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    net::{TcpListener, TcpStream},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use engine::{Engine, IMAGE, docker, podman, skip};
use evaluator_test_support::{
    Output, TestDirectory, finish, processes::wait_until, recording::recording, run,
};
use serde_json::{Value, json};

/// Time limit of an evaluation that must not be reached: starts take long where an engine is busy.
const LONG: u64 = 500;

/// A test with its directory. Tests run one after the other.
struct Case {
    engine: &'static Engine,
    directory: TestDirectory,
    _turn: MutexGuard<'static, ()>,
}

impl Case {
    /// `None` where there is no Docker.
    fn new() -> Option<Self> {
        Self::of(docker)
    }

    /// `None` where there is no such engine.
    fn of(engine: fn() -> Option<&'static Engine>) -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let case = Self { engine: engine()?, directory: TestDirectory::new(), _turn: turn };
        // The user of the containers is another one.
        fs::set_permissions(case.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        case.directory.file("trace.json", recording([("What is up?", "The sky.")]));
        Some(case)
    }

    /// Copies the programs of a directory. Returns their paths.
    fn copy(&self, from: &Path, extensions: &[&str]) -> Vec<PathBuf> {
        let mut programs = Vec::new();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.extension().is_some_and(|it| extensions.contains(&it.to_str().unwrap())) {
                let name = format!("programs/{}", entry.file_name().to_str().unwrap());
                programs.push(self.directory.executable(&name, fs::read(&path).unwrap()));
            }
        }
        programs.sort();
        programs
    }

    /// Writes a configuration in which every program runs in a container, with these keys in `docker`.
    fn config(&self, settings: Value, evaluators: &[Value]) {
        let mut docker = json!({"image": IMAGE, "engine": self.engine.client});
        docker.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let config = json!({
            "defaults": {"executor": "docker", "docker": docker},
            "evaluators": evaluators,
        });
        self.directory.file("config.yaml", config.to_string());
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linked-command"));
        command.args(args).current_dir(self.directory.path());
        command.env("EVALUATOR_CACHE_DIR", self.directory.join("cache"));
        self.engine.name_to(&mut command).env("API_KEY_OF_TEST", "s3cret");
        command
    }

    /// Runs the configuration. Nothing of its containers is left.
    fn run(&self) -> Output {
        let args = ["run", "trace.json", "-c", "config.yaml", "-o", "json", "--jobs", "2"];
        let output = run(&mut self.command(&args));
        assert_eq!(self.engine.containers(), [""; 0], "{}", output.stderr);
        output
    }

    /// Starts the command, and waits until a container runs that is not among `others`.
    fn start(&self, others: &[String]) -> Child {
        let mut command = self.command(&["run", "trace.json", "-c", "config.yaml"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("a container runs", || {
            let running = self.engine.docker(["ps", "--format", "{{.Names}}"]).exits(0);
            running.stdout.lines().any(|name| !others.iter().any(|other| other == name))
        });
        child
    }
}

/// An entry of a configuration.
fn entry(path: &Path, more: Value) -> Value {
    let name = path.file_name().unwrap().to_str().unwrap().replace('.', "_");
    let mut entry = json!({"name": name, "type": "code", "path": path, "timeout": LONG});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

/// Results of the first conversation by the name of the evaluator.
fn results(output: &Output) -> BTreeMap<String, Value> {
    let json = output.json();
    let metrics = json["traces"][0]["metrics"].as_array().unwrap().clone();
    metrics.into_iter().map(|it| (it["metric_name"].as_str().unwrap().to_owned(), it)).collect()
}

/// Attacks that concern containers: all but those on the helper of sandboxes and those on builds.
const ATTACKS: [&str; 43] = [
    "bomb_descriptors",
    "bomb_disk",
    "bomb_fork",
    "bomb_memory_shared",
    "bomb_memory_stack",
    "bomb_memory_zero",
    "bomb_stack_limit",
    "bomb_threads",
    "fd_inherited",
    "fs_attributes",
    "fs_home_dotfiles",
    "fs_lease",
    "fs_link",
    "fs_list_home",
    "fs_open_by_handle",
    "fs_pycache_poison",
    "fs_raw_disk",
    "fs_setuid_create",
    "fs_system_persist",
    "fs_venv_poison",
    "fs_watch",
    "fs_write_own_source",
    "fs_xattr",
    "ipc_posix",
    "life_daemon",
    "life_huge_output",
    "net_families",
    "net_listen",
    "net_tcp_loopback",
    "net_unix_abstract",
    "node_read_secret",
    "proc_other_inputs",
    "proc_other_limits",
    "proc_ptrace_host",
    "proc_self_mem_text",
    "sh_background",
    "sig_host",
    "sys_capabilities",
    "sys_keyring",
    "sys_landlock",
    "sys_new_sandbox",
    "sys_setuid_program",
    "sys_userns_root",
];

fn probes(kind: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("sandbox/tests/fixtures/probes").join(kind)
}

#[test]
#[ignore = "needs an engine"]
fn honest_programs_have_the_results_that_they_have_without() {
    let Some(case) = Case::new() else { return };
    honest(&case);
}

fn honest(case: &Case) {
    let extensions = if evaluator_test_support::has("node") { &["py", "js"][..] } else { &["py"] };
    let programs = case.copy(&probes("honest"), extensions);
    assert!(programs.len() > 8, "{programs:?}");
    let entries: Vec<Value> = programs.iter().map(|it| entry(it, json!({}))).collect();
    case.config(json!({}), &entries);
    let output = case.run();
    let scores: Vec<String> = results(&output)
        .values()
        .filter(|result| result["score"] != 1.0)
        .map(Value::to_string)
        .collect();
    assert!(scores.is_empty(), "{}\n{}", scores.join("\n"), output.stderr);
    output.exits(0);
}

/// Files and directories below a directory, each with what a change changes.
fn snapshot(root: &Path) -> BTreeMap<PathBuf, (u64, u32, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut unread = vec![root.to_owned()];
    while let Some(directory) = unread.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let about = entry.metadata().unwrap();
            let state = (about.size(), about.mode(), about.mtime(), about.mtime_nsec());
            found.insert(entry.path(), state);
            if about.is_dir() {
                unread.push(entry.path());
            }
        }
    }
    found
}

#[test]
#[ignore = "needs an engine"]
fn programs_that_try_to_break_out_stay_inside() {
    let Some(case) = Case::new() else { return };
    attacks(&case);
}

fn attacks(case: &Case) {
    let extensions =
        if evaluator_test_support::has("node") { &["py", "js", "sh"][..] } else { &["py", "sh"] };
    let mut programs = case.copy(&probes("attack"), extensions);
    programs.retain(|it| ATTACKS.contains(&it.file_stem().unwrap().to_str().unwrap()));
    assert!(programs.len() + 1 >= ATTACKS.len(), "{programs:?}");
    // Files to read, sockets to connect to and processes to signal; they go when its standard input ends.
    let mut world = Command::new("python3");
    world.arg(probes("world.py")).arg("--print-config").stdin(Stdio::piped());
    let mut world = world.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(world.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let decoys: Value = serde_json::from_str(&line).unwrap();
    let home = Path::new(decoys["home"].as_str().unwrap());
    let tools = home.parent().unwrap().join("tools");
    let before = snapshot(home.parent().unwrap());
    let limits = json!({"memory": "256MiB", "open_files": 256});
    let more = json!({"config": decoys, "limits": limits});
    let entries: Vec<Value> = programs.iter().map(|it| entry(it, more.clone())).collect();
    case.config(json!({"read": [tools]}), &entries);
    let output = case.run();
    let after = snapshot(home.parent().unwrap());
    drop(world.stdin.take());
    finish(world).exits(0);
    assert_eq!(after, before);
    let results = results(&output);
    assert_eq!(results.len(), programs.len());
    let is_wrong = |result: &&Value| {
        let details = &result["details"];
        let is_set_up = details["skipped"] != true;
        let is_inside = details["escaped"] == false || result["error_type"].is_string();
        !(is_set_up && is_inside)
    };
    let wrong: Vec<String> = results.values().filter(is_wrong).map(Value::to_string).collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), output.stderr);
    // That they are blocked must not be due to a container that does not start.
    let answered = results.values().filter(|result| result["details"]["escaped"] == false);
    assert!(answered.count() + 4 >= results.len(), "{results:#?}");
}

#[test]
#[ignore = "needs an engine"]
fn a_program_that_answers_line_by_line_keeps_its_container() {
    let Some(case) = Case::new() else { return };
    let turns = [("What is up?", "The sky."); 30];
    case.directory.file("trace.json", recording(turns));
    fs::create_dir(case.directory.join("programs")).unwrap();
    let program = case.directory.join("programs/judge");
    fs::copy(env!("CARGO_BIN_EXE_interop-fixture"), &program).unwrap();
    case.config(json!({}), &[entry(&program, json!({}))]);
    let since = case.engine.docker(["info", "--format", "{{.SystemTime}}"]).exits(0);
    let output = case.run().exits(0);
    let until = case.engine.docker(["info", "--format", "{{.SystemTime}}"]).exits(0);
    let traces = output.json()["traces"].as_array().unwrap().clone();
    assert_eq!(traces.len(), turns.len());
    for trace in traces {
        assert_eq!(trace["metrics"][0]["score"], 1.0, "{trace}");
    }
    let (since, until) = (since.stdout.trim(), until.stdout.trim());
    let events = case
        .engine
        .docker(["events", "--since", since, "--until", until, "--filter", "event=create"])
        .exits(0);
    let started = events.stdout.lines().filter(|line| line.contains("evaluator.")).count();
    assert!((1..turns.len()).contains(&started), "{started}: {}", events.stdout);
}

#[test]
#[ignore = "needs an engine"]
fn faults_are_reported_as_without_a_container() {
    let Some(case) = Case::new() else { return };
    let python =
        |name: &str, text: &str| case.directory.executable(&format!("programs/{name}.py"), text);
    let hang = "import signal, time\n\
                for each in (signal.SIGTERM, signal.SIGINT): signal.signal(each, signal.SIG_IGN)\n\
                time.sleep(3000)\n";
    let programs = [
        (python("exits", "import sys\nsys.exit(3)\n"), json!({})),
        // The number by which engines report errors of their own.
        (python("exits_125", "import sys\nsys.exit(125)\n"), json!({})),
        (
            python("segfaults", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"),
            json!({}),
        ),
        (
            python("eats", "x = [bytearray(1 << 20) for _ in range(2000)]\n"),
            json!({"limits": {"memory": "64MiB"}}),
        ),
        (python("hangs", hang), json!({"timeout": 1})),
        (python("refused", ""), json!({"limits": {"memory": "1MiB"}})),
        (case.directory.executable("programs/foreign", "#!/no/such/interpreter\n"), json!({})),
    ];
    let entries: Vec<Value> =
        programs.iter().map(|(path, more)| entry(path, more.clone())).collect();
    case.config(json!({}), &entries);
    let output = case.run();
    let results = results(&output);
    let kind = |name: &str| results[name]["error_type"].as_str().unwrap_or("none").to_owned();
    let error = |name: &str| results[name]["error"].as_str().unwrap_or_default().to_owned();
    assert_eq!(kind("exits_py"), "exited", "{results:#?}");
    assert_eq!(kind("exits_125_py"), "exited", "{results:#?}");
    assert_eq!(kind("segfaults_py"), "signalled", "{results:#?}");
    assert_eq!(kind("eats_py"), "signalled", "{results:#?}");
    assert_eq!(kind("hangs_py"), "timed_out", "{results:#?}");
    assert_eq!(kind("foreign"), "exited", "{results:#?}");
    assert!(error("foreign").contains("No such file or directory"), "{results:#?}");
    assert_eq!(kind("refused_py"), "spawn_failed", "{results:#?}");
    assert!(error("refused_py").contains("inimum memory limit"), "{results:#?}");
    output.exits(3);
}

#[test]
#[ignore = "needs an engine"]
fn what_the_image_lacks_is_an_error_before_the_start() {
    let Some(case) = Case::new() else { return };
    let source = "import json\nprint(json.dumps({'score': 1.0}))\n";
    let needs = case.directory.executable("programs/needs/check.py", source);
    case.directory.file("programs/needs/requirements.txt", "requests>=2\n");
    let program = case.directory.executable("programs/plain.py", source);
    let absent = json!({"name": "absent", "docker": {"image": "no-such-image:1"}});
    case.config(json!({}), &[entry(&needs, json!({})), entry(&program, absent)]);
    let output = case.run().exits(3);
    let error = output.error_of("check_py");
    assert!(
        error.contains("it lacks requests>=2 (requirements.txt)")
            || error.contains("'requests>=2'"),
        "{error}"
    );
    let error = output.error_of("absent");
    assert!(error.contains("docker pull no-such-image:1"), "{error}");
    let checked = run(&mut case.command(&["check", "config.yaml"]));
    assert_ne!(checked.code, Some(0), "{}", checked.stdout);
}

#[test]
#[ignore = "needs an engine"]
fn the_entry_decides_what_a_program_sees_and_changes() {
    let Some(case) = Case::new() else { return };
    let source = "import json, os, sys\n\
                  config = json.load(sys.stdin)['config']\n\
                  open(config['kept'] + '/kept', 'w').write(open(config['words']).read())\n\
                  try: open(config['words'], 'a')\n\
                  except OSError as error: readonly = error.errno == 30\n\
                  print(json.dumps({'score': 1.0, 'details': {'env': dict(os.environ), 'readonly': readonly}}))\n";
    let program = case.directory.executable("programs/check.py", source);
    let words = case.directory.file("data, \"more\"/words", "x");
    // Its user may write to it, so what refuses it is the container.
    fs::set_permissions(&words, fs::Permissions::from_mode(0o666)).unwrap();
    let kept = case.directory.join("kept here");
    fs::create_dir(&kept).unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o777)).unwrap();
    let more = json!({"config": {"kept": kept, "words": words}, "env": ["API_KEY_OF_TEST"]});
    let settings = json!({"read": [words.parent()], "write": [kept]});
    case.config(settings, &[entry(&program, more)]);
    let output = case.run().exits(0);
    let details = results(&output)["check_py"]["details"].clone();
    assert_eq!(details["readonly"], true, "{details}");
    assert_eq!(details["env"]["API_KEY_OF_TEST"], "s3cret", "{details}");
    assert!(details["env"]["DOCKER_HOST"].is_null(), "{details}");
    assert_eq!(case.directory.read("kept here/kept"), "x");
}

/// A program that never ends, whatever happens to its standard input.
fn endless(case: &Case) {
    let hang = "import signal, time\n\
                for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(each, signal.SIG_IGN)\n\
                while True: time.sleep(3000)\n";
    let program = case.directory.executable("programs/endless.py", hang);
    case.config(json!({}), &[entry(&program, json!({}))]);
}

#[test]
#[ignore = "needs an engine"]
fn targets_and_graders_of_eval_files_run_in_containers() {
    let Some(case) = Case::new() else { return };
    case.directory.file("note", "Paris");
    // The shell is that of the image, not a file of the working directory.
    case.directory.file("sh", "exit 1");
    case.directory.file(
        "judge.py",
        "import os\nopen('note')\nprint('{\"score\": %d}' % (not os.path.exists('/usr/share')))\n",
    );
    let agent = "case \"$(readlink /proc/$$/exe)\" in *busybox) cat note {PROMPT_FILE} > {OUTPUT_FILE};; esac; ! touch ran";
    let targets = json!({"targets": [{"name": "default", "provider": "cli", "command": agent}]});
    case.directory.file("targets.yaml", targets.to_string());
    let suite = json!({
        "execution": {"executor": "docker", "docker": {"image": IMAGE, "engine": case.engine.client}},
        "tests": [{"id": "one", "criteria": "x", "input": "it's asked", "assertions": [
            {"type": "equals", "value": "Parisit's asked"},
            {"name": "shell", "type": "code-grader", "command": "grep -q Paris note && ! touch ran && echo '{\"score\": 1}'"},
            {"name": "python", "type": "code-grader", "command": ["python3", "judge.py"]},
        ]}],
    });
    case.directory.file("e.yaml", suite.to_string());
    let output = run(&mut case.command(&["run", "e.yaml", "-v"]));
    assert_eq!(case.engine.containers(), [""; 0], "{}", output.stderr);
    output.exits(0);
}

#[test]
#[ignore = "needs an engine"]
fn a_cancelled_run_leaves_no_container() {
    let Some(case) = Case::new() else { return };
    cancelled(&case);
}

fn cancelled(case: &Case) {
    endless(case);
    for signal in ["INT", "TERM"] {
        let child = case.start(&[]);
        assert!(evaluator_test_support::processes::signal(signal, &child.id().to_string()));
        finish(child);
        assert_eq!(case.engine.containers(), [""; 0], "{signal}");
    }
}

#[test]
#[ignore = "needs an engine"]
fn containers_of_a_killed_host_go_at_the_next_start_and_no_others() {
    let Some(case) = Case::new() else { return };
    endless(&case);
    // Containers of others: one without our label, one of another machine, one of a host that still runs.
    let foreign = "evaluator.0123456789ab.0.999999999.1.1";
    for name in ["somebody", foreign] {
        let args = [
            "create",
            "--name",
            name,
            "--label",
            "evaluator.host=x",
            "--network=none",
            IMAGE,
            "true",
        ];
        case.engine.docker(args).exits(0);
    }
    let others = ["somebody".to_owned(), foreign.to_owned()];
    let other = case.start(&others);
    let others = case.engine.containers();
    let mut killed = case.start(&others);
    let orphans: Vec<String> =
        case.engine.containers().into_iter().filter(|it| !others.contains(it)).collect();
    assert_eq!(orphans.len(), 1, "{orphans:?}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    run(&mut case.command(&["check", "config.yaml"])).exits(0);
    let mut left = case.engine.containers();
    left.retain(|name| !others.contains(name));
    assert_eq!(left, [""; 0]);
    assert_eq!(case.engine.containers().len(), others.len());
    assert!(evaluator_test_support::processes::signal("INT", &other.id().to_string()));
    finish(other);
    for name in ["somebody", foreign] {
        case.engine.docker(["rm", "--force", name]).exits(0);
    }
    assert_eq!(case.engine.containers(), [""; 0]);
}

#[test]
#[ignore = "needs an engine"]
fn podman_runs_honest_programs() {
    if let Some(case) = Case::of(podman) {
        honest(&case);
    }
}

#[test]
#[ignore = "needs an engine"]
fn podman_keeps_programs_inside() {
    if let Some(case) = Case::of(podman) {
        attacks(&case);
    }
}

#[test]
#[ignore = "needs an engine"]
fn podman_leaves_no_container_of_a_cancelled_run() {
    if let Some(case) = Case::of(podman) {
        cancelled(&case);
    }
}

#[test]
#[ignore = "needs an engine"]
fn only_programs_with_network_reach_this_machine() {
    let Some(case) = Case::new() else { return };
    let Some(address) = case.engine.address else {
        return skip("no network interface can be made; NOTHING is known of `network: true`");
    };
    let server = TcpListener::bind((address, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let source = "import json, socket, sys\n\
                  config = json.load(sys.stdin)['config']\n\
                  try: socket.create_connection((config['address'], config['port']), 60)\n\
                  except OSError as error: print(json.dumps({'score': 0.0, 'details': {'error': str(error)}}))\n\
                  else: print(json.dumps({'score': 1.0}))\n";
    let program = case.directory.executable("programs/connects.py", source);
    let entry = |name: &str, network: bool| {
        let config = json!({"address": address, "port": port});
        entry(&program, json!({"name": name, "config": config, "docker": {"network": network}}))
    };
    case.config(json!({}), &[entry("open", true), entry("closed", false)]);
    let output = case.run();
    for (name, network) in [("open", true), ("closed", false)] {
        let result = &results(&output)[name];
        assert_eq!(result["score"], if network { 1.0 } else { 0.0 }, "{result}");
        assert_eq!(result["containment"]["network"], network, "{result}");
    }
}

#[test]
#[ignore = "needs an engine"]
fn volumes_of_an_image_are_temporary_directories_with_a_limit() {
    let Some(case) = Case::new() else { return };
    let (image, container) = ("evaluator-test-volume:1", "evaluator-test-volume");
    case.engine.docker(["create", "--name", container, IMAGE, "true"]).exits(0);
    let change = ["commit", "--change", r#"VOLUME ["/data", "/tmp"]"#, container, image];
    case.engine.docker(change).exits(0);
    case.engine.docker(["rm", container]).exits(0);
    let source = "import json, os, sys\n\
                  sys.stdin.read()\n\
                  written = 0\n\
                  try:\n\
                  \x20   with open('/data/file', 'wb', 0) as file:\n\
                  \x20       while written < 8 << 20: written += file.write(bytes(65536))\n\
                  except OSError as error: pass\n\
                  print(json.dumps({'score': float(0 < written <= 1 << 20), 'details': {'written': written}}))\n";
    let program = case.directory.executable("programs/writes.py", source);
    case.config(json!({"image": image, "tmp": "1MiB"}), &[entry(&program, json!({}))]);
    let result = results(&case.run())["writes_py"].clone();
    assert_eq!(result["score"], 1.0, "{result}");
    let volumes = case.engine.docker(["volume", "ls", "--quiet"]).exits(0);
    assert_eq!(volumes.stdout, "", "nothing is left");
    case.engine.docker(["rmi", image]).exits(0);
}

#[test]
#[ignore = "needs an engine"]
fn a_missing_image_is_pulled_only_if_the_entry_says_so() {
    let Some(case) = Case::new() else { return };
    if !evaluator_test_support::has("docker-registry") {
        return skip("docker-registry is not on PATH; NOTHING is known of `pull: missing`");
    }
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let registry = json!({
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": case.directory.join("registry")}},
        "http": {"addr": address.to_string()},
    });
    let settings = case.directory.file("registry.yaml", registry.to_string());
    let mut registry = Command::new("docker-registry");
    registry.arg("serve").arg(settings).stdout(Stdio::null()).stderr(Stdio::null());
    let mut registry = registry.spawn().unwrap();
    wait_until("a registry that listens", || TcpStream::connect(address).is_ok());
    let image = format!("{address}/evaluators:1");
    let busybox = case.directory.sh(
        "mkdir -p root/bin && cp \"$(command -v busybox)\" root/bin && ln -s busybox root/bin/sh && \
         ln -s busybox root/bin/cat && tar -C root -cf root.tar .",
    );
    busybox.exits(0);
    let archive = case.directory.join("root.tar");
    case.engine.docker(["import", archive.to_str().unwrap(), &image]).exits(0);
    case.engine.docker(["push", &image]).exits(0);
    case.engine.docker(["rmi", &image]).exits(0);
    let program = case
        .directory
        .executable("programs/check", "#!/bin/sh\ncat >/dev/null\necho '{\"score\": 1}'\n");
    let entry = |pull: &str| entry(&program, json!({"docker": {"image": image, "pull": pull}}));
    case.config(json!({}), &[entry("never")]);
    let error = case.run().exits(3).error_of("check");
    assert!(error.contains(&format!("docker pull {image}")), "{error}");
    case.config(json!({}), &[entry("missing")]);
    let output = case.run().exits(0);
    assert_eq!(results(&output)["check"]["score"], 1.0);
    case.engine.docker(["rmi", &image]).exits(0);
    registry.kill().unwrap();
    registry.wait().unwrap();
}

/// Says whether it runs in a container.
const RUST: &str = r#"fn main() {
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    let score = u8::from(std::path::Path::new("/.dockerenv").exists());
    println!("{{\"score\": {score}}}");
}
"#;

#[test]
#[ignore = "needs an engine"]
fn rust_sources_are_built_on_this_machine_and_run_in_the_container() {
    let Some(case) = Case::new() else { return };
    case.directory.file(
        "package/Cargo.toml",
        "[package]\nname = \"inside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    case.directory.file("package/src/main.rs", RUST);
    case.config(json!({}), &[entry(&case.directory.join("package"), json!({}))]);
    let output = case.run().exits(0);
    assert_eq!(results(&output)["package"]["score"], 1.0);
}
