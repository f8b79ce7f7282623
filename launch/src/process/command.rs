//! Values that describe a process: its command, time limit and resources.

use std::{env, ffi::OsString, fmt, path::PathBuf, process::Command, time::Duration};

use super::{Ending, Resources, SpawnError, os};

/// A command line with environment, working directory and resource limits.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CommandSpec {
    /// Program: a path, or a name that is looked up on `PATH`.
    pub program: OsString,
    /// Arguments.
    pub args: Vec<OsString>,
    /// Variables set (`Some`) or removed (`None`) relative to the inherited environment, in order.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Start from an empty environment instead of the inherited one.
    pub clear_env: bool,
    /// Working directory; the caller's when `None`.
    pub cwd: Option<PathBuf>,
    /// Resource limits.
    pub resources: Resources,
    /// Description of `program`, if it only starts the program itself.
    pub starter: Option<Starter>,
    /// Beginning of the names of containers, if the program is a container engine and the arguments start a container: each
    /// start adds a number, and passes the name on as the second argument `--name=NAME`. A container whose client has to end
    /// is killed by its name. Default: `None`.
    pub container: Option<String>,
}

/// A program that starts another one, and how it reports that it cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The program that it starts.
    pub program: OsString,
    /// Exit codes after a failure.
    pub codes: &'static [i32],
    /// Beginning of its standard error after a failure. The message follows.
    pub prefix: &'static str,
}

impl Starter {
    /// Returns the ending of the program: an exit of the starter that reports a failure means that the program was not
    /// started. `stderr` is the beginning of standard error.
    pub(super) fn ending(&self, ending: Ending, stderr: &[u8]) -> Ending {
        let has_failed = matches!(ending, Ending::Exited(code) if self.codes.contains(&code));
        match stderr.strip_prefix(self.prefix.as_bytes()).filter(|_| has_failed) {
            Some(message) => Ending::SpawnFailed(SpawnError {
                program: self.program.clone(),
                reason: String::from_utf8_lossy(message).trim().to_owned(),
                transient: false,
            }),
            None => ending,
        }
    }
}

/// Shows the names of variables only: values may be secrets.
impl fmt::Debug for CommandSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, args, env, clear_env, cwd, resources, starter, container } = self;
        let name = |(name, value): &(OsString, Option<OsString>)| {
            format!("{}{}", if value.is_some() { "" } else { "-" }, name.display())
        };
        f.debug_struct("CommandSpec")
            .field("program", program)
            .field("args", args)
            .field("env", &env.iter().map(name).collect::<Vec<_>>())
            .field("clear_env", clear_env)
            .field("cwd", cwd)
            .field("resources", resources)
            .field("starter", starter)
            .field("container", container)
            .finish()
    }
}

impl CommandSpec {
    /// A command without arguments.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    /// Removes an inherited variable.
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.push((name.into(), None));
        self
    }

    /// Returns a variable as the program will see it.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        match self.env.iter().rev().find(|(set, _)| set == name) {
            Some((_, value)) => value.clone(),
            None if self.clear_env => None,
            None => env::var_os(name),
        }
    }

    /// Sets arguments, environment and working directory of `command`.
    pub fn configure(&self, command: &mut Command) {
        command.args(&self.args);
        if self.clear_env {
            command.env_clear();
        }
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.cwd {
            command.current_dir(directory);
        }
    }
}

/// Limits of the time and the output of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit from the start on. Default 30 s; [`Duration::MAX`] for no limit.
    pub timeout: Duration,
    /// Bytes kept of standard output (for a session: of one line). Default 64 MiB.
    pub stdout_cap: usize,
    /// Bytes kept of the beginning of standard error. Default 16 KiB.
    pub stderr_head: usize,
    /// Bytes kept of the end of standard error. Default 48 KiB.
    pub stderr_tail: usize,
    /// Time to exit after `SIGTERM`. Default 50 ms.
    pub term_grace: Duration,
    /// Time to wait for the end of the outputs after the exit. Default 100 ms.
    pub eof_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            stdout_cap: 64 << 20,
            stderr_head: 16 << 10,
            stderr_tail: 48 << 10,
            term_grace: Duration::from_millis(50),
            eof_grace: Duration::from_millis(100),
        }
    }
}

impl Limits {
    /// The default limits with another timeout.
    pub fn with_timeout(timeout: Duration) -> Self {
        Self { timeout, ..Self::default() }
    }
}

impl Resources {
    /// Returns true if this exit code means that the processor time was used up. The code of a signal is its negative
    /// number or, as shells report it, its number plus 128.
    pub fn cpu_is_over(&self, code: i32) -> bool {
        self.cpu.is_some() && is_of(os::CPU_TIME_IS_OVER, code)
    }

    /// Returns true if this exit code means `SIGKILL`, which may be due to a limit.
    pub fn may_have_killed(&self, code: i32) -> bool {
        !self.is_unlimited() && is_of(os::KILLED, code)
    }
}

fn is_of(signal: Option<i32>, code: i32) -> bool {
    signal.is_some_and(|signal| {
        Some(code) == signal.checked_neg() || Some(code) == signal.checked_add(128)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_starter_is_not_an_exit_of_the_program() {
        let starter = Starter { program: "check".into(), codes: &[125], prefix: "helper: " };
        let failed = starter.ending(Ending::Exited(125), b"helper: cannot mount\n");
        let Ending::SpawnFailed(error) = failed else { panic!("{failed:?}") };
        assert_eq!(error.to_string(), "failed to start `check`: cannot mount");
        for (ending, stderr) in [
            (Ending::Exited(125), &b"my own words"[..]),
            (Ending::Exited(125), b""),
            (Ending::Exited(1), b"helper: cannot mount"),
            (Ending::Signalled(9), b"helper: cannot mount"),
        ] {
            assert_eq!(starter.ending(ending.clone(), stderr), ending);
        }
    }

    #[test]
    fn a_variable_is_what_the_program_will_see() {
        let nothing = CommandSpec { clear_env: true, ..CommandSpec::new("x") };
        assert_eq!(nothing.variable("PATH"), None);
        let set = nothing.env("PATH", "/a").env("PATH", "/b");
        assert_eq!(set.variable("PATH"), Some("/b".into()));
        assert_eq!(set.env_remove("PATH").variable("PATH"), None);
        assert_eq!(CommandSpec::new("x").variable("PATH"), env::var_os("PATH"));
    }
}
