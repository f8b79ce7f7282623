//! Commands that print what this program knows: `evaluator schema`, `runtimes`, `completions` and `man`.

use std::path::Path;

use clap_complete::Shell;
use evaluator_host::{config, executor::Containment, run::Runner};

use super::{broken, print, print_with, show};
use crate::{args, exit, render::Columns, streams};

/// Prints the JSON Schema of configuration files, with the registered metrics and trace formats.
pub(super) fn schema(runner: &Runner) -> u8 {
    print(&format!("{:#}\n", config::schema(&runner.registries)), exit::OK)
}

/// Lists the registered runtimes and executors.
pub(super) fn runtimes(runner: &Runner) -> u8 {
    let mut table = Columns::new(["Runtime", "Extensions", "Available", "Detail"]);
    for runtime in runner.registries.runtimes.iter() {
        let (available, detail) = match runtime.availability() {
            Ok(detail) => ("yes", detail),
            Err(reason) => ("no", reason),
        };
        let extensions = runtime.extensions().join(", ");
        table.row([runtime.name().to_owned(), extensions, available.to_owned(), detail]);
    }
    let mut executors = Columns::new(["Executor", "Available", "Detail"]);
    for executor in runner.registries.executors.iter() {
        let (available, detail) = match executor.check(&Containment::default()) {
            Ok(detail) => ("yes", detail),
            Err(reason) => ("no", reason),
        };
        executors.row([executor.name().to_owned(), available.to_owned(), detail]);
    }
    let width = streams::stdout_width();
    table.wrap(3, width);
    executors.wrap(2, width);
    show(&format!("{}\n{}", table.to_text(), executors.to_text()), exit::OK)
}

/// Prints the completion script of a shell.
pub(super) fn completions(shell: Shell, runner: &Runner) -> u8 {
    let mut command = args::command(&runner.registries.trace_formats);
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    print_with(|out| out.write_all(&script), exit::OK)
}

/// Prints the manual page, or writes the pages of all commands to a directory.
pub(super) fn man(directory: Option<&Path>, runner: &Runner) -> Result<u8, u8> {
    let command = args::command(&runner.registries.trace_formats);
    let Some(directory) = directory else {
        let page = clap_mangen::Man::new(command);
        return Ok(print_with(|mut out| page.render(&mut out), exit::OK));
    };
    clap_mangen::generate_to(command, directory).map_err(|error| {
        broken(format!("cannot write manual pages to {}: {error}", directory.display()))
    })?;
    Ok(exit::OK)
}
