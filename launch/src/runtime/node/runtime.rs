//! The runtime of JavaScript and TypeScript files.
//!
//! The cache is enabled by a module that is loaded before the evaluator and not by `NODE_COMPILE_CACHE`, which the
//! evaluator and its children would see. The directory belongs to one evaluator of one run: code that outlives a run
//! could have been replaced by another user, and no hash of the sources would show it.
//!
//! Node.js is not started ahead: an interpreter that waits for work takes the same processor time, and it cannot be
//! forked because it has threads from its first moment on.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use crate::{
    environment::is_script,
    executor::contain_build,
    files,
    process::{Cancellation, CommandSpec},
    runtime::{
        CachedCommand, Entrypoint, Environment, Inputs, Language, Launch, PrepareError,
        PrepareEvent, PrivateDirectory, Reuse, Runtime, Syntax, imports,
        own_tests::{Convention, OwnTests, TestCount},
        paths, syntax, tool,
    },
};

const MISSING: &str =
    "node was not found on PATH; install Node.js 18 or later from https://nodejs.org";

/// Time limit for `node --version`.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// Files that define the package of a source and its dependencies.
const PACKAGE_FILES: [&str; 6] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "tsconfig.json",
];

/// File of npm that lists what is installed.
const INSTALLED: &str = "node_modules/.package-lock.json";

/// Runs JavaScript or TypeScript files with the `node` found on `PATH`.
///
/// How TypeScript runs depends on the version of Node.js: newer ones strip types themselves; for older ones `tsx` is
/// used if the project or the machine has it, and otherwise the file must not contain type annotations nor be an ES
/// module.
#[derive(Debug)]
pub struct Node {
    language: Language,
    environment: Environment,
    /// Asked once, and only if it matters: it costs a process start.
    version: OnceLock<Result<Version, String>>,
}

impl Node {
    /// The runtime of `.js`, `.mjs` and `.cjs` files.
    pub fn javascript(environment: Environment) -> Self {
        Self { language: Language::JavaScript, environment, version: OnceLock::new() }
    }

    /// The runtime of `.ts`, `.mts` and `.cts` files.
    pub fn typescript(environment: Environment) -> Self {
        Self { language: Language::TypeScript, environment, version: OnceLock::new() }
    }

    fn find(&self) -> Result<PathBuf, PrepareError> {
        self.environment.find_program("node").ok_or_else(|| PrepareError::runtime_missing(MISSING))
    }

    fn known_version(&self, node: &Path, cancellation: &Cancellation) -> Result<Version, String> {
        self.version.get_or_init(|| Version::ask(node, cancellation)).clone()
    }

    fn version(&self, node: &Path, cancellation: &Cancellation) -> Result<Version, PrepareError> {
        self.known_version(node, cancellation).map_err(PrepareError::runtime_missing)
    }

    /// Decides whether processes of `command` share compiled code.
    ///
    /// Only Node.js 22.12 and later can do so for all modules, and it pays only where there is much to compile. Measured on
    /// Node.js 24 against `isolation: process`: 1.17 times as fast for a small file, 1.61 times for a package of 2 MB, 2.18
    /// times for TypeScript. On Node.js 20 nothing is gained.
    fn reuse(
        &self,
        (node, command): (&Path, &CommandSpec),
        source: &Path,
        cancellation: &Cancellation,
    ) -> Reuse {
        let is_typescript = self.language == Language::TypeScript;
        let has_much = || has_much_to_compile(source);
        // `tsx` has a cache of its own.
        if *command.program != *node || !is_typescript && !has_much() {
            return Reuse::None;
        }
        let unavailable = |reason: &str| Reuse::Unavailable { reason: Reuse::not_cached(reason) };
        let version = match self.known_version(node, cancellation) {
            Ok(version) => version,
            Err(reason) => return unavailable(&reason),
        };
        if !version.caches_modules() {
            unavailable(&format!("Node.js {version} keeps no compiled modules; 22.12 does"))
        } else if is_typescript && !version.caches_stripped_types() && !has_much() {
            Reuse::None
        } else if is_script(node) {
            // A wrapper may not pass on its arguments.
            unavailable(&format!("{} is a script", node.display()))
        } else {
            Reuse::CompiledCode(cached)
        }
    }

    /// Returns the command that runs a TypeScript file, and a note for the user. Runs and checks share this decision.
    fn typescript_command(
        &self,
        node: &Path,
        source: &Path,
        cancellation: &Cancellation,
    ) -> Result<(CommandSpec, Option<String>), PrepareError> {
        let version = self.version(node, cancellation)?;
        let command = CommandSpec::new(node);
        match version.type_stripping() {
            TypeStripping::Always => Ok((command.arg(source), None)),
            TypeStripping::Flag => {
                Ok((command.arg("--experimental-strip-types").arg(source), None))
            }
            TypeStripping::Never => match self.find_tsx(source) {
                Some(tsx) => {
                    let mut command = CommandSpec::new(tsx).arg(source);
                    // It is a script that looks for Node.js, and engines start programs without variables.
                    if let (None, Some(directory)) = (command.variable("PATH"), node.parent()) {
                        let mut path = directory.as_os_str().to_owned();
                        path.push(":");
                        let others = self.environment.get("PATH");
                        path.push(others.unwrap_or(OsStr::new("/usr/bin:/bin")));
                        command = command.env("PATH", path);
                    }
                    Ok((command, None))
                }
                // Node.js would refuse the file, by its kind or for its types.
                None if in_module_package(source)
                    || paths::has_extension(source, &[".mts"])
                    || syntax::typescript(node, source, cancellation) != Syntax::Sound =>
                {
                    Err(PrepareError::runtime_missing(too_old(version)))
                }
                None => {
                    let note = format!(
                        "note: Node.js {version} runs {} as plain JavaScript; for type annotations \
                         install Node.js 22.18 or later, or `npm install --save-dev tsx`",
                        source.display()
                    );
                    Ok((command.arg(source), Some(note)))
                }
            },
        }
    }

    /// Returns how the Node.js of an image runs a file, which sees its package.
    fn in_image(&self, source: &Path) -> Launch {
        let node = CommandSpec::new("node");
        // Versions that need no flag accept it, too.
        let node = match self.language {
            Language::TypeScript => node.arg("--experimental-strip-types"),
            _ => node,
        };
        let is_package = |directory: &&Path| {
            ["package.json", "node_modules"].iter().any(|name| directory.join(name).exists())
        };
        let mut directories = source.ancestors().skip(1);
        let directory = directories.find(is_package).or(source.parent()).unwrap_or(source);
        Launch::in_image(node, source, directory)
    }

    /// Returns `tsx` of the project of the file, or of the machine.
    fn find_tsx(&self, source: &Path) -> Option<PathBuf> {
        source
            .ancestors()
            .skip(1)
            .find_map(|directory| {
                self.environment.find_program(directory.join("node_modules/.bin/tsx"))
            })
            .or_else(|| self.environment.find_program("tsx"))
    }
}

impl Runtime for Node {
    fn name(&self) -> &str {
        self.language.name()
    }

    fn extensions(&self) -> &[&str] {
        self.language.extensions()
    }

    /// Asks Node.js for its version. TypeScript is available if files with type annotations can run.
    fn availability(&self) -> Result<String, String> {
        let node = self.environment.find_program("node").ok_or_else(|| MISSING.to_owned())?;
        let version = self.known_version(&node, &Cancellation::new())?;
        if self.language == Language::TypeScript && version.type_stripping() == TypeStripping::Never
        {
            let tsx = self.environment.find_program("tsx").ok_or_else(|| too_old(version))?;
            return Ok(tsx.display().to_string());
        }
        Ok(format!("{}, version {version}", node.display()))
    }

    /// Decides as [`prepare`](Runtime::prepare) does.
    fn inspect(&self, entrypoint: &Entrypoint) -> Result<String, PrepareError> {
        let source = paths::resolve(&entrypoint.path)?;
        if let Some(image) = &entrypoint.image {
            return Ok(format!("node of the image {}", image.name()));
        }
        let node = self.find()?;
        let cancellation = Cancellation::new();
        let version = self.version(&node, &cancellation)?;
        let mut about = format!("{}, version {version}", node.display());
        if self.language == Language::TypeScript {
            let (command, note) = self.typescript_command(&node, &source, &cancellation)?;
            if *command.program != *node {
                about = command.program.display().to_string();
            } else if note.is_some() {
                about.push_str(", as plain JavaScript");
            }
        }
        Ok(about)
    }

    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let node = self.find();
        entrypoints
            .iter()
            .map(|Entrypoint { path, image, .. }| {
                let source = paths::resolve(path)?;
                if image.is_some() {
                    return Ok(self.in_image(&source));
                }
                let node = node.clone()?;
                let command = match self.language {
                    Language::TypeScript => {
                        let (command, note) =
                            self.typescript_command(&node, &source, cancellation)?;
                        if let Some(rendered) = note {
                            on_event(PrepareEvent::Diagnostic { rendered });
                        }
                        command
                    }
                    _ => CommandSpec::new(&node).arg(&source),
                };
                let reuse = self.reuse((&node, &command), &source, cancellation);
                let visible = visible((&node, &command), &source, &self.environment);
                Ok(Launch::new(command).with_reuse(reuse).with_visible(visible))
            })
            .collect()
    }

    fn has_tests(&self, source: &Path) -> bool {
        TESTS.has_tests(source)
    }

    fn own_tests(
        &self,
        entrypoint: &Entrypoint,
        args: &[OsString],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<OwnTests, PrepareError> {
        let source = paths::resolve(&entrypoint.path)?;
        let launch = self.prepare(&[source.clone().into()], cancellation, on_event).remove(0)?;
        let files = TESTS.find(&source)?;
        let visible = launch.visible.paths;
        let mut command = launch.one_shot;
        // The last argument is the evaluator.
        command.args.pop();
        command.cwd = source.parent().map(Path::to_owned);
        let mut command = command
            .args(["--test", "--test-reporter=spec"])
            .args(args.iter().cloned())
            .args(&files);
        if let Some(containment) = &entrypoint.contained {
            let read = visible.iter().chain(&containment.read).cloned().collect();
            command = contain_build(command, containment, read, Vec::new())
                .map_err(PrepareError::runtime_missing)?;
        }
        Ok(OwnTests {
            command,
            count: TestCount::node(files),
            renames: Vec::new(),
            hint: TESTS.places.to_owned(),
            lock: None,
        })
    }

    /// The file and its relative imports, its package with the locked or installed versions, and the program that runs it.
    fn inputs(&self, entrypoint: &Entrypoint, launch: &Launch) -> Inputs {
        let source = paths::resolve(&entrypoint.path).unwrap_or_else(|_| entrypoint.path.clone());
        let mut inputs = imports::of_script(&source);
        if launch.one_shot.variable("NODE_PATH").is_some_and(|value| !value.is_empty()) {
            inputs.dynamic_code.get_or_insert_with(|| "NODE_PATH, which is set".to_owned());
        }
        let mut directories = source.ancestors().skip(1);
        if let Some(package) = directories.find(|path| path.join("package.json").is_file()) {
            let there = PACKAGE_FILES.iter().map(|name| package.join(name));
            inputs.files.extend(there.filter(|path| path.is_file()));
            let installed = files::read_regular(&package.join(INSTALLED), files::MAX_SOURCE);
            inputs.notes.extend(installed.ok().and_then(|text| String::from_utf8(text).ok()));
        }
        inputs.programs.insert(launch.one_shot.program.clone().into());
        inputs
    }

    fn package_directory(&self, entrypoint: &Entrypoint) -> Option<PathBuf> {
        package_of(&paths::resolve(&entrypoint.path).ok()?, &self.environment)
    }

    fn check_syntax(&self, source: &Path, cancellation: &Cancellation) -> Syntax {
        let Some(node) = self.environment.find_program("node") else {
            return Syntax::Unchecked { reason: MISSING.to_owned() };
        };
        match self.language {
            Language::TypeScript => syntax::typescript(&node, source, cancellation),
            _ => syntax::javascript(&node, source, cancellation),
        }
    }
}

/// Returns the directory of the package that a source belongs to. One with the home directory or a cache does not count.
fn package_of(source: &Path, environment: &Environment) -> Option<PathBuf> {
    let is_package = |directory: &&Path| {
        directory.join("package.json").is_file() || directory.join("node_modules").is_dir()
    };
    let package = source.ancestors().skip(1).find(is_package);
    package.filter(|it| paths::is_narrow(it, environment)).map(Path::to_owned)
}

/// Returns the paths that an evaluator reads in a sandbox: its package, or the directory of a file that belongs to none, and
/// the programs that run it.
fn visible(
    (node, command): (&Path, &CommandSpec),
    source: &Path,
    environment: &Environment,
) -> Vec<PathBuf> {
    let package =
        package_of(source, environment).unwrap_or_else(|| paths::around(source, environment));
    let program = PathBuf::from(&command.program);
    // Packages of the machine are links into their own directories.
    let real = program.canonicalize().ok().filter(|real| *real != program && program != node);
    let real = real.map(|real| paths::around(&real, environment));
    [package, node.to_owned(), program].into_iter().chain(real).collect()
}

fn too_old(version: Version) -> String {
    format!(
        "Node.js {version} cannot run TypeScript; install Node.js 22.18 or later, or `npm install --save-dev tsx`"
    )
}

/// Returns true if the nearest `package.json` makes files ES modules.
fn in_module_package(source: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Package {
        r#type: Option<String>,
    }
    source
        .ancestors()
        .skip(1)
        .find_map(|directory| {
            files::read_regular(&directory.join("package.json"), files::MAX_SOURCE).ok()
        })
        .and_then(|text| serde_json::from_slice::<Package>(&text).ok())
        .is_some_and(|package| package.r#type.as_deref() == Some("module"))
}

/// A version of Node.js.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
#[display("{major}.{minor}")]
struct Version {
    major: u32,
    minor: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypeStripping {
    Always,
    Flag,
    Never,
}

impl Version {
    /// Returns true if compiled code of all modules can be kept. Versions since 22.1 keep that of some modules only.
    fn caches_modules(self) -> bool {
        matches!((self.major, self.minor), (24.., _) | (23, 4..) | (22, 12..))
    }

    /// Returns true if compiled code of TypeScript can be kept.
    fn caches_stripped_types(self) -> bool {
        matches!((self.major, self.minor), (24.., _) | (23, 11..))
    }

    fn ask(node: &Path, cancellation: &Cancellation) -> Result<Self, String> {
        let command = CommandSpec {
            cwd: Some(tool::neutral_directory()),
            ..CommandSpec::new(node).arg("--version")
        };
        let problem = match tool::output(&command, VERSION_LIMIT, cancellation) {
            Ok(output) => {
                let answer = output.stdout.lines().next().unwrap_or_default();
                match Self::parse(answer) {
                    Some(version) => return Ok(version),
                    None => format!("it printed `{answer}`"),
                }
            }
            Err(error) => error.to_string(),
        };
        let node = node.display();
        Err(format!("`{node} --version` does not report its version: {problem}; reinstall Node.js"))
    }

    /// Reads what `node --version` prints, e.g. `v20.11.1`.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().strip_prefix('v')?.split('.');
        Some(Self { major: numbers.next()?.parse().ok()?, minor: numbers.next()?.parse().ok()? })
    }

    /// Type stripping came behind a flag with 22.6; the flag became the default with 23.6 and, in the older line, 22.18.
    fn type_stripping(self) -> TypeStripping {
        match (self.major, self.minor) {
            (24.., _) | (23, 6..) | (22, 18..) => TypeStripping::Always,
            (23, _) | (22, 6..) => TypeStripping::Flag,
            _ => TypeStripping::Never,
        }
    }
}

const TESTS: Convention = Convention {
    is_test,
    directories: &["test", "tests", "__tests__"],
    signs: &["node:test"],
    places: "tests are looked for in *.test.* and *_test.* next to it and in test/, tests/ and __tests__/, where they \
             mention its name, and in the file itself",
};

/// Returns true if Node.js treats a file of this name as a test file.
fn is_test(name: &str) -> bool {
    let Some((stem, _)) = name.rsplit_once('.') else { return false };
    let is_named = stem.starts_with("test-")
        || [".test", "-test", "_test"].iter().any(|suffix| stem.ends_with(suffix));
    is_named && Language::of(Path::new(name)).is_some_and(Language::is_for_node)
}

/// Module that Node.js loads before the evaluator, so that the processes of one evaluator share compiled code.
///
/// Each evaluation still has its own process. Node.js checks that cached code belongs to the exact content of a source and
/// to its own version, and compiles anything else again. The cache is a private directory of one evaluator in one run:
/// compiled code must not come from anywhere else.
///
/// It is a module instead of `NODE_COMPILE_CACHE`, because the evaluator and its child processes would see that variable.
/// The cache remains visible in the command line as the system shows it, in `module.getCompileCacheDir()`, and in the
/// order in which Node.js has loaded its own modules.
const PRELOAD: &str = include_str!("compile_cache.cjs");

/// Size of sources, in bytes, from which loading compiled code is faster than compiling.
const MUCH: u64 = 64 << 10;

/// Variables that configure the cache, or make a process report what it compiles and loads.
const UNUSUAL_VARIABLES: &str = "NODE_COMPILE_CACHE NODE_DISABLE_COMPILE_CACHE NODE_V8_COVERAGE NODE_DEBUG NODE_DEBUG_NATIVE \
    NODE_PRESERVE_SYMLINKS NODE_REPL_EXTERNAL_MODULE";

/// Options in `NODE_OPTIONS` that do not affect modules. Those that end with `=` have a value.
const HARMLESS_OPTIONS: &str = "--disable-warning= --dns-result-order= --max-http-header-size= --max-old-space-size= \
    --max-semi-space-size= --no-deprecation --no-warnings --stack-trace-limit= --unhandled-rejections= --use-bundled-ca \
    --use-openssl-ca --use-system-ca";

/// Returns true if an evaluator has packages or long files to compile. One that manages a cache itself is left alone.
pub(super) fn has_much_to_compile(source: &Path) -> bool {
    let Ok(text) = files::read_regular(source, files::MAX_SOURCE) else { return false };
    if String::from_utf8_lossy(&text).contains("CompileCache") {
        return false;
    }
    let mut directories = source.ancestors().skip(1);
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    directories.any(|directory| directory.join("node_modules").is_dir())
        || imports::of_script(source).files.iter().map(|file| size(file)).sum::<u64>() >= MUCH
}

/// Makes the command that does what `command` does with the cache enabled.
pub(super) fn cached(command: &CommandSpec) -> Result<CachedCommand, String> {
    for name in UNUSUAL_VARIABLES.split_whitespace() {
        if command.variable(name).is_some_and(|value| !value.is_empty()) {
            return Err(format!("{name} is set"));
        }
    }
    let options = command.variable("NODE_OPTIONS").unwrap_or_default();
    let is_harmless = |options: &str| options.split_whitespace().all(is_harmless_option);
    if !options.to_str().is_some_and(is_harmless) {
        return Err("NODE_OPTIONS is set".to_owned());
    }
    let directory = PrivateDirectory::new("compiled");
    let preload =
        directory.and_then(|directory| Ok((directory.write("preload.cjs", PRELOAD)?, directory)));
    let (preload, directory) =
        preload.map_err(|error| format!("no directory for compiled code: {error}"))?;
    let mut args = vec!["--require".into(), preload.clone().into_os_string()];
    args.extend_from_slice(&command.args);
    Ok(CachedCommand {
        command: CommandSpec { args, ..command.clone() },
        needs: preload,
        keeps: Box::new(directory),
    })
}

fn is_harmless_option(option: &str) -> bool {
    HARMLESS_OPTIONS.split_whitespace().any(|known| match known.ends_with('=') {
        true => option.starts_with(known),
        false => option == known,
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::{Directory, no_events};

    /// Finds types in files that have `: `, where the real one would find them.
    fn node_that_prints(directory: &Directory, version: &str) -> (PathBuf, Environment) {
        let node = directory.script(
            "bin/node",
            &format!("for last; do :; done\n[ \"$last\" = --version ] || ! grep -q ': ' \"$last\" || exit 42\necho {version}"),
        );
        (
            node,
            Environment::new([(
                "PATH",
                format!("{}:/usr/bin:/bin", directory.path("bin").display()),
            )]),
        )
    }

    #[test]
    fn javascript_starts_node_without_asking_for_its_version() {
        let directory = Directory::new("node-js");
        let (node, environment) = node_that_prints(&directory, "garbage");
        let source = directory.file("check.mjs", "");
        let launch = Node::javascript(environment)
            .prepare(&[source.clone().into()], &Cancellation::new(), &mut no_events)
            .remove(0)
            .unwrap();
        assert_eq!(launch.one_shot, CommandSpec::new(&node).arg(source));
        assert_eq!(launch.visible.paths, [directory.path(""), node].into());
    }

    #[test]
    fn a_flag_is_given_where_the_version_needs_it() {
        let directory = Directory::new("node-flag");
        let (node, environment) = node_that_prints(&directory, "v22.10.0");
        let source = directory.file("check.ts", "");
        let launch = Node::typescript(environment)
            .prepare(&[source.clone().into()], &Cancellation::new(), &mut no_events)
            .remove(0)
            .unwrap();
        assert_eq!(
            launch.one_shot,
            CommandSpec::new(node).arg("--experimental-strip-types").arg(source)
        );
    }

    #[test]
    fn an_old_node_leaves_it_to_the_nearest_tsx() {
        let directory = Directory::new("node-tsx");
        let (_, environment) = node_that_prints(&directory, "v20.20.2");
        let tsx = directory.program("project/node_modules/.bin/tsx");
        directory.program("bin/tsx");
        let source = directory.file("project/deep/check.ts", "");
        let launch = Node::typescript(environment)
            .prepare(&[source.clone().into()], &Cancellation::new(), &mut no_events)
            .remove(0)
            .unwrap();
        assert_eq!(launch.one_shot, CommandSpec::new(tsx).arg(source));
    }

    #[test]
    fn an_old_node_without_tsx_runs_the_file_as_it_is_and_says_so() {
        let directory = Directory::new("node-old");
        let (node, environment) = node_that_prints(&directory, "v20.20.2");
        let source = directory.file("check.ts", "");
        let mut events = Vec::new();
        let launch = Node::typescript(environment)
            .prepare(&[source.clone().into()], &Cancellation::new(), &mut |event| {
                events.push(event)
            })
            .remove(0)
            .unwrap();
        assert_eq!(launch.one_shot, CommandSpec::new(node).arg(source));
        let [PrepareEvent::Diagnostic { rendered }] = &events[..] else { panic!("{events:?}") };
        assert!(rendered.starts_with("note: Node.js 20.20 runs "), "{rendered}");
    }

    #[test]
    fn an_old_node_that_would_refuse_the_file_is_not_started() {
        let directory = Directory::new("node-old-module");
        let (_, environment) = node_that_prints(&directory, "v20.20.2");
        let prepare = |source: PathBuf| {
            Node::typescript(environment.clone())
                .prepare(&[source.into()], &Cancellation::new(), &mut no_events)
                .remove(0)
        };
        directory.file("package.json", r#"{"name": "x", "type": "module"}"#);
        assert_eq!(
            prepare(directory.file("check.ts", "")).unwrap_err().to_string(),
            "runtime not available: Node.js 20.20 cannot run TypeScript; install Node.js 22.18 or later, or `npm install \
             --save-dev tsx`"
        );
        // The nearest one decides.
        directory.file("inner/package.json", "{}");
        assert!(prepare(directory.file("inner/check.ts", "")).is_ok());
        for (file, text) in [("inner/check.mts", ""), ("inner/typed.ts", "let x: number;")] {
            let error = prepare(directory.file(file, text)).unwrap_err().to_string();
            assert!(error.contains("Node.js 20.20 cannot run TypeScript"), "{file}: {error}");
        }
    }

    #[test]
    fn what_is_said_before_a_run_is_what_the_run_does() {
        let directory = Directory::new("node-agree");
        for (version, file, text, available, runs) in [
            ("v20.20.2", "check.js", "", true, true),
            ("v20.20.2", "check.ts", "let x: number;", false, false),
            ("v20.20.2", "check.ts", "let x;", false, true),
            ("v22.6.0", "check.ts", "let x: number;", true, true),
            ("v24.0.0", "check.mts", "let x: number;", true, true),
            ("oops", "check.ts", "", false, false),
        ] {
            let (_, environment) = node_that_prints(&directory, version);
            let entrypoint = Entrypoint::from(directory.file(file, text));
            let node =
                if file.ends_with("ts") { Node::typescript } else { Node::javascript }(environment);
            let is_available = node.availability().is_ok();
            assert_eq!(is_available, available, "{version} {file}");
            assert_eq!(node.inspect(&entrypoint).is_ok(), runs, "{version} {file}");
            let prepared = node.prepare(&[entrypoint], &Cancellation::new(), &mut no_events);
            assert_eq!(prepared[0].is_ok(), runs, "{version} {file}");
        }
    }

    #[test]
    fn a_node_that_does_not_answer_is_reported_with_what_it_said() {
        let directory = Directory::new("node-broken");
        let (node, environment) = node_that_prints(&directory, "oops");
        let source = directory.file("check.ts", "");
        let error = Node::typescript(environment)
            .prepare(&[source.into()], &Cancellation::new(), &mut no_events)
            .remove(0)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "runtime not available: `{} --version` does not report its version: it printed `oops`; reinstall Node.js",
                node.display()
            )
        );
    }

    #[test]
    fn a_missing_file_is_reported_before_a_missing_node() {
        let runtime = Node::javascript(Environment::default());
        let results = runtime.prepare(
            &["gone.js", "Cargo.toml"].map(|path| PathBuf::from(path).into()),
            &Cancellation::new(),
            &mut no_events,
        );
        assert!(matches!(results[0], Err(PrepareError::NotFound { .. })), "{results:?}");
        assert_eq!(results[1], Err(PrepareError::runtime_missing(MISSING)));
    }
}

#[cfg(test)]
mod version_tests {
    use super::*;

    #[test]
    fn the_version_decides_how_types_are_stripped() {
        let of = |text| Version::parse(text).unwrap().type_stripping();
        assert_eq!(of("v18.19.0"), TypeStripping::Never);
        assert_eq!(of("v20.20.2\n"), TypeStripping::Never);
        assert_eq!(of("v22.5.1"), TypeStripping::Never);
        assert_eq!(of("v22.6.0"), TypeStripping::Flag);
        assert_eq!(of("v22.17.9"), TypeStripping::Flag);
        assert_eq!(of("v22.18.0"), TypeStripping::Always);
        assert_eq!(of("v23.5.0"), TypeStripping::Flag);
        assert_eq!(of("v23.6.0"), TypeStripping::Always);
        assert_eq!(of("v24.0.0-nightly2025"), TypeStripping::Always);
        assert_eq!(Version::parse("1.2.3"), None);
        assert_eq!(Version::parse(""), None);
    }

    #[test]
    fn the_version_decides_what_is_kept() {
        let of = |text| {
            let version = Version::parse(text).unwrap();
            (version.caches_modules(), version.caches_stripped_types())
        };
        for old in ["v18.20.8", "v20.20.2", "v22.1.0", "v22.11.0", "v23.3.0"] {
            assert_eq!(of(old), (false, false), "{old}");
        }
        for newer in ["v22.12.0", "v22.23.3", "v23.4.0", "v23.10.0"] {
            assert_eq!(of(newer), (true, false), "{newer}");
        }
        for newest in ["v23.11.1", "v24.0.0"] {
            assert_eq!(of(newest), (true, true), "{newest}");
        }
    }
}

#[cfg(test)]
mod compile_cache_tests {
    use super::*;
    use crate::runtime::testing::Directory;

    fn command() -> CommandSpec {
        let nothing = CommandSpec { clear_env: true, ..CommandSpec::new("node") };
        nothing.args(["--experimental-strip-types", "check.ts", "x"])
    }

    #[test]
    fn the_file_comes_first_and_goes_with_the_command() {
        let cached = cached(&command()).unwrap();
        let preload = cached.needs.clone();
        assert!(preload.is_file() && preload.is_absolute());
        let args = cached.command.args.clone();
        assert_eq!((&args[0], &args[1]), (&"--require".into(), &preload.clone().into()));
        assert_eq!(args[2..], command().args);
        assert_eq!(CommandSpec { args: command().args, ..cached.command.clone() }, command());
        drop(cached);
        assert!(!preload.exists());
    }

    #[test]
    fn variables_that_change_what_modules_do_are_unusual() {
        for name in UNUSUAL_VARIABLES.split_whitespace() {
            assert_eq!(cached(&command().env(name, "1")).unwrap_err(), format!("{name} is set"));
            assert!(cached(&command().env(name, "")).is_ok());
        }
        for options in ["", " ", "--max-old-space-size=4096 --no-warnings", "--use-system-ca"] {
            assert!(cached(&command().env("NODE_OPTIONS", options)).is_ok(), "{options}");
        }
        for options in [
            "--require ./x.js",
            "-r x",
            "--import=x",
            "--no-warnings --enable-source-maps",
            "--no-warnings-of-mine",
            "\"--no-warnings\"",
            "--max-old-space-size 4096",
        ] {
            let error = cached(&command().env("NODE_OPTIONS", options)).unwrap_err();
            assert_eq!(error, "NODE_OPTIONS is set", "{options}");
        }
    }

    #[test]
    fn packages_and_long_files_are_much_to_compile() {
        let directory = Directory::new("node-much");
        let long = format!("module.exports = '{}';", "x".repeat(MUCH as usize));
        let small = directory.file("a/small.js", "console.log(1)");
        directory.file("a/lib/long.js", &long);
        assert!(!has_much_to_compile(&small));
        assert!(has_much_to_compile(&directory.file("a/imports.js", "require('./lib/long.js')")));
        assert!(has_much_to_compile(&directory.file("a/bundle.js", &long)));
        directory.file("b/node_modules/x/index.js", "");
        assert!(has_much_to_compile(&directory.file("b/deep/check.js", "require('x')")));
        let own = "require('module').enableCompileCache(); require('x')";
        assert!(!has_much_to_compile(&directory.file("b/own.js", own)));
        assert!(!has_much_to_compile(&directory.path("b/gone.js")));
    }
}
