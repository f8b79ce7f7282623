//! For Google's ADK: a module with the metric, which starts the evaluator, and a configuration that names it.

use super::{Export, ExportedFile, Origin, Program, program::CommandLine, template, text};

const PYTHON: &str = include_str!("templates/adk.py");

pub(super) fn export(program: &Program, command: &CommandLine, origin: &Origin) -> Export {
    let name = text::quoted(&program.name);
    let module = format!("{}_adk_metric", text::identifier(&program.name));
    // JSON has no comments; the description is shown by nobody but ADK's own server.
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
        origin = text::quoted(origin.line()),
        command = text::list(&command.words),
    );
    let configuration = format!("{}.adk.json", program.name);
    let usage = vec![
        format!(
            "PYTHONPATH=. adk eval AGENT_FOLDER EVAL_SET --config_file_path {}",
            shell_words::quote(&configuration)
        ),
        format!("`{module}.evaluate_sync` is the same as a plain function"),
    ];
    let files = vec![
        ExportedFile::new(format!("{module}.py"), template::fill(PYTHON, command, origin)),
        ExportedFile::new(configuration, config),
    ];
    Export { files, usage }
}
