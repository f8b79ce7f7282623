//! The working directory, variables and limits of a program, and hints about them for errors.

use std::{
    collections::BTreeSet,
    env,
    path::{self, Path, PathBuf},
    time::Duration,
};

use evaluator_document::size;

use super::hidden::Shown;
use crate::{
    executor::{CONTAINED_MEMORY, Containment, MAX_FILE_SIZE, Visible},
    files::read_regular,
    hosts::{is_javascript, uncalled_function},
    models::{PROXY_VARIABLES, SDK_VARIABLES},
    process::{CommandSpec, Limits, Resources},
    runtime::{Environment, EnvironmentFilter, Inherit, Launch},
    verdict::Verdict,
};

/// Conditions under which the processes of an evaluator run.
#[derive(Clone, Debug)]
pub struct ExecutionContext {
    directory: Option<PathBuf>,
    environment: EnvironmentFilter,
    limits: Limits,
    resources: Resources,
    containment: Option<ContainedIn>,
    shown: Shown,
    /// Names of the variables with addresses and tokens of models, of an entry that offers some.
    model_variables: Vec<&'static str>,
}

/// Settings of the processes of an entry.
#[derive(Clone, Debug, Default)]
pub struct ProcessSettings<'c> {
    /// Additional variables by name: with the value in this process (`None`), or with another one.
    pub variables: &'c [(String, Option<String>)],
    /// Whether they get all variables of this process, or only those that programs need to start; `None` if the entry does not
    /// say it.
    pub inherit: Option<bool>,
    /// Whether the program was fetched and is therefore trusted less.
    pub is_fetched: bool,
    /// Whether the program may ask models.
    pub asks_models: bool,
    /// Working directory; that of this process if `None`.
    pub cwd: Option<&'c Path>,
    /// Limits that the supervisor enforces, apart from the timeout.
    pub limits: Limits,
    /// Limits that the system enforces.
    pub resources: Resources,
    /// Name of the executor that contains them, and what they may use in it; `None` if they are not contained.
    pub containment: Option<(&'c str, &'c Containment)>,
}

/// The executor that contains the processes of an evaluator.
#[derive(Clone, Debug)]
struct ContainedIn {
    executor: String,
    network: bool,
    processes: u32,
}

/// Messages of programs that were refused memory.
const NO_MEMORY: [&str; 3] = ["MemoryError", "Cannot allocate memory", "ENOMEM"];

/// Messages of programs that were refused a file, because too many are open.
const NO_DESCRIPTORS: [&str; 2] = ["Too many open files", "EMFILE"];

/// Messages of programs that were refused a process or thread.
const NO_PROCESS: [&str; 7] = [
    "can't start new thread",
    "failed to spawn thread",
    "Cannot fork",
    "fork: Resource temporarily unavailable",
    "fork: retry",
    "BlockingIOError: [Errno 11]",
    "EAGAIN",
];

/// Returns true if one of the texts contains one of the signs.
fn says(texts: &[&str], signs: &[&str]) -> bool {
    texts.iter().any(|text| signs.iter().any(|sign| text.contains(sign)))
}

/// Returns the names of the variables with addresses and tokens of models. An entry that sets one that SDKs read, or passes it
/// on, asks a server of its own by that SDK.
fn model_variables(own: &[(String, Option<String>)]) -> Vec<&'static str> {
    let is_own = |name: &str| own.iter().any(|(known, _)| known == name);
    let sdks = SDK_VARIABLES.into_iter().map(|([url, other], key)| [url, other, key]);
    let sdks = sdks.filter(|names| !names.iter().any(|name| is_own(name))).flatten();
    PROXY_VARIABLES.into_iter().flat_map(|(url, token)| [url, token]).chain(sdks).collect()
}

/// Names of the variable that lists the hosts which are asked directly; programs read one of the two.
const DIRECT_HOSTS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Returns the value of [`DIRECT_HOSTS`] for a program that asks models: the hosts of its own settings, and the address of
/// its models. Otherwise `HTTP_PROXY` or `ALL_PROXY` would divert its requests and its token.
fn direct_hosts(
    own: &[(String, Option<String>)],
    (inherited, inherit): (&Environment, Inherit),
) -> String {
    let visible = |name: &&str| {
        let given = own.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let passed_on = || inherited.get(name).map(|value| value.to_string_lossy().into_owned());
        match given {
            Some(value) => value.or_else(passed_on),
            None if inherit == Inherit::Confined => None,
            None => passed_on(),
        }
    };
    let mut hosts: Vec<String> = Vec::new();
    for value in DIRECT_HOSTS.iter().filter_map(visible) {
        hosts.extend(value.split(',').map(|host| host.trim().to_owned()));
    }
    // Some programs understand this only as the whole value.
    if hosts.iter().any(|host| host == "*") {
        return "*".to_owned();
    }
    hosts.extend(["127.0.0.1", "localhost"].map(str::to_owned));
    let mut listed = BTreeSet::new();
    hosts.retain(|host| !host.is_empty() && listed.insert(host.clone()));
    hosts.join(",")
}

/// Signal of a process that called something which a system call filter forbids.
const FORBIDDEN_CALL: i32 = 31;

/// Exit code of Node.js if a top-level `await` still waits, and nothing is left to do.
const UNRESOLVED: i32 = 13;

/// Maximum number of bytes of a file that is taken for a source.
const LONGEST_SOURCE: u64 = 1 << 20;

impl ExecutionContext {
    /// Resolves the settings of an entry.
    ///
    /// # Errors
    ///
    /// The working directory cannot be used.
    pub fn new(settings: &ProcessSettings<'_>, inherited: &Environment) -> Result<Self, String> {
        let own = settings.variables;
        let contained = settings.containment.is_some();
        let inherit = match (settings.inherit, settings.is_fetched || contained) {
            (Some(true), _) if !contained => Inherit::All,
            (None, false) => Inherit::Open,
            _ => Inherit::Confined,
        };
        let mut variables = own.to_vec();
        let model_variables = match settings.asks_models {
            true => model_variables(own),
            false => Vec::new(),
        };
        // Each evaluation sets its own, and those of this process must not be seen before.
        let unset = model_variables.iter().map(|name| ((*name).to_owned(), Some(String::new())));
        variables.extend(unset);
        if settings.asks_models {
            let hosts = direct_hosts(own, (inherited, inherit));
            variables.extend(DIRECT_HOSTS.map(|name| (name.to_owned(), Some(hosts.clone()))));
        }
        Ok(Self {
            directory: working_directory(settings.cwd)?,
            environment: EnvironmentFilter::new(inherited, inherit, &variables),
            limits: settings.limits.clone(),
            resources: settings.resources,
            containment: settings.containment.map(|(executor, containment)| ContainedIn {
                executor: executor.to_owned(),
                network: containment.network,
                processes: containment.processes,
            }),
            shown: Shown::default(),
            model_variables,
        })
    }

    /// Returns true if each evaluation sets the variable of this name, which has the address or the token of its models.
    pub(crate) fn is_of_models(&self, name: &str) -> bool {
        self.model_variables.contains(&name)
    }

    /// Notes the program and what it sees if it is contained, for hints.
    pub fn note_shown(&mut self, settings: &ProcessSettings<'_>, source: &Path, visible: &Visible) {
        let own = settings.containment.into_iter();
        let own =
            own.flat_map(|(_, containment)| containment.read.iter().chain(&containment.write));
        let python_path = |(name, value): &(String, Option<String>)| {
            (name == "PYTHONPATH").then(|| value.clone().unwrap_or_default())
        };
        let python_path = settings.variables.iter().find_map(python_path);
        let absolute = |path: &Path| path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.shown = Shown {
            paths: visible.paths.iter().chain(own).cloned().collect(),
            source: absolute(source),
            search_path: env::split_paths(&python_path.unwrap_or_default()).collect(),
            cwd: self.directory.clone().or_else(|| env::current_dir().ok()).unwrap_or_default(),
        };
    }

    /// Applies the directory and the variables to a launch. Removes the worker if processor time is limited: the limit is that
    /// of a process, and each conversation has all of it.
    pub fn apply(&self, launch: Launch) -> Launch {
        if self.directory.is_none() && self.environment.is_all() && self.resources().is_unlimited()
        {
            return launch;
        }
        let mut launch = launch.map(|command| {
            let cwd = self.directory.clone().or_else(|| command.cwd.clone());
            CommandSpec { cwd, ..self.environment.give_to(command) }
        });
        launch.worker = launch.worker.filter(|_| self.resources().cpu.is_none());
        launch
    }

    /// Returns the limits that the system enforces.
    pub fn resources(&self) -> Resources {
        self.resources
    }

    /// Returns the limits that the supervisor enforces.
    pub(crate) fn limits(&self, timeout: Duration) -> Limits {
        Limits { timeout, ..self.limits.clone() }
    }

    /// Returns the names of secrets that the program does not see.
    pub fn withheld(&self) -> Vec<String> {
        self.environment.withheld().collect()
    }

    /// Returns a secret that the program does not see and that its source names; `None` for a file that is not the text of a
    /// program.
    pub fn withheld_in(&self, source: &Path) -> Option<String> {
        let text = String::from_utf8(read_regular(source, LONGEST_SOURCE).ok()?).ok()?;
        self.environment.withheld().find(|name| has_word(&text, name))
    }

    /// Returns a hint if a condition may be the cause of the verdict. `texts` are messages of the program.
    pub fn hint(&self, verdict: &Verdict, texts: &[&str]) -> Option<String> {
        let limits = match verdict {
            Verdict::Exited { code } => self.limit_hint(*code),
            Verdict::Signalled { signal } => self.limit_hint(signal.saturating_neg()),
            // Too little memory may keep a program from being started at all.
            Verdict::SpawnFailed { .. } => limits_hint(self.resources()),
            // A program may wait forever for memory or a file that it was refused.
            Verdict::TimedOut { .. } => {
                let Resources { memory, open_files, .. } = self.resources();
                limits_hint(Resources {
                    memory: memory.filter(|_| says(texts, &NO_MEMORY)),
                    open_files: open_files.filter(|_| says(texts, &NO_DESCRIPTORS)),
                    cpu: None,
                })
            }
            _ => None,
        };
        let hints: Vec<String> =
            [limits, self.containment_hint(verdict, texts), self.variable_hint(texts)]
                .into_iter()
                .flatten()
                .collect();
        (!hints.is_empty()).then(|| hints.join("; "))
    }

    /// Returns a hint for a program of JavaScript that waited for a promise in vain. Some releases of Node.js print nothing then.
    pub(crate) fn promise_hint(&self, verdict: &Verdict, stderr: &str) -> Option<String> {
        let Verdict::Exited { code: UNRESOLVED } = verdict else { return None };
        let is_meant = stderr.contains("unsettled top-level await")
            || is_javascript(&self.shown.source) && stderr.trim().is_empty();
        is_meant.then(|| {
            "a promise that it waits for with a top-level `await` never resolved, and Node.js had nothing left to do: look for a \
             callback that is never called"
                .to_owned()
        })
    }

    /// Returns a hint for a file that only defines a function which its host would call in another form.
    pub(crate) fn uncalled_hint(&self) -> Option<String> {
        uncalled_function(&self.shown.source)
    }

    /// Returns what a program that printed nothing should do.
    pub(crate) fn silence_hint(&self) -> String {
        let source = &self.shown.source;
        let text = self.shown.source_text();
        let has_extension = |wanted: &str| source.extension().is_some_and(|it| it == wanted);
        let sdk = if has_extension("py") && text.contains("agentevals_evaluator_sdk") {
            "; a function with `@evaluator` runs when the file calls its `run()`"
        } else if source.is_dir() || has_extension("rs") && text.contains("evaluator_sdk") {
            "; a function with `#[evaluator]` runs when `main` returns `FUNCTION::run()`"
        } else {
            ""
        };
        format!("print one JSON document like {{\"score\": 0.5}} to stdout{sdk}")
    }

    /// Returns true if the program sees all secrets and all variables that its entry names.
    pub(crate) fn provides_everything(&self) -> bool {
        self.environment.withheld().next().is_none() && self.environment.absent().is_empty()
    }

    /// Returns a hint about a variable that the program does not see and that one of its messages names.
    pub(crate) fn variable_hint(&self, texts: &[&str]) -> Option<String> {
        let named = |name: &String| texts.iter().any(|text| has_word(text, name));
        let withheld = self.environment.withheld().find(named).map(|name| {
            format!("{name} is withheld from evaluators, unless their entry names it under `env`")
        });
        withheld.or_else(|| {
            let name = self.environment.absent().iter().find(|name| named(name))?;
            Some(format!("`env` passes {name} on, but it is not set"))
        })
    }

    /// Returns a hint if the executor may be the cause of the verdict.
    fn containment_hint(&self, verdict: &Verdict, texts: &[&str]) -> Option<String> {
        const NO_NETWORK: [&str; 8] = [
            "Network is unreachable",
            "ENETUNREACH",
            "Connection refused",
            "ECONNREFUSED",
            "Name or service not known",
            "name resolution",
            "EAI_AGAIN",
            "getaddrinfo",
        ];
        const NO_FILE: [&str; 6] = [
            "Permission denied",
            "Operation not permitted",
            "Read-only file system",
            "EACCES",
            "EPERM",
            "EROFS",
        ];
        const SOCKET: [&str; 2] = ["socket", "connect"];
        const TOO_LARGE: [&str; 2] = ["File too large", "EFBIG"];
        let ContainedIn { executor, network, processes } = self.containment.as_ref()?;
        let place = if executor == "docker" { "container" } else { executor };
        let says = |signs: &[&str]| says(texts, signs);
        let hidden = || texts.iter().find_map(|text| self.shown.hidden_in(text));
        match verdict {
            Verdict::Answer(_) | Verdict::SpawnFailed { .. } => None,
            Verdict::Signalled { signal: FORBIDDEN_CALL } => {
                Some(format!("it called something that the {place} forbids"))
            }
            _ if says(&TOO_LARGE) => Some(format!(
                "a {place} limits each file to {}, and no key raises this; write less, or several files",
                size::shown(MAX_FILE_SIZE)
            )),
            // A limit of its own is named anyway.
            _ if says(&NO_MEMORY) && self.resources().memory.is_none() => Some(format!(
                "it runs in a {place} with {} of memory; raise it with `limits: {{memory: ..}}`",
                size::shown(CONTAINED_MEMORY)
            )),
            _ if says(&NO_PROCESS) => Some(format!(
                "it runs in a {place} with at most {processes} processes and threads together; raise it with \
                 `{executor}: {{processes: ..}}`"
            )),
            _ if !network && (says(&NO_NETWORK) || says(&NO_FILE) && says(&SOCKET)) => Some(
                format!("it runs in a {place} without network; `{executor}: {{network: true}}`"),
            ),
            _ => match hidden() {
                Some(path) => Some(format!(
                    "{} exists, but the {place} does not show it; list it under `{executor}: {{read: [..]}}`",
                    path.display()
                )),
                None => says(&NO_FILE).then(|| {
                    format!(
                        "it runs in a {place}, which shows few files and can change none of them; \
                     `{executor}: {{read: [..], write: [..]}}`"
                    )
                }),
            },
        }
    }

    /// Returns a hint about the limits for a process that exited with this code.
    fn limit_hint(&self, code: i32) -> Option<String> {
        let resources = self.resources();
        match resources.cpu {
            Some(cpu) if resources.cpu_is_over(code) => Some(format!(
                "it used up its {cpu} s of processor time, which is its limit `cpu: {cpu}`"
            )),
            _ if resources.may_have_killed(code) => {
                limits_hint(resources).map(|limits| format!("something killed it; {limits}"))
            }
            _ => limits_hint(resources),
        }
    }
}

/// Lists limits as a configuration writes them.
fn limits_hint(limits: Resources) -> Option<String> {
    let Resources { memory, cpu, open_files } = limits;
    let limits: Vec<String> = [
        memory.map(|memory| format!("`memory: {}`", size::shown(memory))),
        open_files.map(|files| format!("`open_files: {files}`")),
        cpu.map(|cpu| format!("`cpu: {cpu}`")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (last, others) = limits.split_last()?;
    Some(match others {
        [] => format!("it had the limit {last}, which may be why"),
        others => {
            format!("it had the limits {} and {last}, which may be why", others.join(", "))
        }
    })
}

/// Returns the absolute path of the working directory of an entry; `None` is that of this process.
///
/// # Errors
///
/// It does not exist or is not a directory.
pub fn working_directory(cwd: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let Some(cwd) = cwd else { return Ok(None) };
    let absolute = path::absolute(cwd)
        .map_err(|error| format!("cannot find the working directory {}: {error}", cwd.display()))?;
    match absolute.metadata() {
        Ok(found) if found.is_dir() => Ok(Some(absolute)),
        Ok(_) => Err(format!("`cwd` is not a directory: {}", absolute.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("`cwd` does not exist: {}", absolute.display()))
        }
        Err(error) => Err(format!("`cwd` cannot be used: {}: {error}", absolute.display())),
    }
}

/// Returns true if the text contains the name of a variable, not as a part of a longer name.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c == '_' || c.is_alphanumeric();
    !name.is_empty()
        && text.match_indices(name).any(|(start, _)| {
            let (before, after) = (&text[..start], &text[start + name.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(resources: Resources, variables: &[(&str, Option<&str>)]) -> ExecutionContext {
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
            .collect();
        let settings = ProcessSettings { resources, variables: &variables, ..Default::default() };
        let inherited = Environment::new([("OPENAI_API_KEY", "k"), ("PATH", "/bin")]);
        ExecutionContext::new(&settings, &inherited).unwrap()
    }

    #[test]
    fn models_are_asked_directly_next_to_the_hosts_of_the_user() {
        let hosts = |own: &[(&str, Option<&str>)], inherited: &[(&str, &str)], inherit| {
            let own: Vec<_> = own
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
                .collect();
            direct_hosts(&own, (&Environment::new(inherited.iter().copied()), inherit))
        };
        let both = [("NO_PROXY", "a.b, localhost"), ("no_proxy", "a.b,::1")];
        assert_eq!(hosts(&[], &[], Inherit::Open), "127.0.0.1,localhost");
        assert_eq!(hosts(&[], &both, Inherit::Open), "a.b,localhost,::1,127.0.0.1");
        assert_eq!(hosts(&[], &both, Inherit::Confined), "127.0.0.1,localhost");
        let passed_on = [("NO_PROXY", None)];
        assert_eq!(hosts(&passed_on, &both, Inherit::Confined), "a.b,localhost,127.0.0.1");
        let own = [("NO_PROXY", Some("x")), ("no_proxy", Some(""))];
        assert_eq!(hosts(&own, &both, Inherit::Open), "x,127.0.0.1,localhost");
        assert_eq!(hosts(&[], &[("no_proxy", "a,*")], Inherit::Open), "*");
    }

    #[cfg(unix)]
    #[test]
    fn exits_are_attributed_to_the_limits_that_cause_them() {
        let all = Resources { memory: Some(64 << 20), cpu: Some(2), open_files: Some(9) };
        let (cpu, files) = (
            Resources { cpu: Some(2), ..Resources::default() },
            Resources { open_files: Some(9), ..Resources::default() },
        );
        let exited = |code| Verdict::Exited { code };
        let signalled = |signal| Verdict::Signalled { signal };
        let used_up = "it used up its 2 s of processor time, which is its limit `cpu: 2`";
        let any =
            "it had the limits `memory: 64MiB`, `open_files: 9` and `cpu: 2`, which may be why";
        for (resources, verdict, expected) in [
            (all, signalled(24), Some(used_up.to_owned())),
            (all, exited(152), Some(used_up.to_owned())),
            (all, signalled(9), Some(format!("something killed it; {any}"))),
            (all, exited(137), Some(format!("something killed it; {any}"))),
            (all, exited(1), Some(any.to_owned())),
            (
                all,
                Verdict::SpawnFailed { reason: String::new(), transient: false },
                Some(any.to_owned()),
            ),
            (all, Verdict::LeakedPipe, None),
            (all, Verdict::TimedOut { limit: Duration::ZERO }, None),
            (cpu, Verdict::TimedOut { limit: Duration::ZERO }, None),
            (cpu, exited(1), Some("it had the limit `cpu: 2`, which may be why".to_owned())),
            (
                files,
                signalled(24),
                Some("it had the limit `open_files: 9`, which may be why".to_owned()),
            ),
            (Resources::default(), signalled(24), None),
        ] {
            let hint = context(resources, &[]).hint(&verdict, &[]);
            assert_eq!(hint, expected, "{resources:?} {verdict:?}");
        }
    }

    #[test]
    fn a_timeout_names_only_limits_that_the_program_has_reached() {
        let all = Resources { memory: Some(64 << 20), cpu: Some(2), open_files: Some(9) };
        let here = context(all, &[]);
        let hint = |text: &str| here.hint(&Verdict::TimedOut { limit: Duration::ZERO }, &[text]);
        assert_eq!(hint("waiting"), None);
        let memory = "it had the limit `memory: 64MiB`, which may be why";
        assert_eq!(hint("a thread died: MemoryError").as_deref(), Some(memory));
        let files = "it had the limit `open_files: 9`, which may be why";
        assert_eq!(hint("OSError: [Errno 24] Too many open files").as_deref(), Some(files));
    }

    #[test]
    fn what_a_contained_program_cannot_reach_gets_a_hint() {
        let containment = Containment::default();
        let within = |executor| {
            let containment = Some((executor, &containment));
            let settings = ProcessSettings { containment, ..Default::default() };
            ExecutionContext::new(&settings, &Environment::default()).unwrap()
        };
        let here = within("sandbox");
        let hint = |verdict: Verdict, text: &str| here.hint(&verdict, &[text]).unwrap_or_default();
        let exited = Verdict::Exited { code: 1 };
        let network = "it runs in a sandbox without network; `sandbox: {network: true}`";
        assert_eq!(hint(exited.clone(), "OSError: [Errno 101] Network is unreachable"), network);
        let files = hint(exited.clone(), "PermissionError: [Errno 13] Permission denied: 'x'");
        assert!(files.contains("`sandbox: {read: [..], write: [..]}`"), "{files}");
        let there = within("docker");
        let files = there.hint(&Verdict::Exited { code: 126 }, &["sh: Permission denied"]).unwrap();
        assert!(files.starts_with("it runs in a container, which shows few files"), "{files}");
        for text in [
            "RuntimeError: can't start new thread",
            "failed to spawn thread: Os { code: 11, kind: WouldBlock }",
            "sh: 1: Cannot fork",
            "Error: spawn sh EAGAIN",
        ] {
            let threads = hint(exited.clone(), text);
            assert!(threads.contains("at most 64 processes and threads"), "{text}: {threads}");
            assert!(threads.contains("`sandbox: {processes: ..}`"), "{text}: {threads}");
        }
        let forbidden = "it called something that the sandbox forbids";
        assert_eq!(hint(Verdict::Signalled { signal: 31 }, ""), forbidden);
        assert_eq!(hint(exited, "ValueError"), "");
        let local = context(Resources::default(), &[]);
        assert_eq!(local.hint(&Verdict::Signalled { signal: 31 }, &[]), None);
    }

    #[test]
    fn messages_that_name_an_unseen_variable_get_a_hint() {
        let here = context(Resources::default(), &[("GONE", None)]);
        let hint = |text: &str| here.hint(&Verdict::Exited { code: 1 }, &["", text]);
        assert_eq!(
            hint("KeyError: 'OPENAI_API_KEY'").unwrap(),
            "OPENAI_API_KEY is withheld from evaluators, unless their entry names it under `env`"
        );
        assert_eq!(hint("set GONE, please").unwrap(), "`env` passes GONE on, but it is not set");
        for text in ["", "MY_OPENAI_API_KEY_2", "BEGONE", "PATH"] {
            assert_eq!(hint(text), None, "{text}");
        }
    }

    #[test]
    fn processor_time_is_limited_for_each_conversation() {
        let launch = || Launch::new(CommandSpec::new("/built")).with_stream();
        let worker = |here: ExecutionContext| {
            here.apply(launch()).worker.map(|worker| worker.program.into_string().unwrap())
        };
        let none = Resources::default();
        let plain = Environment::new([("PATH", "/bin")]);
        let unchanged = ExecutionContext::new(&ProcessSettings::default(), &plain).unwrap();
        assert_eq!(worker(unchanged).as_deref(), Some("/built"));
        assert_eq!(worker(context(none, &[])).as_deref(), Some("/built"));
        let memory = Resources { memory: Some(1 << 30), ..none };
        assert_eq!(worker(context(memory, &[])).as_deref(), Some("/built"));
        let cpu = Resources { cpu: Some(1), ..none };
        assert_eq!(worker(context(cpu, &[])), None, "each conversation has its own time");
    }
}
