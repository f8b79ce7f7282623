//! Export for ADK: a module with a metric that starts the evaluator, and a configuration that names the metric.

use super::super::export::{Export, ExportError, Exporter, Job, text};

const PYTHON: &str = include_str!("export.py");

pub(super) const EXPORTER: Exporter =
    Exporter { about: "A Python module for Google's ADK, and an EvalConfig", files };

fn files(job: &Job<'_>) -> Result<Export, ExportError> {
    let name = text::quoted(&job.program.name);
    let module = format!("{}_adk_metric", text::identifier(&job.program.name));
    let configuration = format!("{}.adk.json", job.program.name);
    let usage = format!(
        "PYTHONPATH=. adk eval AGENT_FOLDER EVAL_SET --config_file_path {}",
        shell_words::quote(&configuration)
    );
    // JSON has no comments, and only ADK's own server shows the description.
    let config = format!(
        r#"{{
  "custom_metrics": {{
    {name}: {{
      "code_config": {{"name": "{module}.evaluate"}},
      "metric_info": {{
        "metric_name": {name},
        "description": {origin},
        "metric_value_info": {{"interval": {{"min_value": 0.0, "max_value": 1.0}}}}
      }}
    }}
  }},
  "criteria": {{
    {name}: {{
      "threshold": 0.5,
      "command": {command},
      "timeout": 60,
      "on_error": "fail"
    }}
  }}
}}
"#,
        origin = text::quoted(job.origin.line()),
        command = text::list(&job.command.words),
    );
    Ok(Export::default()
        .file(format!("{module}.py"), text::fill(PYTHON, job))
        .file(configuration, config)
        .usage(usage)
        .usage(format!("`{module}.evaluate_sync` is the same as a plain function")))
}
