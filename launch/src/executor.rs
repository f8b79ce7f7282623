//! The [`Executor`] trait, the local executor and the table of known executors.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::process::CommandSpec;

/// Turns the command of a runtime into the command that is started.
///
/// An executor does not start anything itself: supervision (time limits, output, process groups) is the same for all.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Name in the key `executor:` of a configuration.
    fn name(&self) -> &str;

    /// Checks that the executor can be used on this machine.
    ///
    /// # Errors
    ///
    /// What is missing. An evaluator whose executor is not available is reported as broken, and never runs elsewhere.
    fn check(&self) -> Result<(), String>;

    /// Returns the command to start in place of `command`. Its standard streams must reach the evaluator unchanged.
    ///
    /// # Errors
    ///
    /// Why the command cannot run in this executor.
    fn wrap(&self, command: CommandSpec) -> Result<CommandSpec, String>;
}

/// Runs commands as they are, on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Executor for Local {
    fn name(&self) -> &str {
        "local"
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn wrap(&self, command: CommandSpec) -> Result<CommandSpec, String> {
        Ok(command)
    }
}

/// The executors that a run may use, by name. The default contains `local`.
#[derive(Clone, Debug)]
pub struct Executors {
    by_name: BTreeMap<String, Arc<dyn Executor>>,
}

impl Default for Executors {
    fn default() -> Self {
        let mut executors = Self { by_name: BTreeMap::new() };
        executors.register_executor(Local);
        executors
    }
}

impl Executors {
    /// Adds an executor; one of the same name is replaced.
    pub fn register_executor(&mut self, executor: impl Executor + 'static) {
        self.by_name.insert(executor.name().to_owned(), Arc::new(executor));
    }

    /// Names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Returns the executor of that name, after checking that it is available.
    ///
    /// # Errors
    ///
    /// The executor is unknown (the message lists the known ones) or not available.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Executor>, String> {
        let executor = self.by_name.get(name).ok_or_else(|| {
            let available = self.names().collect::<Vec<_>>().join(", ");
            format!("unknown executor `{name}` (available: {available})")
        })?;
        executor
            .check()
            .map_err(|reason| format!("executor `{name}` is not available: {reason}"))?;
        Ok(Arc::clone(executor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_list_the_known_ones() {
        let error = Executors::default().get("docker").unwrap_err();
        assert_eq!(error, "unknown executor `docker` (available: local)");
    }

    #[test]
    fn a_registered_executor_wraps_commands() {
        #[derive(Debug)]
        struct Nice;
        impl Executor for Nice {
            fn name(&self) -> &str {
                "nice"
            }
            fn check(&self) -> Result<(), String> {
                Ok(())
            }
            fn wrap(&self, command: CommandSpec) -> Result<CommandSpec, String> {
                Ok(CommandSpec {
                    program: "nice".into(),
                    args: vec![command.program.clone()],
                    ..command
                })
            }
        }
        let mut executors = Executors::default();
        executors.register_executor(Nice);
        let wrapped = executors.get("nice").unwrap().wrap(CommandSpec::new("check")).unwrap();
        assert_eq!((wrapped.program, wrapped.args), ("nice".into(), vec!["check".into()]));
    }
}
