//! The decoys that programs attack, and the command next to them, as one user.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
};

use serde_json::{Map, Value, json};

use super::probes::{self, Probe, Way};
use crate::support::{Directory, Ran, finish, trace};

/// A user without privileges, whom every system has.
const UNPRIVILEGED: u32 = 65534;

/// Beginning of the names of processes that attacks leave behind.
const MARKER: &str = "evaluator-probe-";

/// The trace id in the trace file.
const TRACE_ID: &str = "e847dad403e53610ae87e6c273a96009";

/// What starts another program.
const START: &str = include_str!("programs/start.rs");

/// The program that runs another one in the interpreter of a fork.
const FORKED: &str = "import io, json, runpy, sys
text = sys.stdin.read()
sys.stdin = io.StringIO(text)
runpy.run_path(json.loads(text)['config']['probe'], run_name='__main__')
";

/// The user who runs the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    /// The user of the test.
    Own,
    Unprivileged,
}

impl User {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Own => "own user",
            Self::Unprivileged => "uid 65534",
        }
    }

    pub(super) fn is_root(self) -> bool {
        self == Self::Own && fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
    }

    fn command(self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        #[expect(clippy::disallowed_methods, reason = "this is what is tested")]
        let mut command = Command::new(program);
        if self == Self::Unprivileged {
            command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        }
        command
    }
}

/// Returns the users that attacks can be tried as.
pub(super) fn users() -> Vec<User> {
    let mut users = vec![User::Own];
    if User::Own.is_root() {
        users.push(User::Unprivileged);
    } else {
        skip("attacks as root and as uid 65534: only root can become another user");
    }
    users.retain(|user| {
        let has_python = python(*user).is_some();
        if !has_python {
            skip(&format!("attacks as {}: there is no Python for this user", user.name()));
        }
        has_python
    });
    users
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(super) fn skip(what: &str) {
    eprintln!("SKIPPED: {what}");
}

/// Returns an interpreter that the user can start, without shims, and the directories of its environment and installation.
fn python(user: User) -> Option<(PathBuf, Vec<PathBuf>)> {
    ["python3", "/usr/bin/python3"].into_iter().find_map(|name| {
        let code =
            "import ctypes, sys; print(sys.executable, sys.prefix, sys.base_prefix, sep='\\n')";
        let asked = user.command(name).args(["-c", code]).current_dir("/").output().ok()?;
        let text = String::from_utf8(asked.stdout).ok()?;
        let mut lines = text.lines().map(PathBuf::from);
        let (executable, mut prefixes) = (lines.next()?, lines.collect::<Vec<_>>());
        prefixes.dedup();
        // The test may be able to find one that the user cannot start.
        let started =
            user.command(&executable).args(["-c", code]).current_dir("/").output().ok()?;
        started.status.success().then_some((executable, prefixes))
    })
}

/// Decoys of one user, with copies of the command and of the programs that the user may read.
pub(super) struct World {
    pub(super) user: User,
    /// Where the decoys are, for the programs.
    pub(super) config: Map<String, Value>,
    directory: Directory,
    decoys: Child,
    python: PathBuf,
    /// Directories of the environment and of the installation of Python.
    pub(super) python_prefixes: Vec<PathBuf>,
    marker: String,
}

impl Drop for World {
    fn drop(&mut self) {
        // The end of its input ends it, and it removes the decoys.
        drop(self.decoys.stdin.take());
        let _ = self.decoys.wait();
    }
}

impl World {
    pub(super) fn start(user: User) -> Self {
        let directory = Directory::new();
        let (python, python_prefixes) = python(user).unwrap();
        let name = directory.path().file_name().unwrap().to_str().unwrap();
        let marker = format!("{MARKER}{}-", name.replace('.', ""));
        copy(&probes::directory(), &directory.join("probes"), &marker);
        for name in ["home", "cache", "traces"] {
            fs::create_dir(directory.join(name)).unwrap();
        }
        let start = START.replace("PYTHON", python.to_str().unwrap());
        directory.file("driver.rs", include_str!("programs/driver.rs"));
        directory.file("start.rs", &start);
        compile(&directory.join("driver.rs"), &directory.join("driver"));
        write_package(&directory, &marker, &start);
        directory.file("forked.py", FORKED);
        write_traces(&directory);
        open_to(directory.path(), user);
        // Large. Behind the change of owners, since it may be the same file.
        let (command, copied) = (env!("CARGO_BIN_EXE_evaluator"), directory.join("evaluator"));
        fs::hard_link(command, &copied).or_else(|_| fs::copy(command, &copied).map(drop)).unwrap();
        let mut command = user.command(&python);
        command.arg(directory.join("probes/world.py")).arg("--print-config").current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut decoys = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(decoys.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let mut config: Map<String, Value> = serde_json::from_str(&line).unwrap();
        config.insert("marker".to_owned(), format!("{marker}daemon").into());
        Self { user, config, directory, decoys, python, python_prefixes, marker }
    }

    /// Root of the decoys.
    fn root(&self) -> PathBuf {
        Path::new(self.config["home"].as_str().unwrap()).parent().unwrap().to_owned()
    }

    /// Directory with a set-uid program.
    pub(super) fn tools(&self) -> PathBuf {
        self.root().join("tools")
    }

    /// The copy of a program; those in Rust are compiled.
    pub(super) fn probe(&self, probe: &Probe) -> PathBuf {
        let kind = probe.source.parent().unwrap().file_name().unwrap();
        let file = self.directory.join("probes").join(kind).join(&probe.name);
        if file.extension().is_some_and(|it| it == "rs") { file.with_extension("") } else { file }
    }

    pub(super) fn driver(&self) -> PathBuf {
        self.directory.join("driver")
    }

    /// Writes which attacks the package starts while it is built, and returns its main file.
    pub(super) fn package(&self, probes: &[&Probe]) -> PathBuf {
        let path = |probe: &&Probe| {
            let file = self.directory.join("package/attack").join(&probe.name);
            let file = if probe.name.ends_with(".rs") { file.with_extension("") } else { file };
            format!("{}\n", file.display())
        };
        self.file("package/programs", &probes.iter().map(path).collect::<String>());
        let document = json!({"metric_name": "probe", "invocations": [], "config": self.config});
        self.file("package/document.json", &document.to_string());
        self.directory.join("package/src/main.rs")
    }

    /// Returns true if the user can start cargo.
    pub(super) fn has_cargo(&self) -> bool {
        let own = self.directory.join("rust");
        // Not when the world starts: the links are to files of the toolchain itself, which keep their owner.
        if self.user == User::Unprivileged && !own.exists() {
            link_all(&toolchain(), &own);
        }
        let mut cargo = self.user.command("cargo");
        cargo.arg("--version").current_dir("/").envs(self.rust_variables());
        cargo.output().is_ok_and(|output| output.status.success())
    }

    /// Variables by which the user finds the tools of Rust, which do not depend on the home directory of the command.
    fn rust_variables(&self) -> Vec<(&'static str, OsString)> {
        if self.user == User::Unprivileged {
            // Those of the test may be below a home directory that this user cannot enter.
            let inherited = env::var_os("PATH").unwrap_or_default();
            let path = [self.directory.join("rust/bin")].into_iter();
            let path = env::join_paths(path.chain(env::split_paths(&inherited))).unwrap();
            return vec![("PATH", path), ("CARGO_HOME", self.directory.join("cache/cargo").into())];
        }
        let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
        [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")]
            .map(|(variable, name)| {
                (variable, env::var_os(variable).unwrap_or_else(|| home.join(name).into()))
            })
            .into()
    }

    pub(super) fn forked(&self) -> PathBuf {
        self.directory.join("forked.py")
    }

    /// Writes a file, and returns its path.
    pub(super) fn file(&self, name: &str, text: &str) -> String {
        let file = self.directory.file(name, text);
        open_to(&file, self.user);
        file.to_str().unwrap().to_owned()
    }

    /// Returns the directory with as many traces as a way needs.
    pub(super) fn traces(&self, way: Way) -> String {
        let directory = self.directory.join(format!("traces/{}", way.conversations()));
        directory.to_str().unwrap().to_owned()
    }

    /// Runs the command, with a descriptor of the secret.
    pub(super) fn evaluator(&self, args: &[&str]) -> Ran {
        let secret = self.config["secret_file"].as_str().unwrap();
        let mut command = self.user.command("sh");
        command.args(["-c", r#"exec 9<"$0"; exec "$@""#, secret]);
        command.arg(self.directory.join("evaluator")).args(args);
        let token = self.config["env_token"].as_str().unwrap();
        command
            .current_dir(self.directory.path())
            .envs(self.rust_variables())
            .env("HOME", self.directory.join("home"))
            .env("EVALUATOR_CACHE_DIR", self.directory.join("cache"))
            .env("EVALUATOR_PYTHON", &self.python)
            .env("DECOY_UNKNOWN_NAME", token)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        finish(command.spawn().unwrap())
    }

    /// Names, sizes, modes and times of all decoys and programs.
    pub(super) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.add(&self.root());
        snapshot.add(&self.directory.join("probes"));
        snapshot.add(&self.directory.join("home"));
        snapshot.add(&self.directory.join("package"));
        snapshot
    }

    /// Processes of this world that attacks have left behind.
    pub(super) fn left_behind(&self) -> Vec<String> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().into_string().ok());
        ids.filter(|id| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&self.marker)
        })
        .collect()
    }
}

/// Files with their sizes, modes and times of change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot(BTreeMap<PathBuf, (u64, u32, i64, i64)>);

impl Snapshot {
    fn add(&mut self, directory: &Path) {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let (path, found) = (entry.path(), entry.metadata().unwrap());
            if found.is_dir() {
                self.add(&path);
            }
            let state = (found.len(), found.mode(), found.mtime(), found.mtime_nsec());
            self.0.insert(path, state);
        }
    }

    pub(super) fn difference(before: &Self, after: &Self) -> Vec<PathBuf> {
        let paths = before.0.keys().chain(after.0.keys());
        let mut changed: Vec<_> =
            paths.filter(|path| before.0.get(*path) != after.0.get(*path)).cloned().collect();
        changed.dedup();
        changed
    }
}

/// Copies the programs with names of their own for what they leave behind, and compiles those in Rust.
fn copy(from: &Path, to: &Path, marker: &str) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target, marker);
            continue;
        }
        let text = fs::read_to_string(&source).unwrap().replace(MARKER, marker);
        fs::write(&target, text).unwrap();
        let is_program = to.ends_with("attack") || to.ends_with("honest");
        if is_program && target.extension().is_some_and(|it| it == "rs") {
            compile(&target, &target.with_extension(""));
        }
    }
}

/// Writes a package whose build script starts programs, and whose program tells what they answered.
fn write_package(directory: &Directory, marker: &str, start: &str) {
    let manifest =
        "[package]\nname = \"attacks\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    directory.file("package/Cargo.toml", manifest);
    let lock = "version = 4\n\n[[package]]\nname = \"attacks\"\nversion = \"0.0.0\"\n";
    directory.file("package/Cargo.lock", lock);
    directory.file("package/build.rs", include_str!("programs/build.rs"));
    directory.file("package/start.rs", start);
    let main =
        r#"fn main() { println!("{}", include_str!(concat!(env!("OUT_DIR"), "/answers.json"))); }"#;
    directory.file("package/src/main.rs", main);
    copy(&probes::directory().join("attack"), &directory.join("package/attack"), marker);
}

/// Directory of the toolchain of the test.
fn toolchain() -> PathBuf {
    let asked = User::Own.command("rustc").args(["--print", "sysroot"]).output().unwrap();
    String::from_utf8(asked.stdout).unwrap().trim().into()
}

/// Copies what every user may read of a toolchain, by links if both directories are in one file system.
fn link_all(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        // Documentation.
        if entry.file_name() == "share" {
            continue;
        }
        if source.is_dir() {
            link_all(&source, &target);
        } else {
            let linked = fs::hard_link(&source, &target);
            linked.or_else(|_| fs::copy(&source, &target).map(drop)).unwrap();
        }
    }
}

/// Compiles a program with its module `start`, once for all worlds that have the same one.
fn compile(source: &Path, program: &Path) {
    static BUILT: Mutex<BTreeMap<[String; 2], Vec<u8>>> = Mutex::new(BTreeMap::new());
    let text = |file: &Path| fs::read_to_string(file).unwrap_or_default();
    let texts = [text(source), text(&source.with_file_name("start.rs"))];
    let mut built = BUILT.lock().unwrap();
    if let Some(known) = built.get(&texts) {
        fs::write(program, known).unwrap();
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        return;
    }
    let mut rustc = User::Own.command("rustc");
    let ran = rustc.args(["--edition", "2024", "-o"]).arg(program).arg(source).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    built.insert(texts, fs::read(program).unwrap());
}

/// Writes the directories with one, three and four conversations.
fn write_traces(directory: &Directory) {
    let text = fs::read_to_string(trace("a01_otlp_basic_parts")).unwrap();
    for way in Way::ALL {
        let count = way.conversations();
        for number in 0..count {
            let id = format!("{}{number}", &TRACE_ID[..TRACE_ID.len() - 1]);
            let name = format!("traces/{count}/{number}.json");
            directory.file(&name, text.replace(TRACE_ID, &id));
        }
    }
}

/// Gives files to a user, who can then read, start and change them.
fn open_to(path: &Path, user: User) {
    if user == User::Unprivileged {
        chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().flatten().for_each(|entry| open_to(&entry.path(), user));
    }
}
