//! Engines of their own for a test run, each with one image. Docker has a network in which there is only this machine.
//!
//! A shell starts the engine and ends it when its standard input ends, which it does when the tests end, however they end.

use std::{
    env, fs,
    io::{self, Write as _},
    net::Ipv4Addr,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use evaluator_test_support::{Output, has, run};
use rustix::process::{Pid, Signal, kill_process};

/// Name of the image of all tests.
pub(super) const IMAGE: &str = "evaluator-test:1";

/// Beginning of the names of directories of engines.
const PREFIX: &str = "evaluator-dockerd-";

/// Time for an engine to start.
const START: Duration = Duration::from_secs(180);

/// Ends the engine when standard input ends. `$1` is the directory, `$2` the network interface of the engine, the rest the
/// command.
const GUARD: &str = r#"
trap '' INT TERM HUP
directory=$1
interface=$2
shift 2
(trap - INT TERM HUP; exec "$@") </dev/null >"$directory/log" 2>&1 &
echo $! >"$directory/started"
cat >/dev/null
kill $! 2>/dev/null
wait $!
ip link del "$interface" 2>/dev/null
grep -o " $directory/[^ ]*" /proc/self/mounts | xargs -r umount --lazy
rm -rf "$directory"
"#;

/// Settings of Podman for machines without systemd, and without the right to raise limits.
const PODMAN: &str = r#"[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
[containers]
default_ulimits = ["nofile=256:256", "nproc=512:512"]
"#;

/// A running engine.
#[derive(Debug)]
pub(super) struct Engine {
    /// Its client.
    pub(super) client: &'static str,
    /// Address of this machine in the network of its containers; `None` if they have none.
    pub(super) address: Option<Ipv4Addr>,
    directory: PathBuf,
    /// Variables of its clients.
    variables: Vec<(&'static str, String)>,
    /// Its standard input keeps the engine running.
    _guard: Child,
}

/// Returns Docker for this test run; `None`, which is reported, where it cannot run. With `CONTAINER_TESTS=required` that is
/// a failure.
pub(super) fn docker() -> Option<&'static Engine> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    match ENGINE.get_or_init(Engine::start) {
        Ok(engine) => Some(engine),
        Err(reason) if env::var("CONTAINER_TESTS").is_ok_and(|value| value == "required") => {
            panic!("CONTAINER_TESTS=required: {reason}")
        }
        Err(reason) => {
            skip(&format!("{reason}; NOTHING is known of `executor: docker`"));
            None
        }
    }
}

/// Returns Podman for this test run; `None`, which is reported, where it cannot run.
pub(super) fn podman() -> Option<&'static Engine> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    let engine = ENGINE.get_or_init(Engine::podman);
    engine.as_ref().inspect_err(|reason| skip(&format!("Podman: {reason}"))).ok()
}

/// Reports what is not tested.
pub(super) fn skip(what: &str) {
    // Not captured by the harness.
    let _ = writeln!(io::stderr(), "\n!!! SKIPPED: {what}\n");
}

impl Engine {
    fn start() -> Result<Self, String> {
        require(&["docker", "dockerd", "busybox", "python3"])?;
        let mut problems = Vec::new();
        // The second one works on any file system, and is slow.
        for driver in ["overlay2", "vfs"] {
            match Self::start_with(driver).and_then(Self::with_image) {
                Ok(engine) => return Ok(engine),
                Err(problem) => problems.push(format!("{driver}: {problem}")),
            }
        }
        Err(format!("no engine starts: {}", problems.join("\n")))
    }

    /// Prepares Podman, which starts with each command.
    fn podman() -> Result<Self, String> {
        require(&["podman", "runc", "busybox", "python3"])?;
        let directory = directory("podman");
        let at = |name: &str| directory.join(name).display().to_string();
        fs::write(at("containers.conf"), PODMAN).unwrap();
        let storage = format!(
            "[storage]\ndriver = \"overlay\"\nrunroot = {:?}\ngraphroot = {:?}\n",
            at("run"),
            at("data")
        );
        fs::write(at("storage.conf"), storage).unwrap();
        let variables = vec![
            ("CONTAINERS_CONF", at("containers.conf")),
            ("CONTAINERS_STORAGE_CONF", at("storage.conf")),
        ];
        let guard = guard(&directory, "").arg("true").spawn().unwrap();
        Self { client: "podman", address: None, directory, variables, _guard: guard }.with_image()
    }

    fn start_with(driver: &str) -> Result<Self, String> {
        let directory = directory(driver);
        fs::create_dir(directory.join("config")).unwrap();
        let at = |name: &str| directory.join(name).display().to_string();
        let bridge = bridge();
        let interface = bridge.as_ref().map_or("none", |(name, _)| name);
        let mut guard = guard(&directory, interface);
        guard.args(["dockerd", "--data-root"]).args([
            at("data"),
            "--exec-root".to_owned(),
            at("exec"),
            "--pidfile".to_owned(),
            at("pid"),
        ]);
        guard.arg("-H").arg(format!("unix://{}", at("socket"))).args(["--storage-driver", driver]);
        guard.args(["--bridge", interface, "--iptables=false", "--ip6tables=false"]);
        guard.args(["--ip-forward=false", "--ip-masq=false"]);
        let variables = vec![
            ("DOCKER_CONFIG", at("config")),
            ("DOCKER_HOST", format!("unix://{}", at("socket"))),
        ];
        let address = bridge.as_ref().map(|(_, address)| *address);
        let guard = guard.spawn().unwrap();
        let engine = Self { client: "docker", address, directory, variables, _guard: guard };
        let start = Instant::now();
        while engine.docker(["info"]).code != Some(0) || !engine.answers() {
            let started = fs::read_to_string(engine.directory.join("started")).unwrap_or_default();
            let id = started.trim().parse().ok();
            if start.elapsed() > START || id.is_some_and(|id| owner(id).is_none()) {
                return Err(engine.log());
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(engine)
    }

    /// Clients exit with 0 although no engine answers.
    fn answers(&self) -> bool {
        !self.docker(["info", "--format", "{{.ServerVersion}}"]).stdout.trim().is_empty()
    }

    /// The end of what it printed.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(8).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn with_image(self) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/docker/image.py");
        let archive = self.directory.join("image.tar");
        let mut write = Command::new("python3");
        write.arg(script).arg(env!("CARGO_BIN_EXE_interop-fixture"));
        write.stdout(fs::File::create(&archive).unwrap());
        let status = write.status().unwrap();
        let imported = self.docker(["import", archive.to_str().unwrap(), IMAGE]);
        fs::remove_file(archive).unwrap();
        match imported.code {
            Some(0) if status.success() => {}
            _ => return Err(format!("its image ({status}): {}", imported.stderr)),
        }
        // An engine may answer and not be able to start anything.
        let tried = self.docker(["run", "--rm", "--network=none", "--memory=64m", IMAGE, "true"]);
        if tried.code == Some(0) { Ok(self) } else { Err(tried.stderr) }
    }

    /// Sets the variables by which clients find it.
    pub(super) fn name_to<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env_remove("DOCKER_CONTEXT").envs(self.variables.iter().cloned())
    }

    /// Runs a command of the client.
    pub(super) fn docker<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Output {
        run(self.name_to(Command::new(self.client).args(args)))
    }

    /// Names of all containers, also of those that do not run.
    pub(super) fn containers(&self) -> Vec<String> {
        let listed = self.docker(["ps", "--all", "--format", "{{.Names}}"]).exits(0);
        listed.stdout.lines().map(str::to_owned).collect()
    }
}

/// Checks what an engine needs, and removes what earlier engines have left.
fn require(programs: &[&str]) -> Result<(), String> {
    if let Some(missing) = programs.iter().find(|program| !has(program)) {
        return Err(format!("{missing} is not on PATH"));
    }
    if !rustix::process::getuid().is_root() {
        return Err("an engine needs root".to_owned());
    }
    remove_leftovers();
    Ok(())
}

/// Makes the directory of an engine.
fn directory(name: &str) -> PathBuf {
    let directory = env::temp_dir().join(format!("{PREFIX}{}-{name}", process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("owner"), owner(process::id()).unwrap()).unwrap();
    directory
}

/// The command that runs an engine, whose arguments are to be added.
fn guard(directory: &Path, interface: &str) -> Command {
    let mut guard = Command::new("sh");
    guard.args(["-c", GUARD, "guard"]).arg(directory).arg(interface);
    guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    guard
}

/// Makes a network interface with an address; `None` if that is not possible here. The guard removes it.
fn bridge() -> Option<(String, Ipv4Addr)> {
    let name = format!("evaluator{}", process::id() % 100_000);
    let address = Ipv4Addr::new(10, 213, (process::id() % 250) as u8, 1);
    let ip = |args: &str| {
        let ran = Command::new("ip").args(args.split(' ')).stderr(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    };
    let is_made = ip(&format!("link add {name} type bridge"))
        && ip(&format!("addr add {address}/24 dev {name}"))
        && ip(&format!("link set {name} up"));
    is_made.then_some((name, address))
}

/// Process id and start time of a process; `None` if it has ended.
fn owner(id: u32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = status.rsplit_once(')')?.1.split_ascii_whitespace();
    fields.next().filter(|state| *state != "Z")?;
    Some(format!("{id} {}", fields.nth(18)?))
}

/// Ends the engines of test runs that were killed together with their guard, and removes what they have left.
fn remove_leftovers() {
    let entries = fs::read_dir(env::temp_dir()).unwrap().flatten();
    let mine = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for directory in mine.map(|entry| entry.path()) {
        let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default();
        let known = text("owner");
        let id = known.split(' ').next().and_then(|id| id.parse().ok());
        if id.is_none() || id.and_then(owner) == Some(known) {
            continue;
        }
        let engine: Option<i32> = text("pid").trim().parse().ok();
        let line = engine.map(|id| fs::read_to_string(format!("/proc/{id}/cmdline")));
        let is_its = |line: String| line.contains(directory.to_str().unwrap());
        if line.and_then(Result::ok).is_some_and(is_its) {
            // It may end at the same moment.
            let _ = kill_process(Pid::from_raw(engine.unwrap()).unwrap(), Signal::TERM);
        } else {
            let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
            let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
            for point in points.filter(|point| Path::new(point).starts_with(&directory)) {
                run(Command::new("umount").args(["--lazy", point]));
            }
            // What cannot be removed does not disturb: each run has directories of its own.
            let _ = fs::remove_dir_all(&directory);
        }
    }
}
