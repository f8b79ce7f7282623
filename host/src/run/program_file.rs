//! The file of the program of an entry, and errors about it.

use std::{path::PathBuf, sync::Arc};

use evaluator_engine::context::{ExecutionContext, ProcessSettings};

use crate::{
    config::{CodeConfig, ProcessConfig},
    executor::{Executor, Image},
    process::{CommandSpec, Limits},
    runtime::{Environment, Launch, PrepareError},
    source::ContentHash,
};

/// A program to prepare, with its executor.
pub(super) struct Candidate {
    /// Index among the evaluators.
    pub(super) index: usize,
    pub(super) code: CodeConfig,
    pub(super) executor: Arc<dyn Executor>,
    /// Pinned content of a fetched evaluator.
    pub(super) pin: Option<ContentHash>,
}

/// Returns the reason why an evaluator was not prepared.
pub(super) fn not_ready(error: &PrepareError, code: &CodeConfig) -> String {
    match error {
        PrepareError::NotFound { .. } if is_command(code) => {
            format!("{error}, nor is it a command on PATH")
        }
        _ => error.to_string(),
    }
}

/// Returns the settings of the processes of an entry. `contained`: its executor contains programs.
pub(super) fn process_settings(code: &CodeConfig, contained: bool) -> ProcessSettings<'_> {
    let ProcessConfig { limits, env, cwd } = &code.process;
    ProcessSettings {
        variables: &env.variables,
        inherit: env.inherit,
        is_fetched: code.fetched,
        asks_models: code.models.is_some(),
        cwd: cwd.as_deref(),
        limits: limits.apply(Limits::default()),
        resources: limits.resources,
        containment: contained.then(|| (&*code.executor, &*code.containment)),
    }
}

/// Returns the conditions under which the processes of an entry run.
///
/// # Errors
///
/// The working directory cannot be used.
pub(super) fn execution_context(
    code: &CodeConfig,
    contained: bool,
    inherited: &Environment,
) -> Result<ExecutionContext, String> {
    ExecutionContext::new(&process_settings(code, contained), inherited)
}

/// Returns the message about a program that its executor refuses to start.
pub(super) fn not_contained(code: &CodeConfig, reason: &str) -> String {
    format!("executor `{}`: {reason}", code.executor)
}

/// Returns true if the path is the name of a command, even if there is a file of this name.
pub(super) fn is_command(code: &CodeConfig) -> bool {
    code.command && code.path.components().count() == 1
}

/// Returns the launch of a command that the image of its container has, which no runtime of this machine prepares.
pub(super) fn command_of_image(code: &CodeConfig, image: Option<&Image>) -> Option<Launch> {
    let is_there = image.is_some() && is_command(code);
    is_there.then(|| Launch::new(CommandSpec::new(&code.path)))
}

/// Returns the file of a program. The name of a command is searched on `PATH`.
pub(super) fn program_file(code: &CodeConfig) -> PathBuf {
    let command =
        is_command(code).then(|| Environment::inherited().find_program(&code.path)).flatten();
    command.unwrap_or_else(|| code.path.clone())
}
