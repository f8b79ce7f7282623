//! Builds of evaluators whose executor contains programs: build scripts and procedural macros are code of the evaluator.
//!
//! What cargo downloads is fetched outside of the sandbox, which runs no code of a package: cargo works on a checked
//! [copy](super::copy) of the manifests, in a directory where neither `.cargo/config.toml` nor `rust-toolchain.toml` of a
//! package is read. The build runs in a sandbox without network, by the toolchain itself instead of rustup. It sees the
//! packages of its lock file and no others, and can change nothing but the target directory of the package. Nothing that such
//! a build writes is used by an evaluator that is not contained.

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
    copy::{Copy, Permitted},
    log::{Failure, headline},
    script,
    toolchain::{ContainedBuild, QUERY_LIMIT, Toolchain},
    unit::Unit,
};
use crate::{
    environment::Environment,
    executor::{Containment, contain_build},
    process::CommandSpec,
    runtime::{Launch, PrepareError, paths, tool},
};

/// Relevant part of the output of `cargo metadata`.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
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
        create(&contained.empty_directory())?;
        Ok(contained)
    }

    /// Working directory of builds, without settings in it.
    fn empty_directory(&self) -> PathBuf {
        self.directory.join("empty")
    }

    /// Gives a unit a target directory of its own.
    pub(super) fn redirect(&self, mut unit: Unit) -> Unit {
        let name = script::package_name(unit.manifest.parent().unwrap_or(&unit.manifest));
        unit.target_directory = self.directory.join("target").join(name);
        // Paths of the copy are those of the package below another directory.
        unit.renames
            .push((self.copy_directory(&unit.manifest).display().to_string(), String::new()));
        unit.apart()
    }

    fn copy_directory(&self, manifest: &Path) -> PathBuf {
        let name = script::package_name(manifest.parent().unwrap_or(manifest));
        self.directory.join("manifests").join(name)
    }

    /// Makes the copy of a package, whose dependencies may also be in these directories.
    fn copy(&self, manifest: &Path, shown: &Path, more: &[&Path]) -> Result<Copy, String> {
        let permitted = self.permitted(more);
        Copy::make(self.copy_directory(manifest), manifest, shown, &permitted)
    }

    fn permitted(&self, more: &[&Path]) -> Permitted {
        Permitted::new(&self.containment.sources, more.iter().copied())
    }

    /// Directories of packages that a generated manifest may name: that of its file, and the SDK.
    fn generated(&self, unit: &Unit) -> Vec<PathBuf> {
        if unit.lone_file.is_none() {
            return Vec::new();
        }
        let sdk = self.directory.parent().map(|cache| cache.join("sdk"));
        let own = paths::is_narrow(&unit.sources, &Environment::inherited());
        own.then(|| unit.sources.clone()).into_iter().chain(sdk).collect()
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
        // Programs find files of their package by the directory in which it was built.
        launch.visible.paths.insert(self.copy_directory(&unit.manifest));
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
        let more = contained.generated(unit);
        let more: Vec<&Path> = more.iter().map(PathBuf::as_path).collect();
        let shown = unit.lone_file.as_ref().map(|file| unit.sources.join(file));
        let shown = shown.as_ref().unwrap_or(&unit.manifest);
        let copy = contained.copy(&unit.manifest, shown, &more);
        let copy = copy.map_err(|problem| failure(format!("cannot be built: {problem}")))?;
        let copied = Unit { manifest: copy.of(&unit.manifest), ..unit.clone() };
        let metadata = self.fetched(&copied, &installed.host)?;
        let read = contained.readable(unit, installed.directory.clone(), &metadata, &copy)?;
        create(&unit.target_directory).map_err(|error| failure(error.to_string()))?;
        let cargo = self.cargo.clone();
        let own = installed.directory.join("bin/cargo");
        // Packages of distributions have no toolchain directory.
        let program = if own.is_file() { own.into_os_string() } else { cargo.program.clone() };
        let mut path = vec![installed.directory.join("bin")];
        path.extend(cargo.variable("PATH").iter().flat_map(env::split_paths));
        let path = env::join_paths(path).map_err(|error| failure(error.to_string()))?;
        let cwd = Some(contained.empty_directory());
        let command = CommandSpec { program, cwd, ..cargo }.args(args).env("PATH", path);
        let mut command = self.select(command, &copied).args(["--offline", "--locked"]);
        if let Some(home) = &contained.cargo_home {
            command = command.env("CARGO_HOME", home);
        }
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

    /// Downloads what a unit needs and is not on this machine, and completes its lock file. Returns its packages.
    fn fetched(&self, unit: &Unit, host: &str) -> Result<Metadata, Failure> {
        let packages = || {
            let args =
                ["metadata", "--offline", "--format-version", "1", "--filter-platform", host];
            self.ask(args, unit)
        };
        let text = match packages() {
            Ok(text) => text,
            Err(_) => {
                self.ask(["fetch", "--target", host, "--color", "never"], unit)?;
                packages()?
            }
        };
        serde_json::from_str(&text)
            .map_err(|error| failure(format!("cannot be built: cargo metadata: {error}")))
    }

    /// Describes the workspace of a contained package, without its dependencies. Paths are those of the package, and ids of
    /// packages are those of its copy.
    pub(super) fn metadata_of_copy(
        &self,
        contained: &ContainedBuild,
        manifest: &Path,
    ) -> Result<String, PrepareError> {
        let copy = contained.copy(manifest, manifest, &[]).map_err(PrepareError::unusable)?;
        let text = self.metadata_of(&copy.of(manifest))?;
        let root = serde_json::to_string(&copy.root()).unwrap_or_default();
        let start = root.trim_end_matches('"');
        Ok(text.replace(&format!("{start}/"), "\"/"))
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
    /// Paths that a build reads: the toolchain, the copy, and the packages of the lock file.
    fn readable(
        &self,
        unit: &Unit,
        toolchain: PathBuf,
        metadata: &Metadata,
        copy: &Copy,
    ) -> Result<Vec<PathBuf>, Failure> {
        let permitted = self.permitted(&[]);
        let mut read = BTreeSet::from([toolchain, copy.root().to_owned(), unit.sources.clone()]);
        for package in &metadata.packages {
            let directory = package.manifest_path.parent().unwrap_or(&package.manifest_path);
            let refused = |from: &str| {
                let name = &package.name;
                failure(format!(
                    "cannot be built: it needs `{name}` from {from}, which its entry does not name under `sources`"
                ))
            };
            match &package.source {
                None => {
                    let original = copy.original(directory);
                    read.insert(original.ok_or_else(|| refused(&directory.display().to_string()))?);
                }
                Some(source) if !permitted.has_source(source) => return Err(refused(source)),
                Some(_) => read.extend(package.downloads(directory)),
            }
        }
        // The copy of a lone file is next to its package.
        let generated = unit.lone_file.as_ref().and_then(|_| unit.manifest.parent()?.parent());
        read.extend(generated.map(Path::to_owned));
        read.extend(self.containment.read.iter().cloned());
        Ok(read.into_iter().collect())
    }
}

impl Package {
    /// The files of a downloaded package in this directory: itself, its archive, and the index or repository that has it.
    fn downloads(&self, directory: &Path) -> Vec<PathBuf> {
        // REGISTRY/src/INDEX/NAME-VERSION, REGISTRY/cache/INDEX/NAME-VERSION.crate and REGISTRY/index/INDEX; or
        // GIT/checkouts/REPOSITORY/REVISION and GIT/db/REPOSITORY.
        for place in directory.ancestors() {
            let kept = place.parent().and_then(|outer| Some((outer.file_name()?, outer.parent()?)));
            let Some((name, kind)) = kept else { break };
            let Some(all) = kind.parent() else { break };
            if kind.ends_with("registry/src") {
                let archive = format!("{}-{}.crate", self.name, self.version);
                let archive = all.join("cache").join(name).join(archive);
                let more = [archive, all.join("index").join(name)];
                let there = more.into_iter().filter(|path| path.exists());
                return [place.to_owned()].into_iter().chain(there).collect();
            }
            if kind.ends_with("git/checkouts") {
                return vec![place.to_owned(), all.join("db").join(name)];
            }
        }
        vec![directory.to_owned()]
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::{cargo::unit::ProgramKind, testing::Directory};

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
            package_name: "p".to_owned(),
            workspace: PathBuf::new(),
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
        let copy = contained.copy_directory(&unit.manifest);
        assert_eq!(accepted.visible.paths, [unit.sources.clone(), own, copy].into());
        for program in [&secret, &link, &directory.path("target/gone")] {
            let refused = contained.accept(&unit, launch(program)).unwrap_err();
            assert!(refused.what.contains("outside of its target directory"), "{refused:?}");
        }
    }
}
