//! The runtime of JavaScript and TypeScript files.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use super::{
    compile_cache, own_tests,
    version::{self, TypeStripping, Version},
};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{
        Availability, CompileCacheOf, Composition, Entrypoint, Environment, Launch, PrepareError,
        PrepareEvent, Runtime, Syntax,
        companions::{self, Companions},
        environment::is_script,
        own_tests::OwnTests,
        paths, syntax,
    },
};

const MISSING: &str =
    "node was not found on PATH; install Node.js 18 or later from https://nodejs.org";

/// What says which package a file belongs to and which others that has.
const PACKAGE_FILES: [&str; 7] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "tsconfig.json",
    "node_modules/.package-lock.json",
];

/// Runs JavaScript or TypeScript files with the `node` found on `PATH`.
///
/// TypeScript is run as this version of Node.js can: newer ones strip types themselves; for older ones `tsx` is used when
/// the project or the machine has it, and otherwise the file has to be free of type annotations and no ES module.
#[derive(Debug)]
pub struct Node {
    language: Language,
    environment: Environment,
    /// Asking costs a process start, so it is done once, and only for TypeScript.
    version: OnceLock<Result<Version, String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    JavaScript,
    TypeScript,
}

impl Node {
    /// The runtime of `.js`, `.mjs` and `.cjs` files.
    #[must_use]
    pub fn javascript(environment: Environment) -> Self {
        Self { language: Language::JavaScript, environment, version: OnceLock::new() }
    }

    /// The runtime of `.ts`, `.mts` and `.cts` files.
    #[must_use]
    pub fn typescript(environment: Environment) -> Self {
        Self { language: Language::TypeScript, environment, version: OnceLock::new() }
    }

    fn find(&self) -> Result<PathBuf, PrepareError> {
        self.environment
            .find_program("node")
            .ok_or_else(|| PrepareError::RuntimeMissing { reason: MISSING.to_owned() })
    }

    fn version(&self, node: &Path, cancellation: &Cancellation) -> Result<Version, PrepareError> {
        self.version
            .get_or_init(|| version::ask(node, cancellation))
            .clone()
            .map_err(|reason| PrepareError::RuntimeMissing { reason })
    }

    /// The command that runs a TypeScript file, and what a person should know of it: one decision for runs and checks.
    fn typescript_command(
        &self,
        node: PathBuf,
        source: PathBuf,
        cancellation: &Cancellation,
    ) -> Result<(CommandSpec, Option<String>), PrepareError> {
        let version = self.version(&node, cancellation)?;
        let command = CommandSpec::new(&node);
        match version.type_stripping() {
            TypeStripping::Always => Ok((command.arg(source), None)),
            TypeStripping::Flag => {
                Ok((command.arg("--experimental-strip-types").arg(source), None))
            }
            TypeStripping::Never => match self.find_tsx(&source) {
                Some(tsx) => Ok((CommandSpec::new(tsx).arg(source), None)),
                // Refused by Node.js, as a file of unknown kind or for its types.
                None if in_module_package(&source)
                    || paths::has_extension(&source, &[".mts"])
                    || syntax::typescript(&node, &source, cancellation) != Syntax::Sound =>
                {
                    Err(PrepareError::RuntimeMissing { reason: too_old(version) })
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

    /// `tsx` of the project the file belongs to, or of the machine.
    fn find_tsx(&self, source: &Path) -> Option<PathBuf> {
        source
            .ancestors()
            .skip(1)
            .find_map(|folder| self.environment.find_program(folder.join("node_modules/.bin/tsx")))
            .or_else(|| self.environment.find_program("tsx"))
    }
}

impl Runtime for Node {
    fn name(&self) -> &str {
        match self.language {
            Language::JavaScript => "JavaScript",
            Language::TypeScript => "TypeScript",
        }
    }

    fn extensions(&self) -> &[&str] {
        match self.language {
            Language::JavaScript => &[".js", ".mjs", ".cjs"],
            Language::TypeScript => &[".ts", ".mts", ".cts"],
        }
    }

    /// Asks Node.js for its version. A machine runs TypeScript if it runs files with type annotations.
    fn availability(&self) -> Availability {
        let cancellation = Cancellation::new();
        let found = self.find().and_then(|node| Ok((self.version(&node, &cancellation)?, node)));
        let (version, node) = match found {
            Ok(found) => found,
            Err(PrepareError::RuntimeMissing { reason }) => {
                return Availability::Missing { reason };
            }
            Err(error) => return Availability::Missing { reason: error.to_string() },
        };
        let is_old = self.language == Language::TypeScript
            && version.type_stripping() == TypeStripping::Never;
        match self.environment.find_program("tsx").filter(|_| is_old) {
            Some(tsx) => Availability::Available { detail: tsx.display().to_string() },
            None if is_old => Availability::Missing { reason: too_old(version) },
            None => {
                Availability::Available { detail: format!("{}, version {version}", node.display()) }
            }
        }
    }

    /// Says what runs the file; decides that as [`prepare`](Runtime::prepare) does.
    fn inspect(&self, entrypoint: &Entrypoint) -> Result<String, PrepareError> {
        let source = paths::resolve(&entrypoint.path)?;
        let node = self.find()?;
        let cancellation = Cancellation::new();
        let version = self.version(&node, &cancellation)?;
        let mut about = format!("{}, version {version}", node.display());
        if self.language == Language::TypeScript {
            let (command, note) = self.typescript_command(node.clone(), source, &cancellation)?;
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
            .map(|Entrypoint { path: source, .. }| {
                let source = paths::resolve(source)?;
                let node = node.clone()?;
                let one_shot = match self.language {
                    Language::JavaScript => CommandSpec::new(node).arg(source),
                    Language::TypeScript => {
                        let (command, note) =
                            self.typescript_command(node, source, cancellation)?;
                        if let Some(rendered) = note {
                            on_event(PrepareEvent::Diagnostic { rendered });
                        }
                        command
                    }
                };
                Ok(Launch { one_shot, worker: None })
            })
            .collect()
    }

    fn has_tests(&self, source: &Path) -> bool {
        own_tests::has_tests(source)
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
        own_tests::own_tests(&source, &launch, args)
    }

    /// The file and what it imports by relative paths, its package with the versions that were locked or installed, and
    /// what runs it.
    fn composition(&self, entrypoint: &Entrypoint, launch: &Launch) -> Composition {
        let source = paths::resolve(&entrypoint.path).unwrap_or_else(|_| entrypoint.path.clone());
        let Companions { mut files, mut untraceable } = companions::with_companions(&source);
        if launch.one_shot.variable("NODE_PATH").is_some_and(|value| !value.is_empty()) {
            untraceable.get_or_insert_with(|| "NODE_PATH, which is set".to_owned());
        }
        if let Some(folder) =
            source.ancestors().skip(1).find(|folder| folder.join("package.json").is_file())
        {
            let there = PACKAGE_FILES.iter().map(|name| folder.join(name));
            files.extend(there.filter(|path| path.is_file()));
        }
        let programs = [launch.one_shot.program.clone().into()].into();
        Composition { files, programs, notes: Vec::new(), untraceable }
    }

    fn compile_cache(
        &self,
        entrypoint: &Entrypoint,
        command: &CommandSpec,
        cancellation: &Cancellation,
    ) -> Result<Option<CompileCacheOf>, String> {
        // `tsx` has a cache of its own.
        let Ok(node) = self.find() else { return Ok(None) };
        if *command.program != *node {
            return Ok(None);
        }
        let source = paths::resolve(&entrypoint.path).map_err(|error| error.to_string())?;
        let is_typescript = self.language == Language::TypeScript;
        if !is_typescript && !compile_cache::has_much_to_compile(&source) {
            return Ok(None);
        }
        let version = self.version(&node, cancellation).map_err(|error| error.to_string())?;
        if !version.caches_modules() {
            return Err(format!("Node.js {version} keeps no compiled modules; 22.12 does"));
        }
        if is_typescript
            && !version.caches_stripped_types()
            && !compile_cache::has_much_to_compile(&source)
        {
            return Ok(None);
        }
        if is_script(&node) {
            // It may pass on other arguments than it is given.
            return Err(format!("{} is a script", node.display()));
        }
        Ok(Some(compile_cache::cached))
    }

    fn check_syntax(&self, source: &Path, cancellation: &Cancellation) -> Syntax {
        let Some(node) = self.environment.find_program("node") else {
            return Syntax::Unchecked { reason: MISSING.to_owned() };
        };
        match self.language {
            Language::JavaScript => syntax::javascript(&node, source, cancellation),
            Language::TypeScript => syntax::typescript(&node, source, cancellation),
        }
    }
}

fn too_old(version: Version) -> String {
    format!(
        "Node.js {version} cannot run TypeScript; install Node.js 22.18 or later, or `npm install --save-dev tsx`"
    )
}

/// Whether the nearest `package.json` makes files ES modules, as Node.js decides it.
fn in_module_package(source: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Package {
        r#type: Option<String>,
    }
    source
        .ancestors()
        .skip(1)
        .find_map(|folder| std::fs::read(folder.join("package.json")).ok())
        .and_then(|text| serde_json::from_slice::<Package>(&text).ok())
        .is_some_and(|package| package.r#type.as_deref() == Some("module"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::{Folder, no_events};

    /// Finds types in files that have `: `, where the real one would find them.
    fn node_that_prints(folder: &Folder, version: &str) -> (PathBuf, Environment) {
        let node = folder.script(
            "bin/node",
            &format!("for last; do :; done\n[ \"$last\" = --version ] || ! grep -q ': ' \"$last\" || exit 42\necho {version}"),
        );
        (
            node,
            Environment::new([("PATH", format!("{}:/usr/bin:/bin", folder.path("bin").display()))]),
        )
    }

    #[test]
    fn javascript_starts_node_without_asking_for_its_version() {
        let folder = Folder::new("node-js");
        let (node, environment) = node_that_prints(&folder, "garbage");
        let source = folder.file("check.mjs", "");
        let launch = Node::javascript(environment)
            .prepare(&[source.clone().into()], &Cancellation::new(), &mut no_events)
            .remove(0)
            .unwrap();
        assert_eq!(launch, Launch { one_shot: CommandSpec::new(node).arg(source), worker: None });
    }

    #[test]
    fn a_flag_is_given_where_the_version_needs_it() {
        let folder = Folder::new("node-flag");
        let (node, environment) = node_that_prints(&folder, "v22.10.0");
        let source = folder.file("check.ts", "");
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
        let folder = Folder::new("node-tsx");
        let (_, environment) = node_that_prints(&folder, "v20.20.2");
        let tsx = folder.program("project/node_modules/.bin/tsx");
        folder.program("bin/tsx");
        let source = folder.file("project/deep/check.ts", "");
        let launch = Node::typescript(environment)
            .prepare(&[source.clone().into()], &Cancellation::new(), &mut no_events)
            .remove(0)
            .unwrap();
        assert_eq!(launch.one_shot, CommandSpec::new(tsx).arg(source));
    }

    #[test]
    fn an_old_node_without_tsx_runs_the_file_as_it_is_and_says_so() {
        let folder = Folder::new("node-old");
        let (node, environment) = node_that_prints(&folder, "v20.20.2");
        let source = folder.file("check.ts", "");
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
        let folder = Folder::new("node-old-module");
        let (_, environment) = node_that_prints(&folder, "v20.20.2");
        let prepare = |source: PathBuf| {
            Node::typescript(environment.clone())
                .prepare(&[source.into()], &Cancellation::new(), &mut no_events)
                .remove(0)
        };
        folder.file("package.json", r#"{"name": "x", "type": "module"}"#);
        assert_eq!(
            prepare(folder.file("check.ts", "")).unwrap_err().to_string(),
            "runtime not available: Node.js 20.20 cannot run TypeScript; install Node.js 22.18 or later, or `npm install \
             --save-dev tsx`"
        );
        // The nearest one decides.
        folder.file("inner/package.json", "{}");
        assert!(prepare(folder.file("inner/check.ts", "")).is_ok());
        for (file, text) in [("inner/check.mts", ""), ("inner/typed.ts", "let x: number;")] {
            let error = prepare(folder.file(file, text)).unwrap_err().to_string();
            assert!(error.contains("Node.js 20.20 cannot run TypeScript"), "{file}: {error}");
        }
    }

    #[test]
    fn what_is_said_before_a_run_is_what_the_run_does() {
        let folder = Folder::new("node-agree");
        for (version, file, text, available, runs) in [
            ("v20.20.2", "check.js", "", true, true),
            ("v20.20.2", "check.ts", "let x: number;", false, false),
            ("v20.20.2", "check.ts", "let x;", false, true),
            ("v22.6.0", "check.ts", "let x: number;", true, true),
            ("v24.0.0", "check.mts", "let x: number;", true, true),
            ("oops", "check.ts", "", false, false),
        ] {
            let (_, environment) = node_that_prints(&folder, version);
            let entrypoint = Entrypoint::from(folder.file(file, text));
            let node =
                if file.ends_with("ts") { Node::typescript } else { Node::javascript }(environment);
            let is_available = matches!(node.availability(), Availability::Available { .. });
            assert_eq!(is_available, available, "{version} {file}");
            assert_eq!(node.inspect(&entrypoint).is_ok(), runs, "{version} {file}");
            let prepared = node.prepare(&[entrypoint], &Cancellation::new(), &mut no_events);
            assert_eq!(prepared[0].is_ok(), runs, "{version} {file}");
        }
    }

    #[test]
    fn a_node_that_does_not_answer_is_reported_with_what_it_said() {
        let folder = Folder::new("node-broken");
        let (node, environment) = node_that_prints(&folder, "oops");
        let source = folder.file("check.ts", "");
        let error = Node::typescript(environment)
            .prepare(&[source.into()], &Cancellation::new(), &mut no_events)
            .remove(0)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "runtime not available: `{} --version` does not tell its version: it printed `oops`; reinstall Node.js",
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
        assert_eq!(results[1], Err(PrepareError::RuntimeMissing { reason: MISSING.to_owned() }));
    }
}
