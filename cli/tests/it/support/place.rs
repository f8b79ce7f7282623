//! A directory with its own home directory, and a server in place of GitHub.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Directory, Ran, finish, server::Server, trace};

/// The conversation that is judged.
pub(crate) const TRACE: &str = "a01_otlp_basic_parts";

/// A directory with its own home directory, and a server.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) directory: Directory,
    pub(crate) server: Server,
}

impl Place {
    /// With a configuration, `c.yaml`.
    pub(crate) fn new(config: &str) -> Self {
        let (directory, server) = (Directory::new(), Server::start());
        directory.file("c.yaml", config);
        Self { directory, server }
    }

    /// `evaluator` with the server as `github`, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let home = std::env::var_os("HOME").unwrap_or_default();
        let home = Path::new(&home);
        let tools = |variable: &str, directory: &str| {
            std::env::var_os(variable).unwrap_or_else(|| home.join(directory).into_os_string())
        };
        let mut command = self.directory.command(args);
        command
            .env("CARGO_HOME", tools("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", tools("RUSTUP_HOME", ".rustup"))
            .env("HOME", self.directory.path().join("home"))
            .env("AGENTEVALS_EVALUATOR_BASE_URL", self.server.url())
            .env("AGENTEVALS_EVALUATOR_API_URL", self.server.url());
        for variable in [
            "AGENTEVALS_EVALUATOR_REPO",
            "AGENTEVALS_EVALUATOR_BRANCH",
            "AGENTEVALS_EVALUATOR_INDEX",
            "AGENTEVALS_EVALUATOR_DIR",
            "AGENTEVALS_GITHUB_TOKEN",
            "GITHUB_TOKEN",
            "EVALUATOR_CACHE_DIR",
            "XDG_CACHE_HOME",
            "SSL_CERT_FILE",
        ] {
            command.env_remove(variable);
        }
        command
    }

    /// `evaluator` with the server as `github`.
    pub(crate) fn evaluator(&self, args: &[&str]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// Runs the configuration and reports as JSON.
    pub(crate) fn run(&self, more: &[&str]) -> Ran {
        self.evaluator(&[&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"][..], more].concat())
    }

    /// A path in the cache.
    pub(crate) fn cached(&self, path: &str) -> PathBuf {
        self.directory.path().join("home/.cache/agentevals/evaluators").join(path)
    }

    /// The directory in the cache of a source on this machine, which has one for each location.
    pub(crate) fn slots(&self, source: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cached("")).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_slot = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with(&format!("{source}-"))
        };
        paths.filter(is_slot).collect()
    }

    /// The lock file; empty if it does not exist.
    pub(crate) fn lock(&self) -> String {
        fs::read_to_string(self.directory.path().join("evaluators.lock")).unwrap_or_default()
    }
}
