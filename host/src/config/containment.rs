//! What contains a program: `executor`, `sandbox` and `docker` of an entry, and their `defaults` in the file.

use std::{
    path::{self, Path, PathBuf},
    sync::Arc,
};

use evaluator_document::{
    Field, Fields, Problem, Problems, Span, keys,
    schema::{list, one_of, text},
};
use serde_json::json;

use super::{
    model::{CodeConfig, EvaluatorConfig},
    paths::{PathKind, Paths},
};
use crate::executor::{Containment, CrateSource, Level, Local, follow_links};

/// Executors that contain programs, by their names. Each has a key of its own with settings.
const SANDBOX: &str = "sandbox";
const DOCKER: &str = "docker";

/// Keys that belong into `sandbox` or `docker`, by those that have them, the first of which is named.
const NESTED: [(&str, &[&str]); 3] = [
    ("image engine pull", &[DOCKER]),
    ("network read write tmp processes sources", &[SANDBOX, DOCKER]),
    ("builds level", &[SANDBOX]),
];

/// Values of `level`.
const LEVELS: [(&str, Level); 2] = [("full", Level::Full), ("partial", Level::Partial)];

/// Values of `engine`.
const ENGINES: [(&str, &str); 2] = [("docker", "docker"), ("podman", "podman")];

/// Values of `pull`.
const PULLS: [(&str, bool); 2] = [("never", false), ("missing", true)];

/// Minimum size of a temporary directory: a page.
const MIN_TMP: u64 = 4096;

/// Settings of programs without settings of their own: the key `defaults` of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults {
    executor: Option<String>,
    sandbox: Containment,
    docker: Containment,
    /// The ones of `sandbox` and `docker` that are present, and where.
    given: Vec<(&'static str, Span)>,
}

/// Containment of all programs of another file: its keys `executor`, `sandbox` and `docker`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainmentConfig {
    /// Name of the executor.
    pub executor: String,
    /// Its settings.
    pub containment: Arc<Containment>,
}

impl Default for ContainmentConfig {
    fn default() -> Self {
        let CodeConfig { executor, containment, .. } = CodeConfig::default();
        Self { executor, containment }
    }
}

impl ContainmentConfig {
    /// Takes the keys from a mapping of `file`, and adds problems as for an entry of a configuration. Relative paths are
    /// relative to the file.
    pub fn take(fields: &mut Fields<'_>, file: &Path) -> Self {
        let paths = Paths::of(file);
        let mut code = CodeConfig { path: file.to_owned(), ..CodeConfig::default() };
        Defaults::default().take(fields, &paths, &mut code);
        check_source(fields, &code, "the eval file");
        let problems = fields.problems();
        for missing in paths.finish(problems) {
            let span = fields.peek(&code.executor).map(|node| node.span).unwrap_or_default();
            problems.add(span, missing.problem.message).maybe_hint(missing.problem.hint);
        }
        Self { executor: code.executor, containment: code.containment }
    }

    /// Returns why its programs cannot ask models by a server of this machine, and what to do; `None` if they can.
    pub fn models_problem(&self) -> Option<(&'static str, &'static str)> {
        models_problem(&self.executor, &self.containment)
    }
}

impl Defaults {
    /// Takes the key `defaults`. What it lacks is that of a configuration that is extended.
    pub(super) fn read(fields: &mut Fields<'_>, paths: &Paths, base: Self) -> Self {
        let mut defaults = Self { given: Vec::new(), ..base };
        let key = fields.key(
            "defaults",
            "Settings of programs (`type: code` and `type: remote`) without settings of their own.",
        );
        key.null_is_absent().mapping("for example {executor: sandbox}", |fields| {
            defaults.executor = read_executor(fields).or(defaults.executor.take());
            read_sandbox(fields, paths, &mut defaults.sandbox);
            read_docker(fields, paths, &mut defaults.docker);
            let given = |key| Some((key, fields.peek(key)?.span));
            defaults.given = [SANDBOX, DOCKER].into_iter().filter_map(given).collect();
        });
        defaults
    }

    /// Checks that programs do not run without containment although there are defaults for it.
    pub(super) fn check_used(&self, evaluators: &[EvaluatorConfig], problems: &Problems<'_>) {
        if self.executor.is_some() {
            return;
        }
        let executors = || evaluators.iter().filter_map(|it| Some(&*it.program()?.executor));
        for (key, span) in &self.given {
            if executors().all(|it| it != *key) && executors().any(|it| it == Local::NAME) {
                let message = format!("`{key}` has no effect: no entry has `executor: {key}`");
                let hint =
                    format!("add `executor: {key}` here or to entries, or leave `{key}` out");
                problems.add(*span, message).hint(hint);
            }
        }
    }

    /// Takes the keys of a program, which win over the defaults one by one.
    pub(super) fn take(&self, fields: &mut Fields<'_>, paths: &Paths, code: &mut CodeConfig) {
        let own = read_executor(fields).or_else(|| self.executor.clone());
        code.executor = own.unwrap_or_else(|| Local::NAME.to_owned());
        let (mut sandbox, mut docker) = (self.sandbox.clone(), self.docker.clone());
        let is_given = read_sandbox(fields, paths, &mut sandbox).is_some();
        let given =
            [(SANDBOX, is_given), (DOCKER, read_docker(fields, paths, &mut docker).is_some())];
        for (key, is_given) in given {
            if let (true, Some(node)) = (is_given && code.executor != key, fields.peek(key)) {
                let message = format!("`{key}` has no effect with `executor: {}`", code.executor);
                let hint = match &*code.executor {
                    engine if key == DOCKER && ENGINES.iter().any(|it| it.0 == engine) => {
                        format!("write `executor: docker` with `docker: {{engine: {engine}}}`")
                    }
                    _ => format!("add `executor: {key}`, or leave `{key}` out"),
                };
                fields.problems().add(node.span, message).hint(hint);
            }
        }
        let nested = NESTED
            .into_iter()
            .flat_map(|(keys, owners)| keys.split(' ').map(move |key| (key, owners)));
        for (key, owners) in nested {
            let owner = owners.iter().find(|owner| **owner == code.executor).unwrap_or(&owners[0]);
            let hint = format!("write `{owner}: {{{key}: ..}}`");
            fields.refuse(key, format!("`{key}` is a key of `{owner}`"), &hint);
        }
        code.containment = Arc::new(match &*code.executor {
            SANDBOX => sandbox,
            DOCKER => docker,
            _ => return,
        });
        check(fields, code);
    }
}

fn read_executor(fields: &mut Fields<'_>) -> Option<String> {
    let executor = fields.key("executor", "Executor that runs the program.");
    let field = executor.default(Local::NAME).field(text())?;
    if field.is_mapping() {
        let hint = "write its name, and its settings next to it: executor: docker, docker: {image: \"evaluators:3\"}";
        return field.expected("text").hint(hint).none();
    }
    field.text().map(str::to_owned)
}

/// Takes the key `sandbox`; `None` if it is absent or not a mapping.
fn read_sandbox(fields: &mut Fields<'_>, paths: &Paths, to: &mut Containment) -> Option<()> {
    let sandbox = fields.key("sandbox", "What the program may use with `executor: sandbox`.");
    sandbox.mapping("for example {network: true}", |fields| {
        keys! { fields;
            /// full: file system, processes and network of its own. partial: for machines without user namespaces; names,
            /// sizes and times of hidden files can be seen.
            to.level ?= choice(&LEVELS) or "full";
            /// Whether Python packages may be built, from directories and archives below requirements.txt.
            to.builds ?= flag() or false;
        }
        read_shared(fields, paths, to);
    })
}

/// Takes the key `docker`; `None` if it is absent or not a mapping.
fn read_docker(fields: &mut Fields<'_>, paths: &Paths, to: &mut Containment) -> Option<()> {
    let name = json!({"type": "string", "pattern": r"^[^-\s]\S*$"});
    let engine = |field: Field<'_>| field.choice(&ENGINES).map(str::to_owned);
    let docker = fields.key("docker", "What the program may use with `executor: docker`.");
    docker.mapping("for example {image: \"evaluators:3\"}", |fields| {
        let docker = &mut to.docker;
        keys! { fields;
            /// Name, digest or id of the image.
            docker.image ?= read(name, read_image);
            /// Command of the container engine; default: docker if it is on PATH, else podman.
            docker.engine ?= read(one_of(&ENGINES), engine);
            /// missing: an image that does not exist is downloaded before the run.
            docker.pull ?= choice(&PULLS) or "never";
        }
        let message = "`builds` has no effect on containers: nothing is installed into an image";
        let hint = "leave it out, and install packages when the image is built";
        fields.refuse("builds", message, hint);
        read_shared(fields, paths, to);
    })
}

/// Takes the keys that `sandbox` and `docker` share.
fn read_shared(fields: &mut Fields<'_>, paths: &Paths, to: &mut Containment) {
    let paths_of = |kind| move |field: Field<'_>| Some(read_paths(field, kind, paths));
    let number = |field: Field<'_>| -> Option<u32> {
        field.at_least(1, "a whole number, at least 1", "64")?.try_into().ok()
    };
    keys! { fields;
        /// Whether the program may use IPv4 and IPv6, also to servers of this machine.
        to.network ?= flag() or false;
        /// Files and directories that the program may read besides those that it needs to start, relative to this file.
        to.read ?= read(list(text()), paths_of(PathKind::File));
        /// Directories that the program may change, relative to this file.
        to.write ?= read(list(text()), paths_of(PathKind::Directory));
        /// Sources of crates, besides crates.io, that a Rust package may be built from: directories, relative to this file, and
        /// URLs of repositories and indexes.
        to.sources ?= read(list(text()), |field| Some(read_sources(field, paths)));
        /// Maximum number of processes and threads; default: 64. For root only from Linux 6.14 on.
        to.processes ?= read(json!({"type": "integer", "minimum": 1}), number) or Containment::default().processes;
        /// Bytes of its temporary directory: a number, or text like 64MiB; default: 64MiB.
        to.tmp ?= size(MIN_TMP);
    }
}

/// Reads the name of an image, which must not be taken for an option of the engine.
fn read_image(field: Field<'_>) -> Option<String> {
    let image = field.text()?;
    if image.starts_with('-') || image.contains(|c: char| c.is_whitespace() || c.is_control()) {
        let message = format!("`image` must be the name or id of an image, not {image:?}");
        return field.add(message).hint("for example evaluators:3").none();
    }
    Some(image.to_owned())
}

/// Reads paths, relative as `path` is, and makes them absolute.
fn read_paths(field: Field<'_>, kind: PathKind, paths: &Paths) -> Vec<PathBuf> {
    let items = field.items().unwrap_or_default();
    items.into_iter().filter_map(|item| read_path(item, field.key, kind, paths)).collect()
}

fn read_path(item: Field<'_>, key: &str, kind: PathKind, paths: &Paths) -> Option<PathBuf> {
    if item.text()?.contains('\0') {
        return item.add(format!("`{key}` has a NUL character")).none();
    }
    let path = paths.read(item, kind)?;
    Some(path::absolute(&path).unwrap_or(path))
}

/// Reads sources of crates: URLs, and directories, which are relative as `path` is.
fn read_sources(field: Field<'_>, paths: &Paths) -> Vec<CrateSource> {
    let items = field.items().unwrap_or_default();
    let read = |item: Field<'_>| {
        let text = item.text()?;
        if text.contains("://") {
            return Some(CrateSource::Url(text.to_owned()));
        }
        read_path(item, field.key, PathKind::Directory, paths).map(CrateSource::Directory)
    };
    items.into_iter().filter_map(read).collect()
}

/// Adds problems with settings that contradict containment.
fn check(fields: &Fields<'_>, code: &mut CodeConfig) {
    let problems = fields.problems();
    let executor = code.executor.clone();
    // A setting may be that of the file's defaults.
    let add = |key: &str, message: String, hint: &str| match fields
        .peek(key)
        .or_else(|| fields.peek("executor"))
        .or_else(|| fields.peek("type"))
    {
        Some(node) => problems.add(node.span, message).hint(hint),
        None => problems.add_to_file(message).hint(hint),
    };
    match code.process.env.inherit {
        Some(true) => {
            let key =
                if fields.peek("inherit_env").is_some() { "inherit_env" } else { "inheritEnv" };
            let message = format!("`{key}: true` would show all secrets to a contained program");
            add(key, message, "name the variables that it needs under `env`");
        }
        _ => code.process.env.inherit = Some(false),
    }
    if executor == DOCKER && code.containment.docker.image.is_none() {
        let message = "`executor: docker` needs the name of an image".to_owned();
        let hint = match code.containment.docker.engine.as_deref() {
            Some(engine) => format!(
                "add the image, for example docker: {{engine: {engine}, image: \"evaluators:3\"}}"
            ),
            None => "for example docker: {image: \"evaluators:3\"}".to_owned(),
        };
        add(DOCKER, message, &hint);
    }
    let refused = models_problem(&executor, &code.containment).filter(|_| code.models.is_some());
    if let Some((message, hint)) = refused {
        let key = if fields.peek("target").is_some() { "target" } else { "models" };
        add(key, format!("`{key}` is {message}"), hint);
    }
}

/// Returns why programs cannot ask models, and what to do about it.
fn models_problem(
    executor: &str,
    containment: &Containment,
) -> Option<(&'static str, &'static str)> {
    let is_partial = containment.level == Level::Partial && !containment.network;
    match executor {
        DOCKER => Some((
            "a server of this machine, which a container cannot reach",
            "use `executor: sandbox`",
        )),
        SANDBOX if is_partial => Some((
            "a server of this machine, which a sandbox of `level: partial` reaches with network only",
            "add `network: true`, or use `level: full`",
        )),
        _ => None,
    }
}

/// Refuses the keys for an evaluator that is linked into this program.
pub(super) fn refuse(fields: &mut Fields<'_>) {
    for key in ["executor", SANDBOX, DOCKER] {
        let message = format!("`{key}` has no effect on an evaluator that runs in this program");
        fields.refuse(key, message, "only `type: code` and `type: remote` can be contained");
    }
}

/// Adds a problem if a contained program could change its own file, which is `what`.
pub(super) fn check_source(fields: &Fields<'_>, code: &CodeConfig, what: &str) {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let source = real(&path::absolute(&code.path).unwrap_or_else(|_| code.path.clone()));
    let Some(shared) = code.containment.write.iter().find(|path| source.starts_with(real(path)))
    else {
        return;
    };
    let Some(node) = fields.peek(&code.executor).or_else(|| fields.peek("path")) else { return };
    let (shared, source) = (shared.display(), source.display());
    let message = format!("`write` names {shared}, which contains {what}, {source}");
    fields.problems().add(node.span, message).hint("name a directory without programs");
}

/// Returns a problem for each path of a contained program that is below a directory which a contained program changes, of
/// the same or another entry: a run could replace it by a link, which the next run would follow.
pub fn changeable_paths(evaluators: &[EvaluatorConfig]) -> Vec<Problem> {
    let programs: Vec<(&EvaluatorConfig, &CodeConfig)> =
        evaluators.iter().filter_map(|it| Some((it, it.program()?))).collect();
    let written: Vec<Written<'_>> = programs
        .iter()
        .flat_map(|(it, code)| {
            code.containment.write.iter().map(|path| Written::new(&it.name, path))
        })
        .collect();
    let mut problems = Vec::new();
    for (evaluator, code) in &programs {
        let Containment { read, write, .. } = &*code.containment;
        let named = read.iter().map(|path| ("`read`", path));
        let named = named.chain(write.iter().map(|path| ("`write`", path)));
        let source = path::absolute(&code.path).unwrap_or_else(|_| code.path.clone());
        // That of the same entry is compared with its source when the entry is read.
        let others: Vec<_> = written.iter().filter(|it| it.owner != evaluator.name).collect();
        if let Some(outer) = others.iter().find(|outer| outer.is_around(&source)) {
            let message = format!("its program {} is below {outer}", source.display());
            problems.push(changeable(evaluator, message));
        }
        for (key, path) in named {
            if let Some(outer) = written.iter().find(|outer| outer.is_around(path)) {
                let message = format!("{key} names {}, which is below {outer}", path.display());
                problems.push(changeable(evaluator, message));
            }
        }
    }
    problems
}

fn changeable(evaluator: &EvaluatorConfig, message: String) -> Problem {
    let hint = "a program can replace what is below a directory that it changes, by a link to any file; name a path \
                outside of it, or the directory itself";
    Problem::new(format!("`{}`: {message}", evaluator.name), evaluator.place, Some(hint.to_owned()))
}

/// A directory that a contained program changes.
#[derive(derive_more::Display)]
#[display("{}, which `{owner}` changes", path.display())]
struct Written<'a> {
    owner: &'a str,
    path: &'a Path,
    real: PathBuf,
}

impl<'a> Written<'a> {
    fn new(owner: &'a str, path: &'a Path) -> Self {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { owner, path, real }
    }

    /// Returns true if the directory contains the path, what it leads to, or a link on the way.
    fn is_around(&self, path: &Path) -> bool {
        let contains = |inner: &Path, outer: &Path| inner != outer && inner.starts_with(outer);
        // A path that does not exist is reported elsewhere.
        let (real, links) = follow_links(path).unwrap_or_default();
        contains(path, self.path)
            || contains(&real, &self.real)
            || links.iter().any(|link| contains(link, &self.real))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{Config, EvaluatorKind},
        executor::Docker,
    };

    fn read(defaults: &str, keys: &str) -> Result<CodeConfig, String> {
        let text =
            format!("{defaults}\nevaluators:\n- {{name: a, type: code, path: a.py, {keys}}}");
        let config =
            Config::parse(&text, Path::new("c.yaml")).map_err(|error| error.to_string())?;
        let EvaluatorKind::Code(code) = &config.evaluators[0].kind else { panic!("{config:?}") };
        Ok(code.clone())
    }

    fn absolute(path: &str) -> PathBuf {
        path::absolute(path).unwrap()
    }

    #[test]
    fn settings_are_read_and_win_over_defaults_one_by_one() {
        let code = read("", "executor: sandbox").unwrap();
        assert_eq!((&*code.executor, &*code.containment), (SANDBOX, &Containment::default()));
        assert_eq!(code.process.env.inherit, Some(false));
        let keys = "level: partial, network: yes, read: [data, /x], write: [out], tmp: 2MiB, processes: 7, builds: true, \
                    sources: [lib, 'https://host/x']";
        let expected = Containment {
            level: Level::Partial,
            network: true,
            read: vec![absolute("data"), "/x".into()],
            write: vec![absolute("out")],
            tmp: 2 << 20,
            processes: 7,
            builds: true,
            sources: vec![
                CrateSource::Directory(absolute("lib")),
                CrateSource::Url("https://host/x".to_owned()),
            ],
            docker: Docker::default(),
        };
        let code = read("", &format!("executor: sandbox, sandbox: {{{keys}}}")).unwrap();
        assert_eq!(*code.containment, expected);
        let defaults = format!(
            "defaults: {{executor: sandbox, sandbox: {{{keys}}}, docker: {{image: i, pull: missing}}}}"
        );
        assert_eq!(*read(&defaults, "").unwrap().containment, expected);
        let code = read(&defaults, "sandbox: {network: false, read: []}").unwrap();
        let expected = Containment { network: false, read: Vec::new(), ..expected };
        assert_eq!(*code.containment, expected);
        let code =
            read(&defaults, "executor: docker, docker: {engine: podman, tmp: 1GiB}").unwrap();
        let docker = Docker { image: Some("i".into()), engine: Some("podman".into()), pull: true };
        let expected = Containment { tmp: 1 << 30, docker, ..Containment::default() };
        assert_eq!((&*code.executor, &*code.containment), (DOCKER, &expected));
        let code = read(&defaults, "executor: local").unwrap();
        assert_eq!((&*code.executor, &*code.containment), ("local", &Containment::default()));
        assert_eq!(code.process.env.inherit, None);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_place() {
        for (defaults, keys, message) in [
            ("", "sandbox: {}", "`sandbox` has no effect with `executor: local`"),
            (
                "",
                "executor: local, docker: {image: a}",
                "`docker` has no effect with `executor: local`",
            ),
            (
                "",
                "executor: docker, docker: {engine: podman}",
                "for example docker: {engine: podman, image:",
            ),
            ("", "executor: podman, docker: {image: a}", "`docker: {engine: podman}`"),
            ("", "executor: {docker: {image: a}}", "executor: docker, docker: {image:"),
            ("", "executor: docker, image: a", "write `docker: {image: ..}`"),
            ("", "executor: docker, docker: {image: a}, read: [b]", "write `docker: {read: ..}`"),
            ("", "network: true", "write `sandbox: {network: ..}`"),
            (
                "",
                "executor: docker, docker: {image: a}, sandbox: {}",
                "`sandbox` has no effect with `executor: docker`",
            ),
            ("", "executor: docker", "`executor: docker` needs the name of an image"),
            ("defaults: {executor: docker}", "", "`executor: docker` needs the name of an image"),
            ("", "executor: docker, docker: {}", "`executor: docker` needs the name of an image"),
            ("", "executor: docker, docker: {image: '-v'}", "must be the name or id of an image"),
            ("", "executor: docker, docker: {level: full, image: a}", "level"),
            ("", "executor: docker, docker: {builds: true, image: a}", "`builds` has no effect on"),
            ("", "executor: sandbox, sandbox: {image: a}", "image"),
            ("", "executor: sandbox, sandbox: {netwrok: true}", "did you mean `network`?"),
            ("", "executor: sandbox, sandbox: {level: most}", "full"),
            ("", "executor: sandbox, sandbox: [read]", "`sandbox` must be a mapping"),
            ("", "executor: sandbox, sandbox: {read: data}", "`read` must be a list"),
            ("", "executor: sandbox, sandbox: {read: ['']}", "`read` is empty"),
            ("", "executor: sandbox, sandbox: {read: [\"a\\0\"]}", "`read` has a NUL character"),
            ("", "executor: sandbox, sandbox: {tmp: 0}", "`tmp` must be at least 4KiB"),
            ("", "executor: sandbox, sandbox: {tmp: 64M}", "`64MiB` counts in 1024s"),
            (
                "",
                "executor: sandbox, sandbox: {processes: 0}",
                "`processes` must be a whole number, at least 1",
            ),
            ("", "executor: sandbox, sandbox: {network: maybe}", "`network` must be true or false"),
            (
                "",
                "executor: sandbox, inherit_env: true",
                "`inherit_env: true` would show all secrets",
            ),
            (
                "defaults: {executor: sandbox}",
                "inheritEnv: true",
                "`inheritEnv: true` would show all secrets",
            ),
            (
                "",
                "executor: sandbox, target: {}, sandbox: {level: partial}",
                "add `network: true`, or use `level: full`",
            ),
            ("", "executor: docker, docker: {image: a}, target: {}", "use `executor: sandbox`"),
            ("", "executor: sandbox, sandbox: {write: [.]}", "which contains the program itself"),
            ("", "executor: sandbox, sandbox: {write: [/]}", "which contains the program itself"),
            (
                "defaults: {sandbox: {write: [.]}}",
                "executor: sandbox",
                "which contains the program itself",
            ),
            ("defaults: {sandbox: {network: true}}", "", "`sandbox` has no effect: no entry has"),
            ("defaults: {docker: {image: a}}", "", "add `executor: docker` here or"),
            ("defaults: {excutor: sandbox}", "", "did you mean `executor`?"),
            ("defaults: {sandbox: {reed: []}}", "", "did you mean `read`?"),
            ("defaults: sandbox", "", "`defaults` must be a mapping"),
        ] {
            let error = read(defaults, keys).unwrap_err();
            assert!(error.contains(message), "{defaults} {keys}: {error}");
            assert!(error.contains("c.yaml:"), "{defaults} {keys}: {error}");
        }
    }

    #[test]
    fn a_linked_evaluator_cannot_be_contained() {
        for key in ["executor: sandbox", "sandbox: {}", "docker: {image: a}"] {
            let text = format!("evaluators: [{{name: a, type: linked, {key}}}]");
            let error = Config::parse(&text, Path::new("c.yaml")).unwrap_err().to_string();
            assert!(
                error.contains("has no effect on an evaluator that runs in this program"),
                "{error}"
            );
        }
    }
}
