//! promptfoo: its assertions call Python code, which makes an AgentV document of their arguments.

use evaluator_protocol::Contract;

use super::{
    ForeignHost,
    export::{Export, ExportError, Exporter, Job, text},
};

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "promptfoo",
    title: "promptfoo",
    contract: Contract::AgentV,
    foreign: None,
    suite: None,
    exporter: Some(EXPORTER),
};

const PYTHON: &str = include_str!("export.py");

const ABOUT: &str = "A part of a test, or of `defaultTest`. What is sent to the evaluator stands at the top of the Python file; \
    `config` is the evaluator's, but for `criteria` and `expected`, which may name a variable: \"{{answer}}\", and \
    `threshold`, from which on a score passes.";

pub(super) const EXPORTER: Exporter = Exporter { about: "A Python assertion, and an entry", files };

fn files(job: &Job<'_>) -> Result<Export, ExportError> {
    let file = format!("{}_promptfoo.py", text::identifier(&job.program.name));
    let entry = format!(
        "assert:\n  - type: python\n    metric: {}\n    value: {}\n    config: {{}}\n",
        text::quoted(&job.program.name),
        text::quoted(&format!("file://{file}")),
    );
    let configuration = format!("{}.promptfoo.yaml", job.program.name);
    let usage = format!("take the assertion of `{configuration}` into your promptfooconfig.yaml");
    Ok(Export::default()
        .file(file, text::fill(PYTHON, job))
        .file(configuration, text::yaml(job, ABOUT, &entry))
        .usage(usage))
}
