//! agentevals: the host of the default contract.

pub(super) mod answer;
mod conform;

use evaluator_protocol::Contract;

use super::{
    ForeignHost,
    answer::title_of,
    export::{Export, ExportError, Exporter, Job, Language, text, utf8},
};

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "agentevals",
    title: title_of(Contract::Agentevals),
    contract: Contract::Agentevals,
    foreign: None,
    suite: Some(conform::SUITE),
    exporter: Some(EXPORTER),
};

const PYTHON: &str = include_str!("export.py");

pub(super) const EXPORTER: Exporter =
    Exporter { about: "A Python file that becomes the evaluator, and an entry", files };

fn files(job: &Job<'_>) -> Result<Export, ExportError> {
    let name = &job.program.name;
    let mut export = Export::default();
    // An absolute path: agentevals resolves relative ones against its working directory.
    let path = if job.program.language == Language::Script {
        job.program.file()?
    } else {
        let file = format!("{name}.py");
        let path = utf8(job.directory.join(&file).as_os_str())?;
        export = export.file(file, text::fill(PYTHON, job));
        path
    };
    let entry = format!(
        "evaluators:\n  - name: {}\n    type: code\n    path: {}\n    threshold: 0.5\n    timeout: 30\n    config: {{}}\n",
        text::quoted(name),
        text::quoted(&path),
    );
    let configuration = format!("{name}.agentevals.yaml");
    let usage = format!("agentevals run TRACE_FILE -c {}", shell_words::quote(&configuration));
    Ok(export.file(configuration, text::yaml(job, "", &entry)).usage(usage))
}
