//! The JSON form of a report.
//!
//! Keys are those of agentevals' `-o json`, in its order; `error_type`, `warnings`, `summary` and `missing_scores` are additions.

use crate::{
    json::{self, Object, Value},
    report::{ConversationReport, EvaluationReport, Report},
};

impl Report {
    /// The report as JSON text, indented by two spaces, ASCII only, without a final line feed.
    ///
    /// # Errors
    ///
    /// When a performance metric cannot be represented; does not happen with metrics this crate computed.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut root = Object::new();
        let conversations =
            self.conversations.iter().map(conversation).collect::<Result<_, _>>()?;
        root.insert("traces".to_owned(), Value::Array(conversations));
        root.insert("errors".to_owned(), texts(&self.errors));
        if let Some(performance) = &self.performance {
            root.insert(
                "performance_metrics".to_owned(),
                Value::from(serde_json::to_value(performance)?),
            );
        }
        let tally = self.tally();
        let counts = [
            ("scored", tally.scored()),
            ("passed", tally.passed),
            ("failed", tally.failed),
            ("errored", tally.errored),
            ("not_evaluated", tally.not_evaluated),
            ("total", tally.total()),
        ];
        let counts = counts
            .into_iter()
            .map(|(key, count)| (key.to_owned(), Value::Int(count as i64)))
            .collect();
        root.insert("summary".to_owned(), Value::Object(counts));
        if self.require_evaluated {
            let missing = self.missing_scores().into_iter().map(str::to_owned).collect::<Vec<_>>();
            root.insert("missing_scores".to_owned(), texts(&missing));
        }
        Ok(json::to_pretty(&Value::Object(root)))
    }
}

fn conversation(conversation: &ConversationReport) -> Result<Value, serde_json::Error> {
    let mut object = Object::new();
    object.insert("trace_id".to_owned(), Value::String(conversation.trace_id.to_string()));
    object.insert("num_invocations".to_owned(), Value::Int(conversation.turns as i64));
    object.insert("conversion_warnings".to_owned(), texts(&conversation.warnings));
    object.insert(
        "metrics".to_owned(),
        Value::Array(conversation.evaluations.iter().map(evaluation).collect()),
    );
    if let Some(performance) = &conversation.performance {
        object.insert(
            "performance_metrics".to_owned(),
            Value::from(serde_json::to_value(performance)?),
        );
    }
    Ok(Value::Object(object))
}

fn evaluation(evaluation: &EvaluationReport) -> Value {
    let mut object = Object::new();
    let number = |value: Option<f64>| value.map_or(Value::Null, Value::Float);
    let text =
        |value: Option<&str>| value.map_or(Value::Null, |text| Value::String(text.to_owned()));
    object.insert("metric_name".to_owned(), Value::String(evaluation.name.clone()));
    object.insert("score".to_owned(), number(evaluation.score));
    object.insert("eval_status".to_owned(), Value::String(evaluation.status.as_str().to_owned()));
    let scores = evaluation.per_invocation_scores.iter().map(|score| number(*score)).collect();
    object.insert("per_invocation_scores".to_owned(), Value::Array(scores));
    let milliseconds = evaluation.duration.map(|duration| duration.as_secs_f64() * 1000.0);
    object.insert("duration_ms".to_owned(), number(milliseconds));
    object.insert("error".to_owned(), text(evaluation.error.as_deref()));
    object.insert("error_type".to_owned(), text(evaluation.error_type));
    if !evaluation.warnings.is_empty() {
        object.insert("warnings".to_owned(), texts(&evaluation.warnings));
    }
    if let Some(details) = evaluation.details.as_ref().filter(|details| !details.is_empty()) {
        object.insert("details".to_owned(), Value::Object(details.clone()));
    }
    Value::Object(object)
}

fn texts(texts: &[String]) -> Value {
    Value::Array(texts.iter().cloned().map(Value::String).collect())
}
