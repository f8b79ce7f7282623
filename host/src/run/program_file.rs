//! The file of the program of an entry, and errors about it.

use std::path::PathBuf;

use crate::{
    config::CodeConfig,
    executor::Image,
    process::CommandSpec,
    runtime::{Environment, Launch, PrepareError},
};

/// Returns the reason why an evaluator was not prepared.
pub(super) fn not_ready(error: &PrepareError, code: &CodeConfig) -> String {
    match error {
        PrepareError::NotFound { .. } if is_command(code) => {
            format!("{error}, nor is it a command on PATH")
        }
        _ => error.to_string(),
    }
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
