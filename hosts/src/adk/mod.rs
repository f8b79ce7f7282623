//! Google ADK: documents of a custom metric, and its `EvaluationResult`.

mod answer;
mod conform;
mod document;

use evaluator_protocol::{Contract, Reply};

use super::{
    Defaults, ForeignContract, ForeignHost, Functions, Question,
    answer::title_of,
    export::{Export, ExportError, Exporter, Job, text},
    question::{add, add_threshold, object},
};
use crate::json::Object;

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "adk",
    title: title_of(Contract::Adk),
    contract: Contract::Adk,
    foreign: Some(&CONTRACT),
    suite: Some(conform::SUITE),
    exporter: Some(EXPORTER),
};

static CONTRACT: ForeignContract = ForeignContract {
    answer_keys: &[
        "overall_score",
        "overall_eval_status",
        "per_invocation_results",
        "overallScore",
        "overallEvalStatus",
        "perInvocationResults",
    ],
    document_keys: &["actual_invocations", "eval_metric"],
    source_keys: &["actual_invocations", "actualInvocations"],
    functions: Some(Functions {
        name: None,
        parameters: "(eval_metric, actual_invocations, expected_invocations, conversation_scenario)",
        is_called: |_, parameters| {
            ["eval_metric", "actual_invocations"]
                .iter()
                .all(|wanted| parameters.iter().any(|parameter| parameter == wanted))
        },
    }),
    names_evaluator: true,
    states_status: true,
    question: |document, name, defaults| {
        let has_threshold = matches!(document.reply(), Reply::Adk { threshold: Some(_), .. });
        Question::convert(document, name, defaults, has_threshold)
    },
    ..ForeignContract::new(document::document, answer::answer, add_defaults)
};

/// Adds settings to the criterion.
fn add_defaults(document: &mut Object, defaults: &Defaults) -> Option<()> {
    let metric = object(document, &["eval_metric", "evalMetric"])?;
    let has_threshold = metric.get("threshold").is_some_and(|given| !given.is_null());
    let criterion = object(metric, &["criterion"])?;
    add(criterion, &defaults.config);
    add_threshold(criterion, defaults.threshold.filter(|_| !has_threshold));
    Some(())
}

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
