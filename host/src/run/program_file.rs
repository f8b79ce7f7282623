//! The file of the program of an entry, and errors about it.

use std::path::PathBuf;

use crate::{
    config::CodeConfig,
    runtime::{Environment, PrepareError},
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

/// Returns true if the path may be the name of a command.
fn is_command(code: &CodeConfig) -> bool {
    code.command && code.path.components().count() == 1
}

/// Returns the file of a program. The name of a command that is not a file is searched on `PATH`.
pub(super) fn program_file(code: &CodeConfig) -> PathBuf {
    let command = (is_command(code) && !code.path.exists())
        .then(|| Environment::inherited().find_program(&code.path))
        .flatten();
    command.unwrap_or_else(|| code.path.clone())
}
