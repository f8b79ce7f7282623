//! Calls of cargo: what it builds, and the environment in which it would run the result.
//!
//! A program is started directly, in both of its forms: `cargo run` would check all sources first, every time, and block
//! every other cargo meanwhile. The variables that `cargo run` adds are added here.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    findings::{Findings, LIBRARY_PATH},
    log::{Failure, Log, headline},
    toolchain::{QUERY_LIMIT, Toolchain},
    unit::Unit,
};
use crate::{
    environment::{is_harmless, is_listed},
    files,
    process::CommandSpec,
    runtime::{
        Environment, Launch, PrepareError, PrepareEvent,
        tool::{self, ToolOutput},
    },
};

/// Time limit for `cargo --version`.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

impl Toolchain {
    /// Returns the version of cargo.
    pub(super) fn version(&self) -> Result<String, String> {
        let read = |output: ToolOutput| {
            let version = output.stdout.lines().last().and_then(|it| it.split(' ').nth(1));
            let problem = || output.stderr.lines().next().unwrap_or_default().to_owned();
            version.filter(|_| output.status.success()).map(str::to_owned).ok_or_else(problem)
        };
        tool::output(&self.call(["--version"]), VERSION_LIMIT, &self.cancellation)
            .map_err(|error| error.to_string())
            .and_then(read)
            .map_err(|problem| {
                let cargo = self.cargo.program.display();
                format!("`{cargo} --version` fails: {problem}; install Rust from https://rustup.rs")
            })
    }

    /// Describes the workspace of a manifest, without its dependencies.
    pub(super) fn metadata(&self, manifest: &Path) -> Result<String, PrepareError> {
        match &self.contained {
            Some(contained) => self.metadata_of_copy(contained, manifest),
            None => self.metadata_of(manifest),
        }
    }

    pub(super) fn metadata_of(&self, manifest: &Path) -> Result<String, PrepareError> {
        let args = ["metadata", "--no-deps", "--format-version", "1", "--color", "never"];
        let output = self.query(args, manifest)?;
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
        self.query(["generate-lockfile", "--offline", "--quiet"], manifest).map(drop)
    }

    fn query<const N: usize>(
        &self,
        args: [&str; N],
        manifest: &Path,
    ) -> Result<ToolOutput, PrepareError> {
        let command = self.call(args).arg("--manifest-path").arg(manifest);
        tool::output(&command, QUERY_LIMIT, &self.cancellation)
            .map_err(|error| PrepareError::unusable(error.to_string()))
    }

    /// The program of an earlier build for `source`, unless its sources have changed since.
    pub(super) fn built(&self, unit: &Unit, name: &str, source: &Path) -> Option<Launch> {
        let program = unit.program(name, &self.profile);
        let launch = self.launcher(unit, false)(Findings::default(), program.clone());
        let launch = match &self.contained {
            Some(contained) => contained.accept(unit, launch).ok()?,
            None => launch,
        };
        let mut files = parts(&program)?;
        files.extend([source.to_owned(), unit.manifest.clone()]);
        is_newest(&program, &files).then_some(launch)
    }

    /// Builds the programs of one unit; one result for each.
    pub(super) fn build(
        &self,
        unit: &Unit,
        programs: &[&str],
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, Failure>> {
        // A program that does not compile does not stop the others.
        let command = match self.building(["build", "--message-format=json", "--keep-going"], unit)
        {
            Ok(command) => command,
            Err(failure) => return programs.iter().map(|_| Err(failure.clone())).collect(),
        };
        let command = programs.iter().fold(command, |command, program| {
            command.arg(format!("--{}", unit.kind.name())).arg(program)
        });
        let mut log = Log::new(unit, programs);
        let outcome =
            tool::run(&command, None, self.limit, &self.cancellation, &mut |stream, line| {
                log.line(stream, line, on_event)
            });
        log.finish(on_event);
        let built = self.launcher(unit, log.has_dylibs);
        let built = |program: PathBuf| {
            let launch = built(log.findings_for(&program), program);
            self.contained.as_ref().map_or(Ok(launch.clone()), |it| it.accept(unit, launch))
        };
        programs.iter().map(|program| log.result_of(program, &outcome).and_then(built)).collect()
    }

    pub(super) fn call<const N: usize>(&self, args: [&str; N]) -> CommandSpec {
        self.cargo.clone().args(args)
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
    let list = files::read_own(&program.with_extension("d"), files::MAX_SOURCE).ok()?;
    let list = String::from_utf8(list).ok()?;
    // `PROGRAM: FILE FILE ..`, in the format of make, where `\\ ` is a blank inside a path.
    let line = list.lines().next()?.replace("\\ ", "\0");
    let words = line.split(' ').filter(|word| !word.is_empty());
    let files: Vec<PathBuf> = words.skip(1).map(|word| word.replace('\0', " ").into()).collect();
    (!files.is_empty()).then_some(files)
}

/// Returns true if the program exists and none of `parts` is missing or was changed after it.
fn is_newest(program: &Path, parts: &[PathBuf]) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    let Some(built) = changed(program) else { return false };
    parts.iter().all(|part| changed(part).is_some_and(|changed| changed <= built))
}

impl Toolchain {
    /// Returns the function that makes the launch of a program of a unit.
    pub(super) fn launcher(
        &self,
        unit: &Unit,
        has_dylibs: bool,
    ) -> impl Fn(Findings, PathBuf) -> Launch {
        let mut libraries = Vec::new();
        if has_dylibs {
            libraries.extend(self.rust_libraries());
        }
        // Without the directories of an outer cargo.
        let inherited = self.call([]).variable(LIBRARY_PATH);
        libraries.extend(inherited.iter().flat_map(env::split_paths));
        move |findings, program| {
            let visible = findings.visible(unit, &program, &libraries);
            Launch::new(findings.command(unit, program, &libraries))
                .with_stream()
                .with_visible(visible)
        }
    }

    /// Directory of the dynamic libraries of Rust itself.
    fn rust_libraries(&self) -> Option<PathBuf> {
        let rustc = format!("rustc{}", env::consts::EXE_SUFFIX);
        let rustc = Path::new(&self.cargo.program).with_file_name(rustc);
        let command =
            CommandSpec { program: rustc.into(), ..self.call(["--print", "target-libdir"]) };
        // Without it, the program reports itself what it does not find.
        let output = tool::output(&command, QUERY_LIMIT, &self.cancellation).ok()?;
        let directory = output.stdout.lines().last().filter(|_| output.status.success())?;
        Some(PathBuf::from(directory.trim()))
    }
}

/// Variables that choose directories of build results.
const TARGET_DIRECTORIES: &str = "CARGO_BUILD_BUILD_DIR CARGO_BUILD_TARGET_DIR CARGO_TARGET_DIR";

/// Changes to `inherited` for cargo, as in [`CommandSpec::env`](crate::process::CommandSpec::env).
///
/// This program may itself run under cargo (`cargo run`, `cargo test`, `cargo evaluator`). The variables of the outer cargo
/// must not reach the inner one: another target directory would make both wait for one lock, and other compiler flags
/// would recompile everything.
///
/// `program` is the path of this program: an outer cargo has put its directory on the library path.
pub(super) fn changes(
    inherited: &Environment,
    program: Option<&Path>,
) -> Vec<(OsString, Option<OsString>)> {
    // Under an outer cargo they are for its package; otherwise the user has chosen them for all builds.
    let is_nested = inherited.get("CARGO_MANIFEST_DIR").is_some();
    let mut changes: Vec<_> = inherited
        .iter()
        .filter(|(name, _)| {
            name.to_str().is_some_and(|name| {
                is_scrubbed(name) || is_nested && is_listed(name, TARGET_DIRECTORIES)
            })
        })
        .map(|(name, _)| (name.to_owned(), None))
        .collect();
    if is_nested && let Some(paths) = inherited.get(LIBRARY_PATH) {
        let cleaned = without_outer_build(paths, inherited, program);
        if cleaned.as_deref() != Some(paths) {
            changes.push((LIBRARY_PATH.into(), cleaned));
        }
    }
    changes
}

/// The environment of a cargo that builds a fetched evaluator, whose build scripts and macros run then.
///
/// Cargo must find its own files and reach crates. Credentials of registries are not included, nor are proxies that
/// need a password.
pub(super) fn confined(inherited: &Environment) -> Environment {
    const CONFINED: &str = "CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTUP_AUTO_INSTALL SSL_CERT_FILE SSL_CERT_DIR NO_PROXY no_proxy";
    const PROXIES: &str = "HTTPS_PROXY https_proxy HTTP_PROXY http_proxy ALL_PROXY all_proxy";
    inherited.retaining(|name, value| {
        let Some(name) = name.to_str() else { return false };
        let is_open = || value.to_str().is_some_and(|value| !value.contains('@'));
        is_harmless(name)
            || is_listed(name, CONFINED)
            || name.starts_with("CARGO_NET_")
            || name.starts_with("CARGO_HTTP_") && is_open()
            || is_listed(name, PROXIES) && is_open()
    })
}

/// Returns true for variables by which an outer cargo, a wrapper around it (clippy, coverage), or a shell changes what
/// is built and where.
///
/// Compiler flags are left to the configuration files of cargo, so that they are the same for every run.
/// `RUSTUP_TOOLCHAIN` stays: it is either what the user asked for, or what rustup would choose for this directory. So
/// do `CARGO_HOME`, `CARGO_NET_*`, `CARGO_HTTP_*`, `CARGO_REGISTRIES_*` and similar variables, which say how to reach
/// crates.
fn is_scrubbed(name: &str) -> bool {
    const NAMES: &str = "\
        CARGO CARGO_BIN_NAME CARGO_BUILD_RUSTFLAGS CARGO_CRATE_NAME CARGO_ENCODED_RUSTDOCFLAGS \
        CARGO_ENCODED_RUSTFLAGS CARGO_MAKEFLAGS CARGO_MANIFEST_DIR CARGO_MANIFEST_LINKS CARGO_MANIFEST_PATH \
        CARGO_PRIMARY_PACKAGE CARGO_TARGET_TMPDIR OUT_DIR RUSTC RUSTC_LINKER RUSTC_WORKSPACE_WRAPPER RUSTC_WRAPPER \
        RUSTDOC RUSTDOCFLAGS RUSTFLAGS RUST_RECURSION_COUNT";
    const PREFIXES: &str = "CARGO_BIN_EXE_ CARGO_CFG_ CARGO_FEATURE_ CARGO_PKG_";
    is_listed(name, NAMES)
        || PREFIXES.split(' ').any(|prefix| name.starts_with(prefix))
        || (name.starts_with("CARGO_TARGET_") && name.ends_with("_RUSTFLAGS"))
}

/// The library path without the directories of the outer build and its toolchain; `None` if nothing is left.
fn without_outer_build(
    paths: &OsStr,
    inherited: &Environment,
    program: Option<&Path>,
) -> Option<OsString> {
    let toolchains = inherited.get("RUSTUP_HOME").map(|home| Path::new(home).join("toolchains"));
    let own = program.and_then(Path::parent);
    // A program is in the directory of the profile, a test in `deps` or another subdirectory.
    let profiles: Vec<&Path> = own.into_iter().chain(own.and_then(Path::parent)).collect();
    let outer = |path: &Path| {
        let names: Vec<&OsStr> = path.iter().collect();
        names.windows(3).any(|names| names[0] == "lib" && names[1] == "rustlib")
            || toolchains.as_deref().is_some_and(|toolchains| path.starts_with(toolchains))
            || profiles.iter().any(|profile| {
                path == *profile
                    || path == profile.join("deps")
                    || path.starts_with(profile.join("build"))
            })
    };
    let kept: Vec<PathBuf> = env::split_paths(paths).filter(|path| !outer(path)).collect();
    if kept.iter().all(|path| path.as_os_str().is_empty()) {
        return None;
    }
    // It was split before, so no entry contains a separator.
    env::join_paths(kept).ok()
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        time::{Duration, SystemTime},
    };

    use super::*;
    use crate::runtime::testing::Directory;

    #[test]
    fn a_program_is_stale_when_a_part_of_it_is_newer_or_gone() {
        let directory = Directory::new("cargo-freshness");
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
mod environment_tests {
    use super::*;

    fn removed(vars: &[(&str, &str)]) -> Vec<String> {
        changes(&Environment::new(vars.iter().copied()), None)
            .into_iter()
            .map(|(name, value)| {
                assert_eq!(value, None);
                name.into_string().unwrap()
            })
            .collect()
    }

    #[test]
    fn what_an_outer_cargo_says_about_its_package_is_removed() {
        let vars = [
            ("CARGO", "/c"),
            ("CARGO_PKG_NAME", "outer"),
            ("CARGO_MANIFEST_DIR", "/outer"),
            ("CARGO_BIN_EXE_evaluator", "/e"),
            ("CARGO_TARGET_DIR", "/t"),
            ("CARGO_ENCODED_RUSTFLAGS", "-Dwarnings"),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-Dwarnings"),
            ("RUSTFLAGS", "-Dwarnings"),
            ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
        ];
        assert_eq!(removed(&vars), vars.map(|(name, _)| name));
    }

    #[test]
    fn a_confined_cargo_finds_its_own_and_sees_no_secrets() {
        let allowed = [
            ("PATH", "/bin"),
            ("CARGO_HOME", "/h"),
            ("CARGO_NET_OFFLINE", "true"),
            ("https_proxy", "http://p:1"),
        ];
        let secret = [
            ("GITHUB_TOKEN", "t"),
            ("CARGO_REGISTRY_TOKEN", "t"),
            ("CARGO_REGISTRIES_MINE_TOKEN", "t"),
            ("HTTPS_PROXY", "http://u:p@p:1"),
            ("CARGO_HTTP_PROXY", "http://u:p@p:1"),
            ("RUSTFLAGS", "-Dwarnings"),
        ];
        let inherited = Environment::new(allowed.into_iter().chain(secret));
        assert_eq!(confined(&inherited), Environment::new(allowed));
    }

    #[test]
    fn what_says_how_to_reach_crates_or_belongs_to_the_evaluator_stays() {
        let vars = [
            ("CARGO_HOME", "/h"),
            ("CARGO_NET_OFFLINE", "true"),
            ("CARGO_HTTP_PROXY", "p"),
            ("CARGO_REGISTRIES_MINE_TOKEN", "t"),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", "clang"),
            ("CARGO_TARGET_DIR", "/t"),
            ("RUSTUP_HOME", "/r"),
            ("RUSTUP_TOOLCHAIN", "nightly"),
            ("RUST_LOG", "debug"),
            ("RUST_BACKTRACE", "1"),
            ("HTTPS_PROXY", "p"),
            ("OPENAI_API_KEY", "k"),
            ("CARGO_PKGS", "not cargo's"),
        ];
        assert_eq!(removed(&vars), [""; 0]);
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn directories_of_the_outer_build_leave_the_library_path() {
        let outer = "/p/target/debug/build/x/out:/p/target/debug:/p/target/debug/deps:\
                     /r/toolchains/t/lib/rustlib/x/lib:/r/toolchains/t/lib";
        let vars = |paths: String| {
            Environment::new([("CARGO_MANIFEST_DIR", "/p"), ("RUSTUP_HOME", "/r")])
                .with("LD_LIBRARY_PATH", paths)
        };
        let path_after = |environment: &Environment, program: &str| {
            changes(environment, Some(Path::new(program)))
                .into_iter()
                .find(|(name, _)| name == "LD_LIBRARY_PATH")
                .map(|(_, value)| value.map(|value| value.into_string().unwrap()))
        };
        for program in ["/p/target/debug/evaluator", "/p/target/debug/deps/cargo_runtime-1f"] {
            assert_eq!(path_after(&vars(outer.to_owned()), program), Some(None));
            assert_eq!(
                path_after(&vars(format!("{outer}:/opt/lib")), program),
                Some(Some("/opt/lib".to_owned()))
            );
        }
        assert_eq!(path_after(&vars("/opt/lib".to_owned()), "/p/target/debug/evaluator"), None);

        let not_under_cargo = Environment::new([("LD_LIBRARY_PATH", "/p/target/debug")]);
        assert_eq!(path_after(&not_under_cargo, "/p/target/debug/evaluator"), None);
    }
}
