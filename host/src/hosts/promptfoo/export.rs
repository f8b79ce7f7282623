//! For promptfoo: a Python assertion, and an entry of its configuration.

use super::{Export, ExportedFile, Origin, Program, program::CommandLine, template, text};

const PYTHON: &str = include_str!("templates/promptfoo.py");

const ABOUT: &str = "A part of a test, or of `defaultTest`. What is sent to the evaluator stands at the top of the Python file; \
    `config` is the evaluator's, but for `criteria` and `expected`, which may name a variable: \"{{answer}}\", and \
    `threshold`, from which on a score passes.";

pub(super) fn export(program: &Program, command: &CommandLine, origin: &Origin) -> Export {
    let file = format!("{}_promptfoo.py", text::identifier(&program.name));
    let entry = format!(
        "{}{}assert:\n  - type: python\n    metric: {}\n    value: {}\n    config: {{}}\n",
        text::comment(origin.line()),
        text::comment(ABOUT),
        text::quoted(&program.name),
        text::quoted(&format!("file://{file}")),
    );
    let configuration = format!("{}.promptfoo.yaml", program.name);
    let usage =
        vec![format!("take the assertion of `{configuration}` into your promptfooconfig.yaml")];
    let files = vec![
        ExportedFile::new(file, template::fill(PYTHON, command, origin)),
        ExportedFile::new(configuration, entry),
    ];
    Export { files, usage }
}
