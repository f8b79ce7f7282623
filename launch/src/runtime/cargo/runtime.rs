//! The runtime of `.rs` files and packages.

use std::{
    collections::{BTreeSet, HashMap},
    env,
    ffi::OsString,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use indexmap::IndexSet;

use super::{
    build,
    owner::{self, Owner, Owners},
    script::Script,
    toolchain::{ContainedBuild, Toolchain},
    unit::{ProgramKind, Unit},
};
use crate::{
    executor::Containment,
    files,
    process::{Cancellation, CommandSpec},
    runtime::{
        Built, Entrypoint, Environment, Inputs, Language, Launch, PrepareError, PrepareEvent,
        Runtime,
        own_tests::{OwnTests, TestCount},
        paths, tool,
    },
};

const MISSING: &str = "cargo was not found on PATH; install Rust from https://rustup.rs";

/// Default time limit of a build: enough for a cold one with many dependencies on a slow machine.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Builds Rust evaluators with cargo and runs the programs: what `cargo run` does, in two steps. `cargo build` runs
/// before the clock of any evaluation starts; the program is then started in the environment that cargo would give it
/// (`CARGO_MANIFEST_DIR`, variables of its build script, directories of libraries that were built for it).
///
/// A source is one of:
/// - a file that is a binary or an example of a package;
/// - a package: its directory or its `Cargo.toml`, with one binary or a `default-run`;
/// - any other `.rs` file, around which a package is generated. It may contain its own manifest, as frontmatter between
///   `---` lines or in a <code>```cargo</code> block of its leading `//!` comment; without one it can use
///   `evaluator-sdk`, `serde` (with derive) and `serde_json`.
///
/// Cargo builds in the current directory, as with `cargo build --manifest-path`, so its configuration and toolchain are
/// those of the directory in which the run was started. Questions that build nothing, and everything about contained
/// evaluators, are asked in a directory without settings of others. Programs of a package go to `evaluator/` inside its target
/// directory, where builds of the user do not replace them. From cargo 1.91 on, intermediate results are shared with
/// those builds: dependencies that `cargo test` has compiled are not compiled again. If several workspaces share a build
/// directory, packages of the same name, which cargo takes for each other, get one of their own, and so do fetched packages.
///
/// A file with frontmatter is compiled from a copy, because stable compilers do not read frontmatter: `mod` and
/// `include!` of files next to it do not work. All other files, also those with a <code>```cargo</code> block, are
/// compiled in place.
#[derive(Clone, Debug)]
pub struct Cargo {
    environment: Environment,
    profile: String,
    build_limit: Duration,
}

impl Cargo {
    /// Looks in `environment` for cargo on `PATH` and for these settings:
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `EVALUATOR_CARGO_PROFILE` | cargo profile of all builds | `dev`, the shortest wait after an edit |
    /// | `EVALUATOR_CACHE_DIR` | where packages around lone files are kept | `evaluator` in `$XDG_CACHE_HOME` or `~/.cache` |
    pub fn new(environment: Environment) -> Self {
        let profile =
            environment.get("EVALUATOR_CARGO_PROFILE").map(|profile| profile.display().to_string());
        Self {
            environment,
            profile: profile.unwrap_or_else(|| "dev".to_owned()),
            build_limit: BUILD_LIMIT,
        }
    }

    /// Sets the cargo profile of builds, e.g. `release`.
    #[must_use]
    pub fn with_profile(mut self, profile: impl Into<String>) -> Self {
        self.profile = profile.into();
        self
    }

    /// Sets the time limit of one build; 30 minutes by default.
    #[must_use]
    pub fn with_build_limit(mut self, limit: Duration) -> Self {
        self.build_limit = limit;
        self
    }

    /// Returns the cargo that the settings and the toolchain file of the working directory do not change.
    fn neutral_toolchain(
        &self,
        trust: &Trust,
        cancellation: &Cancellation,
    ) -> Result<Toolchain, PrepareError> {
        let mut toolchain = self.toolchain(trust, cancellation)?;
        toolchain.cargo.cwd = Some(tool::neutral_directory());
        Ok(toolchain)
    }

    /// Returns cargo. For a fetched or contained evaluator, the build (with its scripts and macros) gets only the variables
    /// by which cargo finds its own files.
    fn toolchain(
        &self,
        trust: &Trust,
        cancellation: &Cancellation,
    ) -> Result<Toolchain, PrepareError> {
        let cargo = self
            .environment
            .find_program("cargo")
            .ok_or_else(|| PrepareError::runtime_missing(MISSING))?;
        let mut cargo = CommandSpec::new(cargo);
        let contained = trust.contained.as_ref();
        let contained =
            contained.map(|it| ContainedBuild::new(it, &self.environment)).transpose()?;
        cargo.cwd = contained.as_ref().map(|_| tool::neutral_directory());
        let cargo = if trust.fetched || contained.is_some() {
            build::confined(&self.environment).give_to(cargo)
        } else {
            let program = env::current_exe().ok();
            CommandSpec { env: build::changes(&self.environment, program.as_deref()), ..cargo }
        };
        Ok(Toolchain {
            cargo,
            profile: self.profile.clone(),
            limit: self.build_limit,
            cancellation: cancellation.clone(),
            contained,
        })
    }

    /// Builds programs whose builds get the same variables.
    fn build(
        &self,
        sources: &[PathBuf],
        trust: &Trust,
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let toolchain = match self.toolchain(trust, cancellation) {
            Ok(toolchain) => toolchain,
            Err(missing) => {
                let result = |source: &PathBuf| paths::resolve(source).and(Err(missing.clone()));
                return sources.iter().map(result).collect();
            }
        };
        let mut owners = Owners::new(|manifest| toolchain.metadata(manifest));
        let mut jobs: Vec<Job> = Vec::new();
        let mut results: Vec<Result<Launch, PrepareError>> = sources
            .iter()
            .enumerate()
            .map(|(index, source)| {
                let (unit, script, program) =
                    self.plan(source, trust.fetched, &toolchain, &mut owners)?;
                let is_taken = jobs.iter().any(|job| job.unit.is_taken_for(&unit));
                let unit = if is_taken { unit.apart() } else { unit };
                let job = jobs.iter().position(|job| job.unit == unit).unwrap_or_else(|| {
                    jobs.push(Job { unit, script, programs: Vec::new() });
                    jobs.len() - 1
                });
                jobs[job].add(program, index);
                // Replaced by the result of the job.
                Err(not_built(source))
            })
            .collect();
        for job in &jobs {
            job.run(&toolchain, sources, &mut results, on_event);
        }
        refuse_replaced(&jobs, &mut results);
        results
    }

    /// Returns the files from which a program of a package was built: sources of the package and of its path dependencies,
    /// their manifests, and the lock file. Empty if cargo has not listed them.
    fn sources(&self, program: &Path, manifest: &Path, source: &Path) -> BTreeSet<PathBuf> {
        let package = manifest.parent().unwrap_or(manifest);
        // The SDK and what is written around lone files belong to this program.
        let own = self.environment.cache_directory("evaluator").map(|cache| {
            ["scripts", "sdk", "contained"].map(|name| paths::absolute(&cache.join(name)))
        });
        let is_own =
            |file: &Path| own.iter().flatten().any(|directory| file.starts_with(directory));
        // Output of a build script: `build/../out` outside of the package, or in a directory of it.
        let is_generated = |file: &Path| {
            let mut inner =
                file.ancestors().take_while(|directory| !package.starts_with(directory));
            inner.any(|it| it.ends_with("out"))
                && inner.any(|it| it.file_name().is_some_and(|name| name == "build"))
        };
        let Some(mut sources) = build::parts(program) else { return BTreeSet::new() };
        sources.retain(|file| !is_own(file) && !is_generated(file));
        if !source.starts_with(package) {
            // A lone file, whose package is generated.
            return sources.into_iter().chain([source.to_owned()]).collect();
        }
        if sources.is_empty() {
            return BTreeSet::new();
        }
        let first = |directory: &Path, name: &str| {
            directory.ancestors().map(|it| it.join(name)).find(|file| file.is_file())
        };
        let manifests = sources.iter().filter_map(|file| first(file.parent()?, "Cargo.toml"));
        let more = [manifest.to_owned()].into_iter().chain(first(package, "Cargo.lock"));
        manifests.chain(more).chain(sources.iter().cloned()).collect()
    }

    /// Returns what has to be built for `source`: the unit, the script if it is a lone file, and the name of the program.
    fn plan(
        &self,
        source: &Path,
        fetched: bool,
        toolchain: &Toolchain,
        owners: &mut Owners<'_>,
    ) -> Result<(Unit, Option<Script>, String), PrepareError> {
        let (unit, script, program) = match owners.find(source)? {
            Owner::Target { unit, program } => (*unit, None, program),
            Owner::LoneFile { source } => {
                let cache = self.environment.cache_directory("evaluator").ok_or_else(|| {
                    PrepareError::unusable(
                        "no home directory to keep builds in; set EVALUATOR_CACHE_DIR",
                    )
                })?;
                let script = Script::new(source, &cache);
                let program = script.name.clone();
                (Unit::of_script(&script, &cache), Some(script), program)
            }
        };
        let unit = match &toolchain.contained {
            Some(contained) => contained.redirect(unit),
            None if unit.is_shared() && (fetched || unit.has_namesake()) => unit.apart(),
            None => unit,
        };
        Ok((unit, script, program))
    }
}

/// Settings that decide about the environment of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Trust {
    fetched: bool,
    contained: Option<Arc<Containment>>,
}

impl Trust {
    fn of(entrypoint: &Entrypoint) -> Self {
        Self { fetched: entrypoint.fetched, contained: entrypoint.contained.clone() }
    }
}

impl Default for Cargo {
    fn default() -> Self {
        Self::new(Environment::inherited())
    }
}

impl Runtime for Cargo {
    fn name(&self) -> &str {
        Language::Rust.name()
    }

    fn extensions(&self) -> &[&str] {
        Language::Rust.extensions()
    }

    fn claims(&self, path: &Path) -> bool {
        owner::is_source(path)
    }

    /// Asks cargo for its version: rustup may have put it on `PATH` without a toolchain behind it.
    fn availability(&self) -> Result<String, String> {
        let toolchain =
            self.neutral_toolchain(&Trust::default(), &Cancellation::new()).map_err(|_| MISSING)?;
        let version = toolchain.version()?;
        Ok(format!("{}, version {version}", toolchain.cargo.program.display()))
    }

    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let mut launches: Vec<_> =
            entrypoints.iter().map(|entrypoint| Err(not_built(&entrypoint.path))).collect();
        let trusts: IndexSet<Trust> = entrypoints.iter().map(Trust::of).collect();
        for trust in &trusts {
            let is_mine = |at: &usize| Trust::of(&entrypoints[*at]) == *trust;
            let mine = || (0..entrypoints.len()).filter(is_mine);
            let sources: Vec<PathBuf> = mine().map(|at| entrypoints[at].path.clone()).collect();
            let built = self.build(&sources, trust, cancellation, on_event);
            for (at, launch) in mine().zip(built) {
                launches[at] = launch;
            }
        }
        launches
    }

    fn has_tests(&self, source: &Path) -> bool {
        files::read_regular(source, files::MAX_SOURCE)
            .is_ok_and(|text| text.windows(7).any(|part| part == b"#[test]"))
    }

    fn own_tests(
        &self,
        entrypoint: &Entrypoint,
        args: &[OsString],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<OwnTests, PrepareError> {
        let trust = Trust::of(entrypoint);
        let toolchain = self.toolchain(&trust, cancellation)?;
        let mut owners = Owners::new(|manifest| toolchain.metadata(manifest));
        let (unit, script, program) =
            self.plan(&entrypoint.path, trust.fetched, &toolchain, &mut owners)?;
        let lock = script.as_ref().map(|it| generate(it, &toolchain, on_event)).transpose()?;
        let mut command = toolchain.building(["test"], &unit).map_err(|failure| {
            let summary = format!("{} {}", entrypoint.path.display(), failure.what);
            PrepareError::BuildFailed { summary, rendered: failure.rendered }
        })?;
        // The tests of an example run only if it is named.
        if unit.kind == ProgramKind::Example {
            command = command.args(["--example", &program]);
        }
        Ok(OwnTests {
            command: command.arg("--").args(args.iter().cloned()),
            count: TestCount::cargo(),
            renames: unit.renames,
            hint: "it has no function with #[test], or all are left out".to_owned(),
            lock,
        })
    }

    fn built(&self, entrypoint: &Entrypoint) -> Built {
        let trust = Trust::of(entrypoint);
        let Ok(toolchain) = self.neutral_toolchain(&trust, &Cancellation::new()) else {
            return Built::Unknown;
        };
        let mut owners = Owners::new(|manifest| toolchain.metadata(manifest));
        let planned = self.plan(&entrypoint.path, trust.fetched, &toolchain, &mut owners);
        let Ok((unit, _, program)) = planned else {
            return Built::Unknown;
        };
        toolchain
            .built(&unit, &program, &entrypoint.path)
            .map_or(Built::Stale, |launch| Built::Ready(Box::new(launch)))
    }

    /// The program, and the files of its package from which it was built.
    fn inputs(&self, entrypoint: &Entrypoint, launch: &Launch) -> Inputs {
        let program = PathBuf::from(&launch.one_shot.program);
        let manifest = launch.one_shot.variable("CARGO_MANIFEST_PATH").map(PathBuf::from);
        let source = paths::resolve(&entrypoint.path);
        let sources = match (manifest, source) {
            (Some(manifest), Ok(source)) => self.sources(&program, &manifest, &source),
            _ => BTreeSet::new(),
        };
        Inputs { files: [program].into(), sources, ..Inputs::default() }
    }
}

impl Unit {
    fn of_script(script: &Script, cache: &Path) -> Self {
        Self {
            manifest: script.manifest(),
            package: None,
            // Shared, so that dependencies are compiled once for all scripts.
            target_directory: cache.join("target"),
            build_directory: None,
            package_name: script.name.clone(),
            workspace: PathBuf::new(),
            features: Vec::new(),
            kind: ProgramKind::Bin,
            sources: script.sources().to_owned(),
            lone_file: Some(script.file_name()),
            renames: script.renames(),
        }
        .apart()
    }
}

/// Refuses programs that a later build has replaced: two packages of a workspace may have programs of the same name.
fn refuse_replaced(jobs: &[Job], results: &mut [Result<Launch, PrepareError>]) {
    let mut last: HashMap<OsString, usize> = HashMap::new();
    for (number, job) in jobs.iter().enumerate() {
        for &index in job.programs.iter().flat_map(|(_, sources)| sources) {
            if let Ok(launch) = &results[index] {
                last.insert(launch.one_shot.program.clone(), number);
            }
        }
    }
    for (number, job) in jobs.iter().enumerate() {
        for (name, sources) in &job.programs {
            for &index in sources {
                let Ok(launch) = &results[index] else { continue };
                if last.get(&launch.one_shot.program) != Some(&number) {
                    let reason = format!(
                        "another package of the workspace has a program called `{name}`, too; rename one, or update \
                         cargo to 1.91"
                    );
                    results[index] = Err(PrepareError::Unusable { reason });
                }
            }
        }
    }
}

/// The error for a program without a build result.
fn not_built(source: &Path) -> PrepareError {
    PrepareError::unusable(format!("{} was not built", source.display()))
}

/// Programs that one call of cargo builds.
///
/// They share everything that decides about features of dependencies, so that none is recompiled when another evaluator
/// of the package runs alone.
#[derive(Debug)]
struct Job {
    unit: Unit,
    script: Option<Script>,
    /// Names of the programs, and the sources that each belongs to.
    programs: Vec<(String, Vec<usize>)>,
}

impl Job {
    fn add(&mut self, program: String, source: usize) {
        match self.programs.iter_mut().find(|(name, _)| *name == program) {
            Some((_, sources)) => sources.push(source),
            None => self.programs.push((program, vec![source])),
        }
    }

    fn run(
        &self,
        toolchain: &Toolchain,
        sources: &[PathBuf],
        results: &mut [Result<Launch, PrepareError>],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) {
        // Held until the build has ended.
        let script = self.script.as_ref();
        let lock = script.map(|script| generate(script, toolchain, on_event)).transpose();
        if let Err(error) = &lock {
            for &source in self.programs.iter().flat_map(|(_, sources)| sources) {
                results[source] = Err(error.clone());
            }
            return;
        }
        let names: Vec<&str> = self.programs.iter().map(|(name, _)| name.as_str()).collect();
        let built = toolchain.build(&self.unit, &names, on_event);
        for ((_, indices), outcome) in self.programs.iter().zip(built) {
            for &index in indices {
                results[index] = match &outcome {
                    Ok(launch) => Ok(launch.clone()),
                    Err(failure) => Err(PrepareError::BuildFailed {
                        summary: format!("{} {}", sources[index].display(), failure.what),
                        rendered: failure.rendered.clone(),
                    }),
                };
            }
        }
    }
}

/// Writes the package of a script and returns its lock.
fn generate(
    script: &Script,
    toolchain: &Toolchain,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<File, PrepareError> {
    let lock = script.lock(&toolchain.cancellation, on_event)?;
    script.generate()?;
    // Outside of its sandbox, cargo sees a checked copy of the manifest of a contained evaluator.
    if !script.has_lockfile() && toolchain.contained.is_none() {
        toolchain.lock_offline(&script.manifest())?;
    }
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::{Directory, no_events};

    #[test]
    fn without_cargo_the_hint_says_what_to_install() {
        let directory = Directory::new("cargo-missing");
        let source = directory.file("check.rs", "fn main() {}");
        let runtime = Cargo::new(Environment::new([("PATH", "")]));
        let results = runtime.prepare(
            &[source.into(), directory.path("gone.rs").into()],
            &Cancellation::new(),
            &mut no_events,
        );
        assert_eq!(results[0], Err(PrepareError::runtime_missing(MISSING)));
        assert!(matches!(results[1], Err(PrepareError::NotFound { .. })), "{results:?}");
        assert_eq!(runtime.availability(), Err(MISSING.to_owned()));
    }

    #[test]
    fn without_a_place_for_builds_a_lone_file_says_what_to_set() {
        let directory = Directory::new("cargo-homeless");
        let source = directory.file("check.rs", "fn main() {}");
        let path = Environment::inherited().get("PATH").unwrap().to_owned();
        let results = Cargo::new(Environment::new([("PATH", path)])).prepare(
            &[source.into()],
            &Cancellation::new(),
            &mut no_events,
        );
        assert_eq!(
            results[0].as_ref().unwrap_err().to_string(),
            "no home directory to keep builds in; set EVALUATOR_CACHE_DIR"
        );
    }
}
