//! For agentevals: a Python file that becomes the evaluator, and an entry of its configuration.

use std::path::Path;

use super::{
    Export, ExportError, ExportedFile, Language, Origin, Program,
    program::{CommandLine, utf8},
    template, text,
};

const PYTHON: &str = include_str!("templates/agentevals.py");

pub(super) fn export(
    program: &Program,
    command: &CommandLine,
    folder: &Path,
    origin: &Origin,
) -> Result<Export, ExportError> {
    let name = &program.name;
    let mut files = Vec::new();
    // A relative one would be looked for in the folder that agentevals is started in.
    let path = if program.language == Language::Script {
        program.file()?
    } else {
        let file = format!("{name}.py");
        files.push(ExportedFile::new(&*file, template::fill(PYTHON, command, origin)));
        utf8(folder.join(file).as_os_str())?
    };
    let entry = format!(
        "{}\
         evaluators:\n  - name: {}\n    type: code\n    path: {}\n    threshold: 0.5\n    timeout: 30\n    config: {{}}\n",
        text::comment(origin.line()),
        text::quoted(name),
        text::quoted(&path),
    );
    let configuration = format!("{name}.agentevals.yaml");
    let usage =
        vec![format!("agentevals run TRACE_FILE -c {}", shell_words::quote(&configuration))];
    files.push(ExportedFile::new(configuration, entry));
    Ok(Export { files, usage })
}
