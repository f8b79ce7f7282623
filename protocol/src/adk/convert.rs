//! Documents of ADK, converted to the default contract.

use std::{collections::BTreeSet, fmt::Display};

use serde_json::{Value, json};

use super::{
    Content, FunctionCall, FunctionResponse, IntermediateDataType, Invocation, InvocationEvent,
    MetricInput, Part, invocation::sum,
};
use crate::{
    Converted, EvalInput, IntermediateStepData, InvocationData, JsonObject, ToolCallData,
    ToolResponseData, agentevals::statistics,
};

impl MetricInput {
    /// Converts the document to the default contract: see the table of [the module](crate::adk).
    ///
    /// `metric_name` is the name of the metric.
    pub fn to_eval_input(self) -> Converted {
        let mut dropped = Dropped::default();
        dropped.of_input(&self);
        let performance = performance_metrics(&self.actual_invocations);
        let mut input = EvalInput::new(&self.eval_metric.metric_name);
        if let Some(threshold) = self.eval_metric.threshold() {
            input.threshold = threshold;
        }
        if let Some(criterion) = self.eval_metric.criterion {
            input.config = criterion.extras;
        }
        input.tool_calls_known = self.actual_invocations.is_empty()
            || self.actual_invocations.iter().any(|turn| turn.intermediate_data.is_some());
        input.invocations = self.actual_invocations.into_iter().map(turn).collect();
        for turn in &mut input.invocations {
            turn.performance_metrics.clone_from(&performance);
        }
        input.expected_invocations =
            self.expected_invocations.map(|turns| turns.into_iter().map(turn).collect());
        Converted { input, dropped: dropped.paths }
    }
}

fn turn(invocation: Invocation) -> InvocationData {
    InvocationData {
        user_content: invocation.user_text(),
        final_response: invocation.final_text(),
        intermediate_steps: steps(&invocation),
        invocation_id: invocation.invocation_id,
        ..InvocationData::default()
    }
}

fn steps(invocation: &Invocation) -> IntermediateStepData {
    IntermediateStepData {
        tool_calls: invocation.tool_uses().map(call).collect(),
        tool_responses: invocation.tool_responses().map(response).collect(),
    }
}

fn call(call: &FunctionCall) -> ToolCallData {
    let mut converted = ToolCallData::new(call.name.clone().unwrap_or_default());
    converted.args = call.args.clone().unwrap_or_default();
    converted.id.clone_from(&call.id);
    converted
}

fn response(response: &FunctionResponse) -> ToolResponseData {
    let value = response.response.clone().map_or(Value::Null, Value::Object);
    let mut converted = ToolResponseData::new(response.name.clone().unwrap_or_default(), value);
    converted.id.clone_from(&response.id);
    converted
}

/// Paths of the dropped values.
#[derive(Default)]
struct Dropped {
    paths: Vec<String>,
}

impl Dropped {
    /// Notes the `present` keys that are not `used`.
    fn but(&mut self, path: &str, present: Vec<&str>, used: &[&str]) {
        let rest = present.into_iter().filter(|name| !used.contains(name));
        self.paths.extend(rest.map(|name| format!("{path}{name}")));
    }

    fn of_input(&mut self, input: &MetricInput) {
        let metric = &input.eval_metric;
        let used: &[&str] = match &metric.criterion {
            // The criterion's threshold takes precedence.
            Some(criterion) if criterion.threshold.is_some() => &["metric_name", "criterion"],
            _ => &["metric_name", "criterion", "threshold"],
        };
        self.but("eval_metric.", metric.present(), used);
        let criterion = metric.criterion.as_ref();
        if criterion.is_some_and(|it| it.include_intermediate_responses_in_final.is_some()) {
            let path = "eval_metric.criterion.include_intermediate_responses_in_final";
            self.paths.push(path.to_owned());
        }
        self.of_turns("actual_invocations", &input.actual_invocations);
        let expected = input.expected_invocations.as_deref().unwrap_or_default();
        self.of_turns("expected_invocations", expected);
        self.but("", input.present(), &MetricInput::PARAMETERS[..3]);
    }

    fn of_turns(&mut self, path: &str, turns: &[Invocation]) {
        // Durations of expected turns are not used.
        let measured: &[&str] = match path {
            "actual_invocations" => &["duration", "model_duration", "tool_duration"],
            _ => &[],
        };
        for (path, turn) in indexed(path, turns) {
            let used = ["invocation_id", "user_content", "final_response", "intermediate_data"];
            self.but(&path, turn.present(), &[&used, measured].concat());
            self.of_said(&format!("{path}user_content."), &turn.user_content, "user");
            if let Some(answer) = &turn.final_response {
                self.of_said(&format!("{path}final_response."), answer, "model");
            }
            self.of_data(&format!("{path}intermediate_data."), turn, !measured.is_empty());
        }
    }

    /// Notes the dropped values of a content whose text is kept.
    fn of_said(&mut self, path: &str, content: &Content, role: &str) {
        self.of_content(path, content, &[role]);
        for (path, part) in indexed(format!("{path}parts"), content.parts()) {
            self.but(&path, part.present(), &["text"]);
        }
    }

    fn of_data(&mut self, path: &str, turn: &Invocation, is_measured: bool) {
        match &turn.intermediate_data {
            None => {}
            Some(IntermediateDataType::IntermediateData(data)) => {
                self.but(path, data.present(), &["tool_uses", "tool_responses"]);
                for (path, call) in indexed(format!("{path}tool_uses"), &data.tool_uses) {
                    self.of_call(&path, call);
                }
                let responses = indexed(format!("{path}tool_responses"), &data.tool_responses);
                for (path, response) in responses {
                    self.of_response(&path, response);
                }
            }
            Some(IntermediateDataType::InvocationEvents(data)) => {
                self.but(path, data.present(), &["invocation_events"]);
                let events = indexed(format!("{path}invocation_events"), &data.invocation_events);
                for (path, event) in events {
                    self.of_event(&path, event, is_measured);
                }
            }
        }
    }

    fn of_event(&mut self, path: &str, event: &InvocationEvent, is_measured: bool) {
        let used: &[&str] = match is_measured {
            true => &["content", "usage_metadata", "model_version"],
            false => &["content"],
        };
        self.but(path, event.present(), used);
        if let Some(usage) = event.usage_metadata.as_ref().filter(|_| is_measured) {
            let used = [
                "prompt_token_count",
                "tool_use_prompt_token_count",
                "cached_content_token_count",
                "candidates_token_count",
                "thoughts_token_count",
            ];
            self.but(&format!("{path}usage_metadata."), usage.present(), &used);
        }
        let Some(content) = &event.content else { return };
        let path = format!("{path}content.");
        self.of_content(&path, content, &["user", "model"]);
        for (path, part) in indexed(format!("{path}parts"), content.parts()) {
            self.of_part(&path, part);
        }
    }

    /// Notes the dropped values of a content besides its parts. `roles` are those that follow from the position.
    fn of_content(&mut self, path: &str, content: &Content, roles: &[&str]) {
        let is_known = content.role.as_deref().is_some_and(|role| roles.contains(&role));
        let used: &[&str] = if is_known { &["parts", "role"] } else { &["parts"] };
        self.but(path, content.present(), used);
    }

    fn of_part(&mut self, path: &str, part: &Part) {
        self.but(path, part.present(), &["function_call", "function_response"]);
        if let Some(call) = &part.function_call {
            self.of_call(&format!("{path}function_call."), call);
        }
        if let Some(response) = &part.function_response {
            self.of_response(&format!("{path}function_response."), response);
        }
    }

    fn of_call(&mut self, path: &str, call: &FunctionCall) {
        self.but(path, call.present(), &["id", "name", "args"]);
    }

    fn of_response(&mut self, path: &str, response: &FunctionResponse) {
        self.but(path, response.present(), &["id", "name", "response"]);
    }
}

/// Returns the items of the list at `path`, each with the beginning of the paths of its fields.
fn indexed<T>(path: impl Display, items: &[T]) -> impl Iterator<Item = (String, &T)> {
    items.iter().enumerate().map(move |(index, item)| (format!("{path}[{index}]."), item))
}

/// Returns latencies, tokens and counts in the form of agentevals; `None` when nothing was measured.
///
/// | key | from |
/// |---|---|
/// | `latency.overall` | `duration`, as milliseconds, over the turns |
/// | `latency.model_per_turn`, `latency.tools_per_turn` | `model_duration` and `tool_duration`, likewise; agentevals has single calls instead (`llm_calls`, `tool_executions`), which ADK does not measure |
/// | `tokens.total_prompt`, `total_output`, `total` | input and output of the model calls, with results of tools and thoughts |
/// | `tokens.per_llm_call` | their sum over the model calls that have any |
/// | `tokens.cache_read_tokens` | `cached_content_token_count` |
/// | `counts` | model calls (if there are events), tool calls, turns |
/// | `models`, `tool_names` | names, sorted |
fn performance_metrics(turns: &[Invocation]) -> Option<JsonObject> {
    let mut metrics = JsonObject::new();
    let latency = latency(turns);
    let events = || turns.iter().flat_map(Invocation::events);
    let calls = events().filter(|event| event.is_model_call()).count();
    if latency.is_empty() && calls == 0 {
        return None;
    }
    if !latency.is_empty() {
        metrics.insert("latency".to_owned(), latency.into());
    }
    let usage: Vec<_> = events().filter_map(|event| event.usage_metadata.as_ref()).collect();
    let input = sum(usage.iter().map(|usage| usage.input_tokens()));
    let output = sum(usage.iter().map(|usage| usage.output_tokens()));
    if let Some(total) = sum([input, output]) {
        let of_call =
            usage.iter().filter_map(|usage| sum([usage.input_tokens(), usage.output_tokens()]));
        let cached = sum(usage.iter().map(|usage| usage.cached_content_token_count));
        let tokens = json!({
            "total_prompt": input.unwrap_or_default(),
            "total_output": output.unwrap_or_default(),
            "total": total,
            "per_llm_call": statistics(of_call.map(|tokens| tokens as f64).collect()),
            "cache_read_tokens": cached.unwrap_or_default(),
        });
        metrics.insert("tokens".to_owned(), tokens);
    }
    let mut counts = JsonObject::new();
    if calls > 0 {
        counts.insert("llm_calls".to_owned(), calls.into());
    }
    let tools = || turns.iter().flat_map(Invocation::tool_uses);
    counts.insert("tool_calls".to_owned(), tools().count().into());
    counts.insert("invocations".to_owned(), turns.len().into());
    metrics.insert("counts".to_owned(), counts.into());
    let models: BTreeSet<&str> =
        events().filter_map(|event| event.model_version.as_deref()).collect();
    metrics.insert("models".to_owned(), models.into_iter().collect());
    let names: BTreeSet<&str> = tools().filter_map(|call| call.name.as_deref()).collect();
    metrics.insert("tool_names".to_owned(), names.into_iter().collect());
    Some(metrics)
}

fn latency(turns: &[Invocation]) -> JsonObject {
    let measured = |seconds: fn(&Invocation) -> Option<f64>| -> Vec<f64> {
        turns.iter().filter_map(seconds).map(|seconds| seconds * 1000.0).collect()
    };
    [
        ("overall", measured(|turn| turn.duration)),
        ("model_per_turn", measured(|turn| turn.model_duration)),
        ("tools_per_turn", measured(|turn| turn.tool_duration)),
    ]
    .into_iter()
    .filter(|(_, values)| !values.is_empty())
    .map(|(name, values)| (name.to_owned(), statistics(values)))
    .collect()
}
