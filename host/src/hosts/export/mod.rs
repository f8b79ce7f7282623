//! What other hosts need to run an evaluator of ours: text, made here, and written where it overwrites nothing of a person's.
//!
//! | file | what |
//! |---|---|
//! | `target` | the hosts there are |
//! | `program` | an evaluator as a command line, and for whom it can be exported |
//! | `origin` | where a file comes from, in its own first lines |
//! | `template` | Python files with an evaluator filled in; they stand in `templates/` |
//! | `text` | texts as Python, YAML and JSON all read them |
//! | `agentevals`, `agentv`, `adk`, `agenta`, `promptfoo` | the files for one host |
//! | `write` | putting them into a folder |

mod adk;
mod agenta;
mod agentevals;
mod agentv;
mod origin;
mod program;
mod promptfoo;
mod target;
mod template;
mod text;
mod write;

use std::path::Path;

pub use evaluator_protocol::Contract;
pub use origin::Origin;
pub use program::{ExportError, Language, Program, Reads};
pub use target::Target;
pub use write::{WriteError, copy, copy_of, write};

/// What a host needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Export {
    /// The files, in the order in which a person should read of them.
    pub files: Vec<ExportedFile>,
    /// What to do with them, a line each.
    pub usage: Vec<String>,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Export {
    /// Adds what a host needs for one more evaluator. What is said of all of them is said once.
    pub fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        for line in other.usage {
            if !self.usage.contains(&line) {
                self.usage.push(line);
            }
        }
    }
}

impl ExportedFile {
    fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// Makes what `target` needs to run `program`, to be written into `folder`, an absolute path. The same in, the same out.
///
/// # Errors
///
/// [`ExportError`]: the host's documents are not those that the evaluator reads, or no file could say how to start it.
pub fn export(
    program: &Program,
    target: Target,
    folder: &Path,
    origin: &Origin,
) -> Result<Export, ExportError> {
    program.check(target)?;
    let command = program.command_line()?;
    Ok(match target {
        Target::Agentevals => agentevals::export(program, &command, folder, origin)?,
        Target::AgentV => agentv::export(program, &command, origin),
        Target::Adk => adk::export(program, &command, origin),
        Target::Agenta => agenta::export(program, &command, origin),
        Target::Promptfoo => promptfoo::export(program, &command, origin),
    })
}

#[cfg(test)]
mod tests;
