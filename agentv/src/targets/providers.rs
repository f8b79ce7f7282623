//! Keys of the providers.

use std::time::Duration;

use evaluator_document::{Field, Fields};
use evaluator_models::{Providers, Retries};

use super::{
    model::{CliTarget, ModelTarget, ReplayTarget, Setting, TargetKind},
    placeholders::{Misplaced, OF_COMMANDS, OF_FILES, misplaced},
};
use crate::files::{Opened, any_text};

/// Default of Gemini targets.
pub(super) const GEMINI_MODEL: &str = "gemini-2.5-flash";

/// Reads the settings of a provider. Those of providers that are not supported are not looked at.
pub(super) fn read(
    mut fields: Fields<'_>,
    provider: &str,
    opened: Opened<'_>,
    providers: &Providers,
) -> Option<TargetKind> {
    let name = provider.trim().to_ascii_lowercase();
    let read = match &*name {
        "mock" => {
            let response = fields.require("response").and_then(|field| any_text(&field));
            response.map(TargetKind::Mock)
        }
        "cli" => cli(&mut fields, opened).map(TargetKind::Cli),
        "replay" => replay(&mut fields, opened).map(TargetKind::Replay),
        _ => {
            let prefix = match &*name {
                "openai" => "openai",
                "azure" | "azure-openai" => "azure",
                "anthropic" | "claude-api" => "anthropic",
                "gemini" | "google" | "google-gemini" => "gemini",
                "openrouter" => "openrouter",
                // Any other name of a provider of models, also of one that was registered.
                other if providers.accept(&format!("{other}/model")) => other,
                _ => return Some(TargetKind::Unsupported(provider.to_owned())),
            };
            let model = model(&mut fields, prefix, opened);
            model.map(|model| TargetKind::Model(Box::new(model)))
        }
    };
    fields.finish();
    read
}

fn cli(fields: &mut Fields<'_>, opened: Opened<'_>) -> Option<CliTarget> {
    let keys = ["command", "command_template", "commandTemplate"];
    let given = keys.iter().find_map(|key| fields.peek(key));
    let command = required(fields, &keys, opened);
    // A command in a variable is checked when it is known.
    if let (Some(node), Some(command)) =
        (given, command.as_ref().filter(|it| it.variable().is_none()))
    {
        placed(&node.field(command.key, opened.problems), &command.text, &OF_COMMANDS);
    }
    let directory = Setting::take(fields, &["cwd"], opened);
    let timeout = fields.take_either("timeout_seconds", "timeoutSeconds");
    let timeout = timeout.and_then(|field| seconds(&field));
    if let Some(check) = fields.take("healthcheck") {
        let message =
            "the health check is not run: a target that does not work is an error of its tests";
        check.problems.warn(check.node.span, message);
    }
    let format = fields.take_either("files_format", "filesFormat");
    let files_format = format.and_then(|field| {
        let format = field.sentence()?;
        placed(&field, &format, &OF_FILES);
        Some(format)
    });
    for key in ["keep_temp_files", "keepTempFiles", "verbose"] {
        fields.take(key);
    }
    Some(CliTarget { command: command?, directory, timeout, files_format })
}

/// Checks that the values of placeholders are quoted where they stand.
fn placed(field: &Field<'_>, text: &str, names: &[&str]) {
    if let Some(found) = misplaced(text, names) {
        field.add(found.message()).hint(Misplaced::HINT);
    }
}

/// Takes a setting. Its absence is a problem.
fn required(fields: &mut Fields<'_>, keys: &[&'static str], opened: Opened<'_>) -> Option<Setting> {
    let is_there = keys.iter().any(|key| fields.peek(key).is_some_and(|node| !node.is_null()));
    if let (false, Some(key)) = (is_there, keys.first()) {
        fields.missing(key);
    }
    Setting::take(fields, keys, opened)
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
    let fixtures = required(fields, &["fixtures"], opened);
    let suite = fields.take("suite").and_then(|field| field.sentence());
    let variant = fields.take("variant").and_then(|field| field.sentence());
    let directory = opened.file.parent().unwrap_or(opened.file);
    let fixtures = directory.join(fixtures?.text);
    Some(ReplayTarget { source_target: source?, fixtures, suite, variant })
}

fn model(fields: &mut Fields<'_>, prefix: &str, opened: Opened<'_>) -> Option<ModelTarget> {
    let bases: &[&str] = match prefix {
        "azure" => &["endpoint", "resource", "base_url", "baseUrl", "resourceName"],
        _ => &["base_url", "endpoint", "baseUrl"],
    };
    let base = Setting::take(fields, bases, opened);
    let key = Setting::take(fields, &["api_key", "apiKey"], opened);
    if let Some(key) = key.as_ref().filter(|key| key.variable().is_none()) {
        refuse_literal(fields, key);
    }
    let models: &[&str] = match prefix {
        "azure" => &["deployment", "model", "deploymentName"],
        _ => &["model", "deployment"],
    };
    let model = match prefix {
        "gemini" => Setting::take(fields, models, opened),
        _ => Some(required(fields, models, opened)?),
    };
    let version = Setting::take(fields, &["api_version", "version", "apiVersion"], opened);
    responses(fields, prefix);
    let temperature = fields.take("temperature").and_then(|field| field.non_negative());
    let mut count = |key, other| {
        let field = fields.take_either(key, other)?;
        field.at_least(1, "a whole number, at least 1", "1024")
    };
    let max_output_tokens = count("max_output_tokens", "maxOutputTokens");
    let thinking_budget = count("thinking_budget", "thinkingBudget");
    let structured = fields.take("structured").and_then(|field| field.flag()).unwrap_or_default();
    let (retries, first_wait) = retries(fields);
    Some(ModelTarget {
        prefix: prefix.to_owned(),
        base,
        key,
        model,
        version,
        temperature,
        max_output_tokens,
        thinking_budget,
        structured,
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
    let Some(field) = fields.take_either("api_format", "apiFormat") else { return };
    if field.choice(&[("chat", false), ("responses", true)]) == Some(true) {
        let message = "models are asked by chat completions, also with `api_format: responses`";
        field.problems.warn(field.node.span, message);
    }
}

fn retries(fields: &mut Fields<'_>) -> (Retries, Duration) {
    let most = fields.take_either("max_retries", "maxRetries");
    let most = most.and_then(|field| field.whole(0..=100)).unwrap_or(3);
    let mut wait = |key, other| milliseconds(&fields.take_either(key, other)?);
    let first_wait = wait("retry_initial_delay_ms", "retryInitialDelayMs");
    let max_wait = wait("retry_max_delay_ms", "retryMaxDelayMs");
    for (key, other) in
        [("retry_backoff_factor", "retryBackoffFactor"), ("retry_status_codes", "retryStatusCodes")]
    {
        if let Some(field) = fields.take_either(key, other) {
            let message =
                format!("`{key}` has no effect: waits double, and the kind of the failure decides");
            field.problems.warn(field.node.span, message);
        }
    }
    let max_wait = max_wait.unwrap_or(Duration::from_secs(60));
    let retries = Retries { attempts: most.saturating_add(1), max_wait, ..Retries::default() };
    (retries, first_wait.unwrap_or(Duration::from_secs(1)))
}
