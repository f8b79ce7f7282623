//! Builds of evaluators whose executor contains programs: build scripts and procedural macros are code of the evaluator.
//!
//! What cargo downloads is fetched outside of the sandbox, which runs no code of a package: cargo works in a directory of
//! its own, so neither `.cargo/config.toml` nor `rust-toolchain.toml` of a package is read. The build runs in a sandbox
//! without network, by the toolchain itself instead of rustup, and can change nothing but the target directory of the
//! package. Nothing that such a build writes is used by an evaluator that is not contained.

#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;

use super::{
    build::{QUERY_LIMIT, Toolchain, Unit},
    log::{Failure, headline},
    script,
};
use crate::{
    environment::Environment,
    executor::{Containment, contain_build},
    process::CommandSpec,
    runtime::{Launch, PrepareError, tool},
};

/// How evaluators are built in a sandbox.
#[derive(Clone, Debug)]
pub(super) struct ContainedBuild {
    containment: Arc<Containment>,
    /// Directory of everything that contained builds write.
    directory: PathBuf,
    /// Cargo's directory of downloaded packages.
    cargo_home: Option<PathBuf>,
}

/// Relevant part of the output of `cargo metadata`.
#[derive(Debug, Deserialize)]
struct Metadata {
    workspace_root: PathBuf,
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    manifest_path: PathBuf,
    /// `None` for a package of this machine.
    source: Option<String>,
}

/// The installed toolchain behind `rustc`.
struct Installed {
    directory: PathBuf,
    host: String,
}

impl ContainedBuild {
    /// Creates the directory in which cargo is called.
    ///
    /// # Errors
    ///
    /// There is no cache, or it cannot be written.
    pub(super) fn new(
        containment: &Arc<Containment>,
        environment: &Environment,
    ) -> Result<Self, PrepareError> {
        let cache = environment.cache_directory("evaluator").ok_or_else(|| {
            PrepareError::unusable("no home directory to keep builds in; set EVALUATOR_CACHE_DIR")
        })?;
        let home = environment.get("HOME").map(|home| Path::new(home).join(".cargo"));
        let contained = Self {
            containment: Arc::clone(containment),
            directory: cache.join("contained"),
            cargo_home: environment.get("CARGO_HOME").map(PathBuf::from).or(home),
        };
        create(&contained.neutral_directory())?;
        Ok(contained)
    }

    /// Working directory of cargo, without settings in it.
    pub(super) fn neutral_directory(&self) -> PathBuf {
        self.directory.join("empty")
    }

    /// Gives a unit a target directory of its own.
    pub(super) fn redirect(&self, unit: Unit) -> Unit {
        let name = script::package_name(unit.manifest.parent().unwrap_or(&unit.manifest));
        let target_directory = self.directory.join("target").join(name);
        Unit { target_directory, build_directory: None, ..unit }
    }

    /// Checks that a launch starts nothing and shows nothing but what the build has written: the build could name, or link to,
    /// any file of this machine.
    ///
    /// # Errors
    ///
    /// It names a path outside of its target directory, or its program cannot be made readable.
    pub(super) fn accept(&self, unit: &Unit, launch: Launch) -> Result<Launch, Failure> {
        let directory = unit.target_directory.canonicalize().ok();
        let is_own = |path: &Path| {
            let real = path.canonicalize().ok();
            real.zip(directory.as_ref())
                .is_some_and(|(real, directory)| real.starts_with(directory))
        };
        let program = PathBuf::from(&launch.one_shot.program);
        if !is_own(&program) {
            let program = program.display();
            return Err(failure(format!(
                "was built as {program}, outside of its target directory"
            )));
        }
        // What a sandbox writes is for its user alone, and the user in a container of root is another one.
        #[cfg(unix)]
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
            .map_err(|error| failure(format!("cannot be shown to containers: {error}")))?;
        let mut launch = launch;
        launch.visible.paths.retain(|path| *path == unit.sources || is_own(path));
        Ok(launch)
    }
}

fn create(directory: &Path) -> Result<(), PrepareError> {
    fs::create_dir_all(directory).map_err(|error| {
        PrepareError::unusable(format!("cannot create {}: {error}", directory.display()))
    })
}

fn failure(what: impl Into<String>) -> Failure {
    Failure { what: what.into(), rendered: String::new() }
}

impl Toolchain {
    /// Returns the command that calls cargo for a unit: in a sandbox, if the evaluator is contained. `args` select the
    /// subcommand.
    ///
    /// # Errors
    ///
    /// The packages that it needs cannot be fetched, or there is no sandbox.
    pub(super) fn building<const N: usize>(
        &self,
        args: [&str; N],
        unit: &Unit,
    ) -> Result<CommandSpec, Failure> {
        let Some(contained) = &self.contained else {
            return Ok(self.select(self.call(args), unit));
        };
        let installed = self.installed()?;
        let metadata = self.fetched(unit, &installed.host)?;
        create(&unit.target_directory).map_err(|error| failure(error.to_string()))?;
        let cargo = self.cargo.clone();
        let own = installed.directory.join("bin/cargo");
        // Packages of distributions have no toolchain directory.
        let program = if own.is_file() { own.into_os_string() } else { cargo.program.clone() };
        let mut path = vec![installed.directory.join("bin")];
        path.extend(cargo.variable("PATH").iter().flat_map(env::split_paths));
        let path = env::join_paths(path).map_err(|error| failure(error.to_string()))?;
        let command = CommandSpec { program, ..cargo }.args(args).env("PATH", path);
        let mut command = self.select(command, unit).args(["--offline", "--locked"]);
        if let Some(home) = &contained.cargo_home {
            command = command.env("CARGO_HOME", home);
        }
        let read = contained.readable(unit, installed.directory, &metadata);
        let write = vec![unit.target_directory.clone()];
        contain_build(command, &contained.containment, read, write).map_err(|reason| {
            failure(format!(
                "cannot be built, because builds of contained evaluators run in a sandbox: {reason}"
            ))
        })
    }

    /// Asks the compiler for its toolchain.
    fn installed(&self) -> Result<Installed, Failure> {
        let rustc = Path::new(&self.cargo.program).with_file_name("rustc");
        let ask = |args: &[&str]| {
            let command = CommandSpec { program: rustc.clone().into(), ..self.cargo.clone() };
            let output =
                tool::output(&command.args(args.iter().copied()), QUERY_LIMIT, &self.cancellation)
                    .map_err(|error| failure(format!("cannot be built: {error}")))?;
            match output.status.success() {
                true => Ok(output.stdout),
                false => Err(Failure {
                    what: format!(
                        "cannot be built: `{} {}` fails",
                        rustc.display(),
                        args.join(" ")
                    ),
                    rendered: output.stderr,
                }),
            }
        };
        let directory = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        let version = ask(&["-vV"])?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        Ok(Installed { directory, host: host.to_owned() })
    }

    /// Downloads what a unit needs and is not on this machine. Returns its packages.
    fn fetched(&self, unit: &Unit, host: &str) -> Result<Metadata, Failure> {
        let packages = || {
            let args = [
                "metadata",
                "--offline",
                "--locked",
                "--format-version",
                "1",
                "--filter-platform",
                host,
            ];
            self.ask(args, unit)
        };
        let read = |text: String| {
            serde_json::from_str(&text)
                .map_err(|error| failure(format!("cannot be built: cargo metadata: {error}")))
        };
        if let Ok(text) = packages() {
            return read(text);
        }
        let locked = self
            .ask(["generate-lockfile", "--offline", "--quiet"], unit)
            .is_ok_and(|_| packages().is_ok());
        if !locked {
            self.ask(["fetch", "--target", host, "--color", "never"], unit)?;
        }
        read(packages()?)
    }

    fn ask<const N: usize>(&self, args: [&str; N], unit: &Unit) -> Result<String, Failure> {
        let command = self.call(args).arg("--manifest-path").arg(&unit.manifest);
        let output = tool::output(&command, self.limit, &self.cancellation)
            .map_err(|error| failure(format!("cannot be built: {error}")))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let reason =
            headline(&output.stderr).unwrap_or_else(|| "it prints no error message".to_owned());
        Err(Failure {
            what: format!("cannot be built: `cargo {}` fails: {reason}", args[0]),
            rendered: output.stderr,
        })
    }
}

impl ContainedBuild {
    /// Paths that a build reads: the toolchain, downloaded packages, and packages of this machine.
    fn readable(&self, unit: &Unit, toolchain: PathBuf, metadata: &Metadata) -> Vec<PathBuf> {
        let downloads =
            self.cargo_home.iter().flat_map(|home| ["registry", "git"].map(|it| home.join(it)));
        let local = metadata.packages.iter().filter(|package| package.source.is_none());
        let local: Vec<&Path> =
            local.filter_map(|package| package.manifest_path.parent()).collect();
        // A package may inherit settings of its workspace.
        let outer = local.iter().flat_map(|directory| directory.ancestors().skip(1));
        let outer = outer.map(|directory| directory.join("Cargo.toml")).filter(|it| it.is_file());
        // The copy of a lone file is next to its package.
        let generated = unit.lone_file.as_ref().and_then(|_| unit.manifest.parent()?.parent());
        let read: BTreeSet<PathBuf> = downloads
            .filter(|directory| directory.is_dir())
            .chain([toolchain, metadata.workspace_root.clone(), unit.sources.clone()])
            .chain(local.iter().copied().chain(generated).map(Path::to_owned))
            .chain(outer)
            .chain(self.containment.read.iter().cloned())
            .collect();
        read.into_iter().collect()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::{cargo::build::ProgramKind, testing::Directory};

    #[test]
    fn a_build_shows_no_file_of_this_machine() {
        let directory = Directory::new("cargo-contained");
        let secret = directory.file("secret", "");
        let own = directory.file("target/debug/check", "");
        let link = directory.path("target/debug/link");
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        let unit = Unit {
            manifest: directory.path("src/Cargo.toml"),
            sources: directory.path("src"),
            package: None,
            target_directory: directory.path("target"),
            build_directory: None,
            features: Vec::new(),
            kind: ProgramKind::Bin,
            lone_file: None,
            renames: Vec::new(),
        };
        let environment = Environment::new([("EVALUATOR_CACHE_DIR", directory.path("cache"))]);
        let contained = ContainedBuild::new(&Arc::default(), &environment).unwrap();
        let launch = |program: &Path| {
            let visible = [program.to_owned(), secret.clone(), link.clone(), unit.sources.clone()];
            Launch::new(CommandSpec::new(program)).with_visible(visible)
        };
        let accepted = contained.accept(&unit, launch(&own)).unwrap();
        assert_eq!(accepted.visible.paths, [unit.sources.clone(), own].into());
        for program in [&secret, &link, &directory.path("target/gone")] {
            let refused = contained.accept(&unit, launch(program)).unwrap_err();
            assert!(refused.what.contains("outside of its target directory"), "{refused:?}");
        }
    }
}
