//! What a program runs in: its working directory, variables and limits, and what is said of them when it breaks.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_document::size;

use crate::{
    config::{CodeConfig, LimitsConfig},
    process::{CommandSpec, Limits, Resources},
    runtime::{Environment, EnvironmentFilter, Inherit, Launch},
    verdict::Verdict,
};

/// Everything about the process of a program that is not the program.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    folder: Option<PathBuf>,
    visible: EnvironmentFilter,
    limits: LimitsConfig,
}

impl Surroundings {
    /// What an entry asks for; an error says what of it cannot be had.
    pub(super) fn new(code: &CodeConfig, inherited: &Environment) -> Result<Self, String> {
        let env = &code.process.env;
        let inherit = match (env.inherit, code.fetched) {
            (Some(true), _) => Inherit::All,
            (Some(false), _) | (None, true) => Inherit::Confined,
            (None, false) => Inherit::Open,
        };
        Ok(Self {
            folder: working_folder(code.process.cwd.as_deref())?,
            visible: EnvironmentFilter::new(inherited, inherit, &env.variables),
            limits: code.process.limits,
        })
    }

    /// The launch with this folder and these variables; without a worker where the time of the processor is limited: it is that
    /// of a process, and each conversation is to have all of it.
    pub(super) fn give_to(&self, launch: Launch) -> Launch {
        if self.folder.is_none() && self.visible.is_all() && self.resources().is_unlimited() {
            return launch;
        }
        let mut launch = launch.map(|command| {
            let cwd = self.folder.clone().or_else(|| command.cwd.clone());
            CommandSpec { cwd, ..self.visible.give_to(command) }
        });
        launch.worker = launch.worker.filter(|_| self.resources().cpu.is_none());
        launch
    }

    /// What the system is to enforce.
    pub(super) fn resources(&self) -> Resources {
        self.limits.resources
    }

    /// What the supervisor is to enforce.
    pub(super) fn limits(&self, timeout: Duration) -> Limits {
        self.limits.apply(Limits::with_timeout(timeout))
    }

    /// Secrets that the program does not see.
    pub(super) fn withheld(&self) -> Vec<String> {
        self.visible.withheld().collect()
    }

    /// What of this may be why the program broke, for people; `None` when nothing is. `texts` are what it said.
    pub(super) fn remark(&self, verdict: &Verdict, texts: &[&str]) -> Option<String> {
        let limits = match verdict {
            Verdict::Exited { code } => self.blame(*code),
            Verdict::Signalled { signal } => self.blame(signal.saturating_neg()),
            // Too little memory may keep a program from being started at all.
            Verdict::SpawnFailed { .. } => in_force(self.resources()),
            // Who cannot get memory or a file may wait for ever. Time of the processor is none that passes meanwhile.
            Verdict::TimedOut { .. } => in_force(Resources { cpu: None, ..self.resources() }),
            _ => None,
        };
        let remarks: Vec<String> = [limits, self.missing(texts)].into_iter().flatten().collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    /// Whether the program gets all secrets, and all that its entry names.
    pub(super) fn keeps_nothing_back(&self) -> bool {
        self.visible.withheld().next().is_none() && self.visible.absent().is_empty()
    }

    /// What of that which the program did not get is named in what it said, for people.
    pub(super) fn missing(&self, texts: &[&str]) -> Option<String> {
        let named = |name: &String| texts.iter().any(|text| has_word(text, name));
        let withheld = self.visible.withheld().find(named).map(|name| {
            format!("{name} is withheld from evaluators, unless their entry names it under `env`")
        });
        withheld.or_else(|| {
            let name = self.visible.absent().iter().find(|name| named(name))?;
            Some(format!("{name} is to be passed on, says `env`, and it is not set here"))
        })
    }

    /// What the limits have to do with a process that ended with this code.
    fn blame(&self, code: i32) -> Option<String> {
        let resources = self.resources();
        match resources.cpu {
            Some(cpu) if resources.cpu_is_over(code) => Some(format!(
                "it used up its {cpu} s of processor time, which is its limit `cpu: {cpu}`"
            )),
            _ if resources.may_have_killed(code) => {
                in_force(resources).map(|limits| format!("something killed it; {limits}"))
            }
            _ => in_force(resources),
        }
    }
}

/// Limits as a configuration has them.
fn in_force(limits: Resources) -> Option<String> {
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

/// Absolute path of the working directory that an entry names; `None` is that of this process.
pub(super) fn working_folder(cwd: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let Some(cwd) = cwd else { return Ok(None) };
    let absolute = std::path::absolute(cwd)
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

/// Whether a text has this name of a variable in it, and not as a part of another one.
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
    use crate::config::EnvConfig;

    fn surroundings(resources: Resources, variables: &[(&str, Option<&str>)]) -> Surroundings {
        let mut code = CodeConfig::default();
        code.process.limits.resources = resources;
        code.process.env = EnvConfig {
            inherit: None,
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
                .collect(),
        };
        let inherited = Environment::new([("OPENAI_API_KEY", "k"), ("PATH", "/bin")]);
        Surroundings::new(&code, &inherited).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn an_end_is_put_down_to_the_limit_that_causes_such_ends() {
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
            (
                files,
                Verdict::TimedOut { limit: Duration::ZERO },
                Some("it had the limit `open_files: 9`, which may be why".to_owned()),
            ),
            (cpu, Verdict::TimedOut { limit: Duration::ZERO }, None),
            (cpu, exited(1), Some("it had the limit `cpu: 2`, which may be why".to_owned())),
            (
                files,
                signalled(24),
                Some("it had the limit `open_files: 9`, which may be why".to_owned()),
            ),
            (Resources::default(), signalled(24), None),
        ] {
            let remark = surroundings(resources, &[]).remark(&verdict, &[]);
            assert_eq!(remark, expected, "{resources:?} {verdict:?}");
        }
    }

    #[test]
    fn a_program_that_names_what_it_did_not_get_is_helped() {
        let here = surroundings(Resources::default(), &[("GONE", None)]);
        let remark = |text: &str| here.remark(&Verdict::Exited { code: 1 }, &["", text]);
        assert_eq!(
            remark("KeyError: 'OPENAI_API_KEY'").unwrap(),
            "OPENAI_API_KEY is withheld from evaluators, unless their entry names it under `env`"
        );
        assert_eq!(
            remark("set GONE, please").unwrap(),
            "GONE is to be passed on, says `env`, and it is not set here"
        );
        for text in ["", "MY_OPENAI_API_KEY_2", "BEGONE", "PATH"] {
            assert_eq!(remark(text), None, "{text}");
        }
    }

    #[test]
    fn time_of_processors_is_counted_for_each_conversation() {
        let launch = || Launch::new(CommandSpec::new("/built")).with_stream();
        let worker = |here: Surroundings| {
            here.give_to(launch()).worker.map(|worker| worker.program.into_string().unwrap())
        };
        let none = Resources::default();
        let plain = Environment::new([("PATH", "/bin")]);
        let unchanged = Surroundings::new(&CodeConfig::default(), &plain).unwrap();
        assert_eq!(worker(unchanged).as_deref(), Some("/built"));
        assert_eq!(worker(surroundings(none, &[])).as_deref(), Some("/built"));
        let memory = Resources { memory: Some(1 << 30), ..none };
        assert_eq!(worker(surroundings(memory, &[])).as_deref(), Some("/built"));
        let cpu = Resources { cpu: Some(1), ..none };
        assert_eq!(worker(surroundings(cpu, &[])), None, "each conversation has its own time");
    }
}
