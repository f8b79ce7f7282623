//! Keys of the providers.

use std::time::Duration;

use evaluator_document::{Field, Fields};
use evaluator_models::Retries;

use super::{
    file::{optional, setting},
    model::{CliTarget, ModelTarget, Provider, ReplayTarget, Setting},
};
use crate::files::Opened;

/// Names of providers, and the prefix of their models.
const MODELS: [(&str, &str); 9] = [
    ("openai", "openai"),
    ("azure", "azure"),
    ("azure-openai", "azure"),
    ("anthropic", "anthropic"),
    ("gemini", "gemini"),
    ("google", "gemini"),
    ("google-gemini", "gemini"),
    ("openrouter", "openrouter"),
    ("claude-api", "anthropic"),
];

/// Default of Gemini targets.
pub(super) const GEMINI_MODEL: &str = "gemini-2.5-flash";

/// Reads the settings of a provider. Those of providers that are not supported are not looked at.
pub(super) fn read(mut fields: Fields<'_>, provider: &str, opened: Opened<'_>) -> Option<Provider> {
    let name = provider.trim().to_ascii_lowercase();
    let read = match &*name {
        "mock" => {
            let response = fields.require("response").and_then(|field| any_text(&field));
            response.map(Provider::Mock)
        }
        "cli" => cli(&mut fields, opened).map(Provider::Cli),
        "replay" => replay(&mut fields, opened).map(Provider::Replay),
        _ => match MODELS.iter().find(|(known, _)| *known == name) {
            Some((_, prefix)) => {
                model(&mut fields, prefix, opened).map(|model| Provider::Model(Box::new(model)))
            }
            None => return Some(Provider::Unsupported(provider.to_owned())),
        },
    };
    fields.finish();
    read
}

fn any_text(field: &Field<'_>) -> Option<String> {
    match field.node.as_str() {
        Some(text) => Some(text.to_owned()),
        None => field.expected("text").none(),
    }
}

fn cli(fields: &mut Fields<'_>, opened: Opened<'_>) -> Option<CliTarget> {
    let keys = ["command", "command_template", "commandTemplate"];
    let command = setting(fields, &keys, opened);
    if command.is_none() {
        fields.missing("command");
    }
    let directory = setting(fields, &["cwd"], opened);
    let timeout = first(fields, ["timeout_seconds", "timeoutSeconds"]);
    let timeout = timeout.map(|field| seconds(&field));
    if let Some(check) = fields.take("healthcheck") {
        let message =
            "the health check is not run: a target that does not work is an error of its tests";
        check.problems.warn(check.node.span, message);
    }
    for key in ["files_format", "filesFormat", "keep_temp_files", "keepTempFiles", "verbose"] {
        fields.take(key);
    }
    Some(CliTarget {
        command: command??,
        directory: optional(directory)?,
        timeout: optional(timeout)?,
    })
}

fn first<'n>(fields: &mut Fields<'n>, [key, other]: [&'static str; 2]) -> Option<Field<'n>> {
    fields.take_either(key, other)
}

/// Reads a positive time, which may have a fraction.
fn seconds(field: &Field<'_>) -> Option<Duration> {
    let seconds = field.non_negative()?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Some(time),
        _ => field.add(format!("`{}` must be more than 0 and not too long", field.key)).none(),
    }
}

fn milliseconds(field: &Field<'_>) -> Option<Duration> {
    let time = field.non_negative()?;
    match Duration::try_from_secs_f64(time / 1000.0) {
        Ok(time) => Some(time),
        Err(_) => field.add(format!("`{}` is too long", field.key)).none(),
    }
}

fn replay(fields: &mut Fields<'_>, opened: Opened<'_>) -> Option<ReplayTarget> {
    fields.refuse(
        "execution_traces",
        "replaying `execution_traces` is not supported",
        "use `fixtures`, or run with --outputs",
    );
    let source = fields.require("source_target").and_then(|field| field.sentence());
    let fixtures = setting(fields, &["fixtures"], opened);
    if fixtures.is_none() {
        fields.missing("fixtures");
    }
    let suite = fields.take("suite").map(|field| field.sentence());
    let variant = fields.take("variant").map(|field| field.sentence());
    let fixtures = fixtures??;
    let directory = opened.file.parent().unwrap_or(opened.file);
    Some(ReplayTarget {
        source_target: source?,
        fixtures: directory.join(fixtures.text),
        suite: optional(suite)?,
        variant: optional(variant)?,
    })
}

fn model(fields: &mut Fields<'_>, prefix: &'static str, opened: Opened<'_>) -> Option<ModelTarget> {
    let bases: &[&str] = match prefix {
        "azure" => &["endpoint", "resource", "base_url", "baseUrl", "resourceName"],
        _ => &["base_url", "endpoint", "baseUrl"],
    };
    let base = setting(fields, bases, opened);
    let key = setting(fields, &["api_key", "apiKey"], opened);
    if let Some(Some(key)) = &key
        && !key.is_reference()
    {
        refuse_literal(fields, key);
    }
    let models: &[&str] = match prefix {
        "azure" => &["deployment", "model", "deploymentName"],
        _ => &["model", "deployment"],
    };
    let model = setting(fields, models, opened);
    if model.is_none() && prefix != "gemini" {
        fields.missing("model");
        return None;
    }
    let version = setting(fields, &["api_version", "version", "apiVersion"], opened);
    responses(fields, prefix);
    let temperature = fields.take("temperature").map(|field| field.non_negative());
    let tokens = first(fields, ["max_output_tokens", "maxOutputTokens"]).map(|field| count(&field));
    let thinking = first(fields, ["thinking_budget", "thinkingBudget"]).map(|field| count(&field));
    let structured = fields.take("structured").map_or(Some(false), |field| field.flag());
    let (retries, first_wait) = retries(fields)?;
    Some(ModelTarget {
        prefix,
        base: optional(base)?,
        key: optional(key)?,
        model: optional(model)?,
        version: optional(version)?,
        temperature: optional(temperature)?,
        max_output_tokens: optional(tokens)?,
        thinking_budget: optional(thinking)?,
        structured: structured?,
        retries,
        first_wait,
    })
}

/// Refuses a key that is written down. Its text is not repeated.
fn refuse_literal(fields: &Fields<'_>, key: &Setting) {
    let node = ["api_key", "apiKey"].into_iter().find_map(|name| fields.peek(name));
    let span = node.map(|node| node.span).unwrap_or_default();
    fields
        .problems()
        .add(span, format!("`{}` must be a reference to a variable, not the key itself", key.key))
        .hint("for example ${{ OPENAI_API_KEY }}");
}

/// Reads the API of OpenAI. Both are asked by chat completions, which every such server has.
fn responses(fields: &mut Fields<'_>, prefix: &str) {
    if prefix != "openai" && prefix != "azure" {
        return;
    }
    let Some(field) = first(fields, ["api_format", "apiFormat"]) else { return };
    if field.choice(&[("chat", false), ("responses", true)]) == Some(true) {
        let message = "models are asked by chat completions, also with `api_format: responses`";
        field.problems.warn(field.node.span, message);
    }
}

fn count(field: &Field<'_>) -> Option<u64> {
    field.at_least(1, "a whole number, at least 1", "1024")
}

fn retries(fields: &mut Fields<'_>) -> Option<(Retries, Duration)> {
    let most = first(fields, ["max_retries", "maxRetries"]).map(|field| field.whole(0..=100));
    let initial = first(fields, ["retry_initial_delay_ms", "retryInitialDelayMs"]);
    let initial = initial.map(|field| milliseconds(&field));
    let longest = first(fields, ["retry_max_delay_ms", "retryMaxDelayMs"]);
    let longest = longest.map(|field| milliseconds(&field));
    for (key, other) in
        [("retry_backoff_factor", "retryBackoffFactor"), ("retry_status_codes", "retryStatusCodes")]
    {
        if let Some(field) = first(fields, [key, other]) {
            let message =
                format!("`{key}` has no effect: waits double, and the kind of the failure decides");
            field.problems.warn(field.node.span, message);
        }
    }
    let retries = Retries {
        attempts: optional(most)?.unwrap_or(3).saturating_add(1),
        max_wait: optional(longest)?.unwrap_or(Duration::from_secs(60)),
        ..Retries::default()
    };
    Some((retries, optional(initial)?.unwrap_or(Duration::from_secs(1))))
}
