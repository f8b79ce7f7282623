//! The [`Executor`] trait, the local executor and the table of known executors.

use std::{collections::BTreeMap, mem, sync::Arc};

use crate::process::{CommandSpec, Resources, forks::ServerCommand};

mod docker;
mod interface;
mod model;
mod sandbox;

pub use docker::{DockerExecutor, Image};
pub use evaluator_sandbox::{Level, Listener, plan::follow as follow_links, run_if_helper};
pub use interface::{Executor, Scope};
pub use model::{
    CONTAINED_MEMORY, Contained, Containment, CrateSource, Docker, MAX_FILE_SIZE, Visible,
};
pub use sandbox::Sandbox;
pub(crate) use sandbox::contain_build;

/// Runs commands as they are, on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Local {
    /// Name of the executor.
    pub const NAME: &str = "local";
}

impl Executor for Local {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn forks(&self, _containment: &Containment) -> bool {
        true
    }

    fn check(&self, _containment: &Containment) -> Result<String, String> {
        Ok("starts programs on this machine, with the rights of its user".to_owned())
    }

    fn wrap(&self, command: CommandSpec, _scope: &Scope<'_>) -> Result<CommandSpec, String> {
        Ok(command)
    }
}

/// Returns the command that starts a program without settings of its own in an executor.
///
/// # Errors
///
/// Why the command cannot run in this executor.
pub fn wrap_with_defaults(
    executor: &dyn Executor,
    command: CommandSpec,
    visible: &Visible,
) -> Result<CommandSpec, String> {
    executor.wrap(command, &Scope::new(&Containment::default(), visible))
}

/// The executors that a run may use, by name. The default contains `docker`, `local` and `sandbox`.
#[derive(Clone, Debug)]
pub struct Executors {
    by_name: BTreeMap<String, Arc<dyn Executor>>,
}

impl Default for Executors {
    fn default() -> Self {
        let mut executors = Self { by_name: BTreeMap::new() };
        executors.register_executor(Local);
        executors.register_executor(Sandbox);
        executors.register_executor(DockerExecutor::default());
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

    /// Returns the executors in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Executor> {
        self.by_name.values().map(AsRef::as_ref)
    }

    /// Returns true if the executor of that name is known and contains programs.
    pub fn contains(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|executor| executor.contains())
    }

    /// Returns the executor of that name, after checking that it is available with these settings.
    ///
    /// # Errors
    ///
    /// The executor is unknown (the message lists the known ones) or not available.
    pub fn get(&self, name: &str, containment: &Containment) -> Result<Arc<dyn Executor>, String> {
        let executor = self.by_name.get(name).ok_or_else(|| {
            let available = self.names().collect::<Vec<_>>().join(", ");
            format!("unknown executor `{name}` (available: {available})")
        })?;
        executor
            .check(containment)
            .map_err(|reason| format!("executor `{name}` is not available: {reason}"))?;
        Ok(Arc::clone(executor))
    }
}

/// Returns the command of a server that runs in an executor which [forks](Executor::forks).
///
/// The server itself has no limit of processor time and files, because it works for all forks, which get the limits of
/// the command.
///
/// # Errors
///
/// Why the server cannot run in this executor.
pub fn wrap_server(
    executor: &dyn Executor,
    server: ServerCommand,
    scope: &Scope<'_>,
) -> Result<ServerCommand, String> {
    let ServerCommand { mut command, greeting, needs, reads } = server;
    if !executor.contains() {
        let command = executor.wrap(command, scope)?;
        return Ok(ServerCommand { command, greeting, needs, reads });
    }
    let resources = mem::take(&mut command.resources);
    command.resources = Resources { memory: resources.memory, ..Resources::default() };
    let mut visible = scope.visible.clone();
    visible.paths.extend(reads.clone());
    let scope = Scope { visible: &visible, ..*scope };
    let command = CommandSpec { resources, ..executor.wrap(command, &scope)? };
    Ok(ServerCommand { command, greeting, needs, reads })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_list_the_known_ones() {
        let error = Executors::default().get("moon", &Containment::default()).unwrap_err();
        assert_eq!(error, "unknown executor `moon` (available: docker, local, sandbox)");
    }

    #[test]
    fn a_registered_executor_wraps_commands() {
        #[derive(Debug)]
        struct Nice;
        impl Executor for Nice {
            fn name(&self) -> &str {
                "nice"
            }
            fn check(&self, _containment: &Containment) -> Result<String, String> {
                Ok("with low priority".to_owned())
            }
            fn wrap(&self, command: CommandSpec, _: &Scope<'_>) -> Result<CommandSpec, String> {
                Ok(CommandSpec {
                    program: "nice".into(),
                    args: vec![command.program.clone()],
                    ..command
                })
            }
        }
        let mut executors = Executors::default();
        executors.register_executor(Nice);
        let containment = Containment::default();
        let nice = executors.get("nice", &containment).unwrap();
        let visible = Visible::default();
        let scope = Scope::new(&containment, &visible);
        let wrapped = nice.wrap(CommandSpec::new("check"), &scope).unwrap();
        assert_eq!((wrapped.program, wrapped.args), ("nice".into(), vec!["check".into()]));
    }
}
