//! Answers that AgentV leaves in files because they are large.

use std::{fs, io, path::Path};

use evaluator_protocol::agentv::CodeJudgeInput;

use crate::failure::Rejection;

/// Reads the answer of a document, if it is in a file: the file is there only until the evaluator has ended.
pub(super) fn read_answer(input: &mut CodeJudgeInput) -> Result<(), Rejection> {
    let Some(path) = input.unread_output() else { return Ok(()) };
    let content = read(Path::new(path)).map_err(|error| {
        let reason = format!(
            "the answer is in the file `{path}`, which cannot be read: {error}{}",
            hint(&error)
        );
        Rejection::new("output_path", reason)
    })?;
    Ok(input.read_output(&content)?)
}

/// Only files: a document must not be able to have an evaluator wait for a pipe.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        fs::read(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"))
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            " (AgentV removes it when the judge has ended; in a recorded document, put the answer under `output`)"
        }
        _ => "",
    }
}
