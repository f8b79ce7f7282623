//! What to start, as a value: runtimes make it, executors may wrap it, only this module's siblings start it.

use std::{env, ffi::OsString, fmt, path::PathBuf, process::Command};

use super::Resources;

/// A command line with its environment, working directory and limits.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CommandSpec {
    /// Program: a path, or a name to be found on `PATH`.
    pub program: OsString,
    /// Arguments.
    pub args: Vec<OsString>,
    /// Variables set (`Some`) or removed (`None`) relative to the inherited environment, in order.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Start from an empty environment instead of the inherited one.
    pub clear_env: bool,
    /// Working directory; the caller's when `None`.
    pub cwd: Option<PathBuf>,
    /// What the system lets it use.
    pub resources: Resources,
}

/// Shows the names of variables only: values may be secrets.
impl fmt::Debug for CommandSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, args, env, clear_env, cwd, resources } = self;
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

    /// The variable as the program will see it.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        match self.env.iter().rev().find(|(set, _)| set == name) {
            Some((_, value)) => value.clone(),
            None if self.clear_env => None,
            None => env::var_os(name),
        }
    }

    /// Gives arguments, environment and working directory to a command of this program.
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
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
