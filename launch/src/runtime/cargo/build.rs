//! Calls of cargo: what it builds, and the environment in which it would run the result.
//!
//! A program is started directly, in both of its forms: `cargo run` would check all sources first, every time, and block
//! every other cargo meanwhile. The variables that `cargo run` adds are added here.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use super::{
    environment::LIBRARY_PATH,
    log::{Failure, Log, headline},
};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{Launch, PrepareError, PrepareEvent, tool},
};

/// Time limit for calls that compile nothing. They may wait for the lock of the package cache.
pub(super) const QUERY_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Time limit for `cargo --version`.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// Cargo, and how it is called.
#[derive(Clone, Debug)]
pub(super) struct Toolchain {
    /// The program.
    pub(super) cargo: PathBuf,
    /// Changes to the inherited environment.
    pub(super) environment: Vec<(OsString, Option<OsString>)>,
    /// True to inherit nothing else.
    pub(super) clear_environment: bool,
    /// Profile of all builds.
    pub(super) profile: String,
    /// Time limit for a build.
    pub(super) limit: Duration,
    /// Stops every call.
    pub(super) cancellation: Cancellation,
}

/// What one call of cargo builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) manifest: PathBuf,
    /// Package id, needed if the manifest is part of a workspace.
    pub(super) package: Option<String>,
    pub(super) target_directory: PathBuf,
    /// Directory of intermediate results, mainly dependencies; the target directory if it cannot be chosen.
    pub(super) build_directory: Option<PathBuf>,
    pub(super) features: Vec<String>,
    pub(super) kind: ProgramKind,
    /// The file around which the package was generated: the user knows no other name for the program.
    pub(super) lone_file: Option<String>,
    /// Texts to replace in the output of cargo and the compiler, with their replacements.
    pub(super) renames: Vec<(String, String)>,
}

impl Unit {
    /// Path of a program that is built with this profile.
    pub(super) fn program(&self, name: &str, profile: &str) -> PathBuf {
        let directory = match profile {
            "dev" | "test" => "debug",
            "bench" => "release",
            other => other,
        };
        let mut path = self.target_directory.join(directory);
        if self.kind == ProgramKind::Example {
            path.push("examples");
        }
        path.join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// Directory of the intermediate results of a program in this directory.
    pub(super) fn intermediate(&self, directory: &Path) -> PathBuf {
        match (&self.build_directory, directory.strip_prefix(&self.target_directory)) {
            (Some(build), Ok(profile)) => build.join(profile),
            _ => directory.to_owned(),
        }
    }
}

/// Kinds of targets that can be run.
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
    /// Returns the version of cargo.
    pub(super) fn version(&self) -> Result<String, String> {
        let problem =
            match tool::output(&self.call(["--version"]), VERSION_LIMIT, &self.cancellation) {
                Ok(output) => {
                    let version = output.stdout.lines().last().and_then(|it| it.split(' ').nth(1));
                    match version.filter(|_| output.status.success()) {
                        Some(version) => return Ok(version.to_owned()),
                        None => output.stderr.lines().next().unwrap_or_default().to_owned(),
                    }
                }
                Err(error) => error.to_string(),
            };
        Err(format!(
            "`{} --version` fails: {problem}; install Rust from https://rustup.rs",
            self.cargo.display()
        ))
    }

    /// Describes the workspace of a manifest, without its dependencies.
    pub(super) fn metadata(&self, manifest: &Path) -> Result<String, PrepareError> {
        let command = self
            .call(["metadata", "--no-deps", "--format-version", "1", "--color", "never"])
            .arg("--manifest-path")
            .arg(manifest);
        let output = tool::output(&command, QUERY_LIMIT, &self.cancellation)
            .map_err(|error| PrepareError::unusable(error.to_string()))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let headline = headline(&output.stderr);
        Err(PrepareError::BuildFailed {
            summary: format!(
                "cargo cannot read {}: {}",
                manifest.display(),
                headline.as_deref().unwrap_or("it prints no error message")
            ),
            rendered: output.stderr,
        })
    }

    /// Locks dependencies to versions that are on this machine, if possible.
    ///
    /// So a first run needs no network if the crates are there. If some are missing, nothing is written, and the build
    /// asks the registry as usual.
    pub(super) fn lock_offline(&self, manifest: &Path) -> Result<(), PrepareError> {
        let command = self
            .call(["generate-lockfile", "--offline", "--quiet"])
            .arg("--manifest-path")
            .arg(manifest);
        tool::output(&command, QUERY_LIMIT, &self.cancellation)
            .map(drop)
            .map_err(|error| PrepareError::unusable(error.to_string()))
    }

    /// Builds the programs of one unit; one result for each.
    pub(super) fn build(
        &self,
        unit: &Unit,
        programs: &[&str],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, Failure>> {
        // A program that does not compile does not stop the others.
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
            .arg(&unit.target_directory);
        if let Some(package) = &unit.package {
            command = command.arg("--package").arg(package);
        }
        if let Some(directory) = &unit.build_directory {
            command = command.env("CARGO_BUILD_BUILD_DIR", directory);
        }
        if !unit.features.is_empty() {
            command = command.arg("--features").arg(unit.features.join(","));
        }
        command
    }
}

/// The source files of a program, from the list that cargo writes next to it; `None` if there is none.
pub(super) fn parts(program: &Path) -> Option<Vec<PathBuf>> {
    let list = fs::read_to_string(program.with_extension("d")).ok()?;
    // `PROGRAM: FILE FILE ..`, in the format of make. The text before the colon is the program.
    let mut files = words(list.lines().next()?).into_iter().skip(1).map(PathBuf::from);
    let first = files.next()?;
    Some(std::iter::once(first).chain(files).collect())
}

/// Returns true if the program exists and none of `parts` is missing or was changed after it.
pub(super) fn is_newest(program: &Path, parts: &[PathBuf]) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    let Some(built) = changed(program) else { return false };
    parts.iter().all(|part| changed(part).is_some_and(|changed| changed <= built))
}

/// Splits at blanks, where `\\ ` is a blank inside a word.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let current = words.last_mut().filter(|_| character != ' ');
        match (character, current) {
            ('\\', Some(word)) if characters.peek() == Some(&' ') => {
                characters.next();
                word.push(' ');
            }
            (_, Some(word)) => word.push(character),
            (_, None) => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Results of build scripts and of linking that a program needs at run time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Library directories of all build scripts, as they print them.
    pub(super) linked: Vec<String>,
    /// True if the program links a Rust library dynamically.
    pub(super) has_dylibs: bool,
    /// Variables that the build script of its own package sets.
    pub(super) own: Vec<(String, String)>,
    /// Output directory of that script.
    pub(super) out_dir: Option<PathBuf>,
}

/// Output of a build script, as reported by cargo.
#[derive(Debug, Deserialize)]
pub(super) struct ScriptOutput {
    package_id: String,
    #[serde(default)]
    linked_paths: Vec<String>,
    #[serde(default)]
    env: Vec<(String, String)>,
    out_dir: Option<PathBuf>,
}

impl Findings {
    /// The results that a program of this package needs.
    pub(super) fn new(scripts: &[ScriptOutput], package: Option<&str>, has_dylibs: bool) -> Self {
        let own = scripts.iter().find(|script| Some(&*script.package_id) == package);
        Self {
            linked: scripts.iter().flat_map(|script| script.linked_paths.iter().cloned()).collect(),
            has_dylibs,
            own: own.map(|script| script.env.clone()).unwrap_or_default(),
            out_dir: own.and_then(|script| script.out_dir.clone()),
        }
    }

    /// The variables for a program of this unit; `inherited` is the inherited library path.
    pub(super) fn environment(
        &self,
        unit: &Unit,
        program: &Path,
        inherited: Option<&OsStr>,
        rust_libraries: Option<PathBuf>,
    ) -> Vec<(OsString, Option<OsString>)> {
        let mut variables: Vec<(OsString, Option<OsString>)> = Vec::new();
        let mut set = |name: &str, value: OsString| variables.push((name.into(), Some(value)));
        if let Some(directory) = unit.manifest.parent() {
            set("CARGO_MANIFEST_DIR", directory.into());
            set("CARGO_MANIFEST_PATH", unit.manifest.clone().into());
        }
        if let Some(directory) = &self.out_dir {
            set("OUT_DIR", directory.into());
        }
        for (name, value) in &self.own {
            set(name, value.into());
        }
        if let Some(paths) = self.library_path(unit, program, inherited, rust_libraries) {
            set(LIBRARY_PATH, paths);
        }
        variables
    }

    /// The library path; `None` if the program needs no library that the system does not find itself.
    fn library_path(
        &self,
        unit: &Unit,
        program: &Path,
        inherited: Option<&OsStr>,
        rust_libraries: Option<PathBuf>,
    ) -> Option<OsString> {
        let directory = program.parent()?;
        // Examples are in a subdirectory of the profile.
        let profile = if directory.ends_with("examples") { directory.parent()? } else { directory };
        let intermediate = unit.intermediate(profile);
        // Other directories belong to the system, or would make the program depend on files outside of the build.
        let mut paths: Vec<PathBuf> = self
            .linked
            .iter()
            .map(|path| without_kind(path))
            .filter(|path| path.starts_with(&intermediate))
            .collect();
        if paths.is_empty() && !self.has_dylibs {
            return None;
        }
        paths.extend([intermediate.join("deps"), profile.to_owned()]);
        paths.extend(rust_libraries);
        paths.extend(inherited.into_iter().flat_map(env::split_paths));
        // A directory whose name contains a separator cannot be on any path.
        env::join_paths(paths).ok()
    }
}

/// Turns `native=/p` into `/p`.
fn without_kind(path: &str) -> PathBuf {
    const KINDS: [&str; 5] = ["native", "crate", "dependency", "framework", "all"];
    match path.split_once('=') {
        Some((kind, path)) if KINDS.contains(&kind) => path.into(),
        _ => path.into(),
    }
}

impl Toolchain {
    /// Returns the function that makes the launch of a program of a unit.
    pub(super) fn launcher(
        &self,
        unit: &Unit,
        has_dylibs: bool,
    ) -> impl Fn(Findings, PathBuf) -> Launch {
        let rust_libraries = if has_dylibs { self.rust_libraries() } else { None };
        let inherited = self.library_path();
        move |findings, program| {
            let (inherited, libraries) = (inherited.as_deref(), rust_libraries.clone());
            let env = findings.environment(unit, &program, inherited, libraries);
            Launch::new(CommandSpec { env, ..CommandSpec::new(program) }).with_stream()
        }
    }

    /// The library path that programs inherit, without the directories of an outer cargo.
    fn library_path(&self) -> Option<OsString> {
        let changed = self.environment.iter().find(|(name, _)| name == LIBRARY_PATH);
        match changed {
            Some((_, value)) => value.clone(),
            None if self.clear_environment => None,
            None => env::var_os(LIBRARY_PATH),
        }
    }

    /// Directory of the dynamic libraries of Rust itself.
    fn rust_libraries(&self) -> Option<PathBuf> {
        let rustc = self.cargo.with_file_name(format!("rustc{}", env::consts::EXE_SUFFIX));
        let mut command =
            CommandSpec { program: rustc.into(), ..self.call(["--print", "target-libdir"]) };
        command.cwd = None;
        // Without it, the program reports itself what it does not find.
        let output = tool::output(&command, QUERY_LIMIT, &self.cancellation).ok()?;
        let directory = output.stdout.lines().last().filter(|_| output.status.success())?;
        Some(PathBuf::from(directory.trim()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn a_program_is_stale_when_a_part_of_it_is_newer_or_gone() {
        let directory = Folder::new("cargo-freshness");
        let source = directory.file("a b.rs", "");
        let program = directory.file("check", "");
        assert_eq!(parts(&program), None);
        let escaped = source.display().to_string().replace(' ', "\\ ");
        directory.file("check.d", &format!("{}: {escaped}\n", program.display()));
        assert_eq!(parts(&program), Some(vec![source.clone()]));
        let built = SystemTime::now();
        let set = |path: &Path, time| {
            fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap()
        };
        set(&program, built);
        set(&source, built - Duration::from_secs(1));
        assert!(is_newest(&program, std::slice::from_ref(&source)));
        set(&source, built + Duration::from_secs(1));
        assert!(!is_newest(&program, std::slice::from_ref(&source)));
        fs::remove_file(&source).unwrap();
        assert!(!is_newest(&program, &[source]));
        assert!(!is_newest(&directory.path("gone"), &[]));
    }
}

#[cfg(test)]
mod launch_tests {
    use super::{super::build::ProgramKind, *};

    fn variables(findings: &Findings, program: &str) -> Vec<(String, String)> {
        let unit = Unit {
            manifest: "/p/Cargo.toml".into(),
            package: None,
            target_directory: "/t/evaluator/p".into(),
            build_directory: Some("/t".into()),
            features: Vec::new(),
            kind: ProgramKind::Bin,
            lone_file: None,
            renames: Vec::new(),
        };
        findings
            .environment(&unit, Path::new(program), Some("/opt/lib".as_ref()), None)
            .into_iter()
            .map(|(name, value)| {
                (name.into_string().unwrap(), value.unwrap().into_string().unwrap())
            })
            .collect()
    }

    fn of(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_plain_program_is_told_where_its_package_is() {
        let expected = [("CARGO_MANIFEST_DIR", "/p"), ("CARGO_MANIFEST_PATH", "/p/Cargo.toml")];
        let system = Findings { linked: vec!["native=/usr/lib".to_owned()], ..Findings::default() };
        for findings in [Findings::default(), system] {
            assert_eq!(variables(&findings, "/t/evaluator/p/debug/a"), of(&expected));
        }
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn what_build_scripts_made_is_found() {
        let findings = Findings {
            linked: vec!["native=/t/debug/build/x/out".to_owned(), "/usr/lib".to_owned()],
            own: of(&[("MODEL", "small")]),
            out_dir: Some("/t/debug/build/a/out".into()),
            ..Findings::default()
        };
        let expected = [
            ("CARGO_MANIFEST_DIR", "/p"),
            ("CARGO_MANIFEST_PATH", "/p/Cargo.toml"),
            ("OUT_DIR", "/t/debug/build/a/out"),
            ("MODEL", "small"),
            ("LD_LIBRARY_PATH", "/t/debug/build/x/out:/t/debug/deps:/t/evaluator/p/debug:/opt/lib"),
        ];
        for program in ["/t/evaluator/p/debug/a", "/t/evaluator/p/debug/examples/a"] {
            assert_eq!(variables(&findings, program), of(&expected), "{program}");
        }
    }
}
