//! How cargo is called, and what it is asked to build.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    launch::Built,
    log::{Failure, Log, headline},
};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{
        PrepareError, PrepareEvent,
        tool::{self, Stream, ToolError},
    },
};

/// How long cargo may take for what compiles nothing. It may wait for another cargo to let go of the package cache.
pub(super) const QUERY_LIMIT: Duration = Duration::from_secs(5 * 60);

/// How long cargo may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// Cargo, and how it is called here.
#[derive(Clone, Debug)]
pub(super) struct Toolchain {
    /// The program.
    pub(super) cargo: PathBuf,
    /// Changes to the inherited environment.
    pub(super) environment: Vec<(OsString, Option<OsString>)>,
    /// Inherit nothing that those do not name.
    pub(super) clear_environment: bool,
    /// Profile of all builds.
    pub(super) profile: String,
    /// How long one build may take.
    pub(super) limit: Duration,
    /// Stops every call.
    pub(super) cancellation: Cancellation,
}

/// What one call of cargo builds programs of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) manifest: PathBuf,
    /// Package id, needed where the manifest is part of a workspace.
    pub(super) package: Option<String>,
    pub(super) target_folder: PathBuf,
    /// Where what is made on the way goes, dependencies above all; the target folder if there is no choice.
    pub(super) build_folder: Option<PathBuf>,
    pub(super) features: Vec<String>,
    pub(super) kind: ProgramKind,
    /// The file a package was generated around: its user knows no other name for the program.
    pub(super) lone_file: Option<String>,
    /// Texts to replace in what cargo and the compiler say.
    pub(super) renames: Vec<(String, String)>,
}

impl Unit {
    /// Where a build of this profile puts a program.
    pub(super) fn program(&self, name: &str, profile: &str) -> PathBuf {
        let folder = match profile {
            "dev" | "test" => "debug",
            "bench" => "release",
            other => other,
        };
        let mut path = self.target_folder.join(folder);
        if self.kind == ProgramKind::Example {
            path.push("examples");
        }
        path.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Where cargo keeps what it made on the way to a program in this folder.
    pub(super) fn intermediate(&self, folder: &Path) -> PathBuf {
        match (&self.build_folder, folder.strip_prefix(&self.target_folder)) {
            (Some(build), Ok(profile)) => build.join(profile),
            _ => folder.to_owned(),
        }
    }
}

/// The two kinds of target that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramKind {
    Bin,
    Example,
}

impl ProgramKind {
    fn flag(self) -> &'static str {
        match self {
            Self::Bin => "--bin",
            Self::Example => "--example",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bin => "bin",
            Self::Example => "example",
        }
    }
}

impl Toolchain {
    /// The version of cargo.
    pub(super) fn version(&self) -> Result<String, String> {
        let (mut answer, mut complaint) = (None, String::new());
        let command = self.call(["--version"]);
        let outcome =
            tool::run(&command, VERSION_LIMIT, &self.cancellation, &mut |stream, line| {
                if stream == Stream::Stdout {
                    answer = line.split(' ').nth(1).map(str::to_owned);
                } else if complaint.is_empty() {
                    line.clone_into(&mut complaint);
                }
            });
        let trouble = match (outcome, answer) {
            (Ok(status), Some(version)) if status.success() => return Ok(version),
            (Ok(_), _) => complaint,
            (Err(error), _) => error.to_string(),
        };
        Err(format!(
            "`{} --version` fails: {trouble}; install Rust from https://rustup.rs",
            self.cargo.display()
        ))
    }

    /// Describes the workspace of a manifest, without its dependencies.
    pub(super) fn metadata(&self, manifest: &Path) -> Result<String, PrepareError> {
        let command = self
            .call(["metadata", "--no-deps", "--format-version", "1", "--color", "never"])
            .arg("--manifest-path")
            .arg(manifest);
        let (mut answer, mut complaint) = (String::new(), String::new());
        let outcome = tool::run(&command, QUERY_LIMIT, &self.cancellation, &mut |stream, line| {
            let text = if stream == Stream::Stdout { &mut answer } else { &mut complaint };
            text.push_str(line);
            text.push('\n');
        });
        match outcome {
            Ok(status) if status.success() => Ok(answer),
            Ok(_) => Err(PrepareError::BuildFailed {
                summary: format!(
                    "cargo cannot read {}: {}",
                    manifest.display(),
                    headline(&complaint).as_deref().unwrap_or("it says nothing")
                ),
                rendered: complaint,
            }),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Chooses the versions of dependencies among those that are on this machine already, if that can be done.
    ///
    /// A first run then needs no network where the crates are there, and no answer from the registry before it starts.
    /// When some are missing, nothing is written, and the build asks the registry as usual.
    pub(super) fn lock_offline(&self, manifest: &Path) -> Result<(), PrepareError> {
        let command = self
            .call(["generate-lockfile", "--offline", "--quiet"])
            .arg("--manifest-path")
            .arg(manifest);
        match tool::run(&command, QUERY_LIMIT, &self.cancellation, &mut |_, _| ()) {
            Ok(_) => Ok(()),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Builds programs of one unit; one result for each.
    pub(super) fn build(
        &self,
        unit: &Unit,
        programs: &[&str],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Built, Failure>> {
        // The others go on when one does not compile.
        let command = self.call(["build", "--message-format=json", "--keep-going"]);
        let command = programs.iter().fold(self.select(command, unit), |command, program| {
            command.arg(unit.kind.flag()).arg(program)
        });
        let mut log = Log::new(unit, programs);
        let outcome = tool::run(&command, self.limit, &self.cancellation, &mut |stream, line| {
            log.line(stream, line, on_event)
        });
        log.finish(on_event);
        let built = self.launcher(unit, log.has_dylibs);
        let built = |program: PathBuf| built(log.findings_for(&program), program);
        programs.iter().map(|program| log.result_of(program, &outcome).map(built)).collect()
    }

    pub(super) fn call<const N: usize>(&self, args: [&str; N]) -> CommandSpec {
        let mut command = CommandSpec::new(&self.cargo).args(args);
        command.env.clone_from(&self.environment);
        command.clear_env = self.clear_environment;
        command
    }

    pub(super) fn select(&self, command: CommandSpec, unit: &Unit) -> CommandSpec {
        let mut command = command
            .args(["--color", "never", "--profile", &self.profile, "--manifest-path"])
            .arg(&unit.manifest)
            .arg("--target-dir")
            .arg(&unit.target_folder);
        if let Some(package) = &unit.package {
            command = command.arg("--package").arg(package);
        }
        if let Some(folder) = &unit.build_folder {
            command = command.env("CARGO_BUILD_BUILD_DIR", folder);
        }
        if !unit.features.is_empty() {
            command = command.arg("--features").arg(unit.features.join(","));
        }
        command
    }
}

fn unusable(error: &ToolError) -> PrepareError {
    PrepareError::Unusable { reason: error.to_string() }
}
