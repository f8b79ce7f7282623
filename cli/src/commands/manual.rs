//! `evaluator completions` and `evaluator man`.

use std::path::Path;

use clap_complete::Shell;
use evaluator_host::run::Runner;

use super::print_with;
use crate::{args, exit, render};

/// Prints the completion script of a shell.
pub(super) fn completions(shell: Shell, runner: &Runner) -> u8 {
    let mut command = args::command(&runner.trace_formats);
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    print_with(|out| out.write_all(&script), exit::OK)
}

/// Prints the manual page, or writes the pages of all commands into a directory.
pub(super) fn man(directory: Option<&Path>, runner: &Runner) -> u8 {
    let command = args::command(&runner.trace_formats);
    let Some(directory) = directory else {
        let page = clap_mangen::Man::new(command);
        return print_with(|mut out| page.render(&mut out), exit::OK);
    };
    match clap_mangen::generate_to(command, directory) {
        Ok(()) => exit::OK,
        Err(error) => {
            let directory = directory.display();
            render::message(&format!("cannot write manual pages to {directory}: {error}"));
            exit::ERRORED
        }
    }
}
