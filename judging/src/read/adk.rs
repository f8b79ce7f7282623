//! ADK's `judge_model_options`.

use evaluator_document::{Field, Fields, NodeKind};
use evaluator_json::{Value, parse_float};
use evaluator_models::{JsonSchema, Params};

use super::keys::read_seed;
use crate::settings::JudgeSettings;

/// Reads `judge_model_options` of a criterion of ADK, in both spellings.
pub fn read_model_options(field: Field<'_>) -> JudgeSettings {
    let mut settings = JudgeSettings::default();
    let Some(mut fields) = field.fields("`judge_model_options`") else { return settings };
    let model = fields.take_either("judge_model", "judgeModel").and_then(|field| field.sentence());
    settings.models.extend(model);
    let mut whole = |key, alias| {
        let field = fields.take_either(key, alias)?;
        let count =
            read_pydantic_number(field).filter(|count| *count >= 1.0 && count.fract() == 0.0);
        if count.is_none() {
            field.add(format!("`{key}` must be a whole number, at least 1"));
        }
        count.map(|count| count as u32)
    };
    settings.samples = whole("num_samples", "numSamples");
    // ADK asks one call at a time by default, which changes nothing about results.
    let _ = whole("parallelism_limit", "parallelismLimit");
    if let Some(config) = fields.take_either("judge_model_config", "judgeModelConfig")
        && !config.node.is_null()
        && let Some(fields) = config.fields("`judge_model_config`")
    {
        read_config(fields, &mut settings);
    }
    fields.finish();
    settings
}

/// Returns a number as pydantic does: numeric text and booleans are numbers.
pub fn read_pydantic_number(field: Field<'_>) -> Option<f64> {
    let NodeKind::Scalar(scalar) = &field.node.kind else { return None };
    match scalar {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::String(text) => parse_float(text),
        _ => field.number(),
    }
}

/// Keys of a `GenerateContentConfig` that have an effect, in both spellings.
const MAPPED: [(&str, &str); 11] = [
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("max_output_tokens", "maxOutputTokens"),
    ("seed", "seed"),
    ("stop_sequences", "stopSequences"),
    ("system_instruction", "systemInstruction"),
    ("response_mime_type", "responseMimeType"),
    ("response_schema", "responseSchema"),
    ("response_json_schema", "responseJsonSchema"),
    ("thinking_config", "thinkingConfig"),
];

/// Reads a `GenerateContentConfig`. Keys without an effect here are a warning.
fn read_config(mut fields: Fields<'_>, settings: &mut JudgeSettings) {
    fields.null_is_absent();
    let mut take = |index: usize| match MAPPED[index] {
        (key, alias) if key == alias => fields.take(key),
        (key, alias) => fields.take_either(key, alias),
    };
    let limit = |field: Field<'_>| field.at_least(1, "a whole number, at least 1", "4096");
    let stop = take(5).and_then(|field| field.items()).unwrap_or_default();
    settings.params = Params {
        temperature: take(0).and_then(|field| field.non_negative()),
        top_p: take(1).and_then(|field| field.fraction()),
        top_k: take(2).and_then(limit).and_then(|it| u32::try_from(it).ok()),
        max_output_tokens: take(3).and_then(limit),
        seed: take(4).and_then(read_seed),
        stop: stop.iter().filter_map(|item| item.text().map(str::to_owned)).collect(),
        ..Params::default()
    };
    settings.system_instruction = take(6).and_then(read_instruction);
    let mime = take(7).and_then(|field| field.text());
    let schemas = [take(8), take(9)].into_iter().flatten().next();
    let schema =
        schemas.and_then(|field| field.object()).map(|schema| (&Value::from(schema)).into());
    let is_json = mime == Some("application/json");
    let schema = schema.or_else(|| is_json.then(|| serde_json::json!({"type": "object"})));
    settings.params.json_schema =
        schema.map(|schema| JsonSchema { name: "reply".to_owned(), schema });
    if let Some(mut thinking) = take(10).and_then(|field| field.fields("`thinking_config`")) {
        let budget = thinking.take_either("thinking_budget", "thinkingBudget");
        settings.params.thinking_budget = budget
            .and_then(|field| field.at_least(0, "a whole number of tokens, at least 0", "1024"));
        unmapped(&thinking, &["thinking_budget", "thinkingBudget"]);
    }
    let known: Vec<&str> = MAPPED.iter().flat_map(|(key, alias)| [*key, *alias]).collect();
    unmapped(&fields, &known);
}

/// Warns of keys that have no effect here.
fn unmapped(fields: &Fields<'_>, known: &[&str]) {
    for (key, _) in fields.entries() {
        if let Some(name) = key.as_str().filter(|name| !known.contains(name)) {
            fields.problems().warn(key.span, format!("`{name}` has no effect on judges here"));
        }
    }
}

/// Reads an instruction: text, or a content with parts of text.
fn read_instruction(field: Field<'_>) -> Option<String> {
    if !field.is_mapping() {
        return field.sentence();
    }
    let mut fields = field.fields("`system_instruction`")?;
    fields.take("role");
    let parts = fields.require("parts").and_then(|field| field.items()).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| {
        let mut fields = part.fields("this part")?;
        let text = fields.require("text").and_then(|field| field.sentence());
        fields.finish();
        text
    });
    let texts: Vec<String> = texts.collect();
    fields.finish();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
