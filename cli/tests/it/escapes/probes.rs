//! The programs, and the ways in which they are run.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::world::{User, World};

/// A level of sandboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Full,
    Partial,
}

impl Level {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
        }
    }

    /// The ways in which programs are run at this level: no interpreter is forked at the partial level.
    pub(super) fn ways(self) -> &'static [Way] {
        match self {
            Self::Full => &Way::ALL,
            Self::Partial => &[Way::OneShot, Way::Stream, Way::Build],
        }
    }

    /// Returns true if the level prevents what an attack does. Disk space and the number of processes are not limited at
    /// the partial level.
    pub(super) fn prevents(self, probe: &str) -> bool {
        let unlimited = ["bomb_disk.py", "bomb_fork.py", "bomb_threads.py"];
        self == Self::Full || !unlimited.contains(&probe)
    }
}

/// A way in which evaluators are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    OneShot,
    Fork,
    Stream,
    Build,
}

impl Way {
    pub(super) const ALL: [Self; 4] = [Self::OneShot, Self::Fork, Self::Stream, Self::Build];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OneShot => "process",
            Self::Fork => "fork",
            Self::Stream => "worker",
            Self::Build => "build",
        }
    }

    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::OneShot => "a process for each conversation",
            Self::Fork => {
                "a fork of a Python interpreter that has done its imports; it may ask a model (`target`)"
            }
            Self::Stream => "a child of a worker that evaluates several conversations (`--stream`)",
            Self::Build => "a build script of a Rust package, while the package is built",
        }
    }

    /// Number of conversations from which on programs are run in this way.
    pub(super) fn conversations(self) -> usize {
        match self {
            Self::OneShot | Self::Build => 1,
            Self::Stream => 3,
            Self::Fork => 4,
        }
    }

    /// Returns the entry of a configuration that runs a program in this way.
    pub(super) fn entry(self, probe: &Probe, world: &World, level: Option<Level>) -> Value {
        let file = world.probe(probe);
        let mut config = world.config.clone();
        config.insert("probe".to_owned(), json!(file));
        let path = match self {
            Self::Stream => world.driver(),
            // Those that name files of /proc would not be forked.
            Self::Fork => world.forked(),
            Self::OneShot | Self::Build => file,
        };
        let mut entry = json!({
            "name": probe.name, "type": "code", "path": path,
            "timeout": 300, "limits": {"memory": "1GiB", "open_files": 256}, "config": config,
        });
        if let Some(level) = level {
            // What the programs that start others do not name; set-uid programs have to be visible, to be tried.
            let mut read = vec![world.tools(), world.probe(probe).parent().unwrap().into()];
            read.extend_from_slice(&world.python_prefixes);
            entry["executor"] = "sandbox".into();
            entry["sandbox"] = json!({"level": level.name(), "read": read});
            // So that attacks are tried with a proxy and without.
            entry["target"] = json!(self == Self::Fork);
        }
        entry
    }
}

/// A program.
#[derive(Debug)]
pub(super) struct Probe {
    /// Name of its source file.
    pub(super) name: String,
    pub(super) source: PathBuf,
    /// What it tries to do.
    pub(super) attempt: String,
}

impl Probe {
    /// Returns true if the program can be run in a way.
    pub(super) fn has(&self, way: Way) -> bool {
        match way {
            Way::OneShot => true,
            // They attack all processes that they see, and in other ways those of the same evaluator are among them.
            _ if self.name.starts_with("helper_") => false,
            Way::Stream => true,
            Way::Fork => self.name.ends_with(".py"),
            // Builds have limits of their own.
            // Cargo lets build scripts inherit pipes of its own.
            Way::Build if self.name == "fd_inherited.py" => false,
            Way::Build => !self.name.starts_with("bomb_"),
        }
    }
}

pub(super) fn directory() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sandbox/tests/fixtures/probes");
    env::var_os("EVALUATOR_PROBES_DIR").map_or(own, PathBuf::from)
}

pub(super) fn attacks() -> Vec<Probe> {
    read("attack")
}

pub(super) fn honest() -> Vec<Probe> {
    read("honest")
}

fn read(kind: &str) -> Vec<Probe> {
    let entries = fs::read_dir(directory().join(kind)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    files.into_iter().map(probe).collect()
}

fn probe(source: PathBuf) -> Probe {
    let text = fs::read_to_string(&source).unwrap();
    let attempt = text.lines().take(3).find_map(|line| line.split_once("Attempts: "));
    let attempt = attempt.map(|(_, attempt)| attempt.trim_start_matches("to ").to_owned());
    let name = source.file_name().unwrap().to_str().unwrap().to_owned();
    Probe { name, source, attempt: attempt.unwrap_or_default() }
}

/// Checks that an attack has failed.
pub(super) fn contained(
    probe: &str,
    result: &Value,
    level: Level,
    user: User,
) -> Result<(), &'static str> {
    let error = result["error_type"].as_str();
    let (escaped, skipped) = (&result["details"]["escaped"], &result["details"]["skipped"]);
    match escaped.as_bool() {
        // Memory is limited for each process, and not for all together.
        _ if probe == "bomb_memory_children.py" || !level.prevents(probe) => Ok(()),
        // Attempts are answered with success and not done: what changed decides.
        Some(true) if probe == "fs_write_outside.py" && level == Level::Partial => Ok(()),
        Some(true) => Err("escaped"),
        // Only root can make a set-uid program of another user.
        Some(false) if *skipped == true && (user.is_root() || !probe.starts_with("sys_setuid")) => {
            Err("was not tried")
        }
        Some(false) => Ok(()),
        // Not an attack on the machine: output has a limit.
        None if probe.starts_with("life_huge_output") && error.is_some() => Ok(()),
        None if error == Some("signalled") => Ok(()),
        None => Err("neither answered nor was killed"),
    }
}
