//! Exports: the files with which another host runs an evaluator.
//!
//! | file | contents |
//! |---|---|
//! | `program` | an evaluator as a command line, and whether a host can run it |
//! | `text` | text for Python, YAML and JSON; templates |
//! | `write` | writing files without overwriting those of users |
//!
//! Exports keep promises that their hosts do not keep. ADK ignores metrics that break: exported ones fail the case and
//! say why. AgentV records PASS for a program that is killed or prints no JSON object: a shell guards the program, and
//! ends it when AgentV kills the shell. promptfoo treats a failure without a reason as a pass: exported assertions
//! always give a reason. Exported files name the program by its absolute path, because hosts start them in directories
//! of their own choice.

mod model;
mod program;
pub(super) mod text;
mod write;

use std::path::Path;

use model::MARK;

use super::{ForeignHost, HOSTS, host_of};

pub use evaluator_protocol::Contract;
pub use model::{Export, ExportedFile, Origin};
pub(super) use model::{Exporter, Job};
pub(super) use program::{CommandLine, utf8};
pub use program::{ExportError, Language, Program, Reads};
#[doc(hidden)]
pub use text::{path_segment, quoted};
pub use write::{WriteError, copy, copy_of, write};

impl Origin {
    /// The command `evaluator export --for HOST` with these arguments, of a version.
    pub fn new(host: &ForeignHost, arguments: &[String], version: &str) -> Self {
        let words: Vec<_> = arguments.iter().map(|argument| shell_words::quote(argument)).collect();
        // One line whatever the file names contain, because code follows it.
        let command = text::one_line(&words.join(" ")).replace('`', "'");
        let host = host.name;
        Self {
            line: format!(
                "{MARK}{host} {command}` ({version}). Changes are lost when it is run again."
            ),
        }
    }
}

/// Returns the hosts that evaluators can be exported for, each with a description of the files.
pub fn targets() -> impl Iterator<Item = (&'static ForeignHost, &'static str)> {
    HOSTS.iter().copied().filter_map(|host| Some((host, host.exporter.as_ref()?.about)))
}

/// Returns the hosts that evaluators can be exported for without further information if they read documents of `reads`.
pub fn targets_of(reads: Reads) -> impl Iterator<Item = &'static ForeignHost> {
    targets().map(|(host, _)| host).filter(move |host| reads.includes(host.contract))
}

/// Returns the files with which `host` runs `program`, to be written to `directory`, an absolute path. Deterministic.
///
/// # Errors
///
/// [`ExportError`]: the evaluator does not read the documents of the host, or its command line is not text.
pub fn export(
    program: &Program,
    host: &'static ForeignHost,
    directory: &Path,
    origin: &Origin,
) -> Result<Export, ExportError> {
    let Some(exporter) = &host.exporter else {
        return Err(ExportError(format!("there is no export for {}", host.name)));
    };
    check(program, host)?;
    let command = program.command_line()?;
    (exporter.files)(&Job { program, command, directory, origin })
}

/// Checks that the evaluator reads the documents of a host.
fn check(program: &Program, host: &ForeignHost) -> Result<(), ExportError> {
    let name = &program.name;
    if !text::is_file_name(name) {
        return Err(ExportError(format!("`{name}` is not a file name; rename the evaluator")));
    }
    let reads = match program.contract {
        Some(Reads::One(reads)) if !Reads::One(reads).includes(host.contract) => reads,
        _ => return Ok(()),
    };
    let sent = match host_of(host.contract) {
        owner if owner.name == host.name => format!("those of {}", host.title),
        owner => format!("none (the exported file makes one of {})", owner.title),
    };
    let hint = if reads == Contract::Agentevals {
        "evaluators of this SDK's default contract read those of every host; if this one does, too, say so with \
         `--contract`"
    } else {
        "evaluators of the default contract read those of every host"
    };
    let host = host.name;
    Err(ExportError(format!(
        "`{name}` reads documents of {reads}, and {host} sends {sent}; {hint}"
    )))
}

#[cfg(test)]
mod tests;
