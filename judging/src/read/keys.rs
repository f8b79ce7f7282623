//! The keys of `judge:`.

use std::{collections::BTreeMap, io, time::Duration};

use evaluator_document::{Field, Fields, did_you_mean};
use evaluator_json::read_file;
use evaluator_models::{BudgetLimits, Decimal, Mode, Params};

use super::Paths;
use crate::judge::{OnDisagreement, OnFailure, PROMPTS, Panel, Prompt};
use crate::{
    prices::amount,
    settings::{JudgeSettings, PromptFile},
};

/// Values of `mode`.
const MODES: [(&str, Mode); 4] =
    [("off", Mode::Off), ("record", Mode::Record), ("replay", Mode::Replay), ("auto", Mode::Auto)];

/// Most samples of a question.
const MOST_SAMPLES: u32 = 1000;

/// Longest time that can be set, in seconds.
const LONGEST: f64 = 1e6;

/// Reads the settings of `judge:`. Every mistake is a problem with its position.
pub fn read(field: Field<'_>, paths: &dyn Paths) -> JudgeSettings {
    let mut settings = JudgeSettings::default();
    let Some(mut fields) = field.fields("`judge`") else { return settings };
    fields.null_is_absent();
    read_model(&mut fields, &mut settings);
    read_calls(&mut fields, &mut settings);
    settings.budget = fields.take("budget").and_then(read_budget).unwrap_or_default();
    settings.prices = fields.take("prices").and_then(|field| paths.existing(field));
    settings.cassette = fields.take("cassette").and_then(|field| paths.written(field));
    settings.cassette_text = fields.take("cassette_text").and_then(|field| field.flag());
    settings.mode = fields.take("mode").and_then(read_mode);
    let prompts = fields.take("prompts").map(|field| read_prompts(field, paths));
    settings.prompts = prompts.unwrap_or_default();
    read_rules(&mut fields, &mut settings);
    fields.finish();
    settings
}

pub(super) fn read_model(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    let model = fields.take("model");
    let models = fields.take("models");
    if let (Some(_), Some(models)) = (model, models) {
        models.add("`models` and `model` are the same setting").hint("keep one of them");
    }
    let text = |field: Field<'_>| field.sentence().map(|text| text.trim().to_owned());
    settings.models.extend(model.and_then(text));
    if let Some(field) = models {
        let items = field.items().unwrap_or_default();
        if items.is_empty() && field.problems.count() == 0 {
            field.add("`models` is empty");
        }
        for item in items {
            let Some(name) = text(item) else { continue };
            if settings.models.contains(&name) {
                item.add(format!("`models` has `{name}` twice"));
            }
            settings.models.push(name);
        }
    }
    settings.base_url = fields.take("base_url").and_then(text);
    settings.api_key_env = fields.take("api_key_env").and_then(read_variable);
    settings.credential_ref = fields.take("credential_ref").and_then(text);
    let credentials = fields.take("credentials").map(read_credentials);
    settings.credentials = credentials.unwrap_or_default();
    for key in ["api_key", "key", "token"] {
        let message = format!("`{key}` must not be in a configuration");
        fields.refuse(key, message, "name the variable that has the key with `api_key_env`");
    }
    settings.allow_http = fields.take("allow_http").and_then(|field| field.flag());
}

/// Reads the name of a variable.
fn read_variable(field: Field<'_>) -> Option<String> {
    let name = field.text()?;
    let is_name = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if !is_name {
        // It may be a key that was written here by mistake.
        let message = format!("`{}` must be the name of an environment variable", field.key);
        return field.add(message).hint("for example OPENAI_API_KEY").none();
    }
    Some(name.to_owned())
}

fn read_credentials(field: Field<'_>) -> BTreeMap<String, String> {
    let mut credentials = BTreeMap::new();
    for (name, node) in field.named() {
        let Some(mut fields) = node.field(name, field.problems).fields("this credential") else {
            continue;
        };
        fields.require("kind").and_then(|field| field.choice(&[("env", ())]));
        let variable = fields.require("name").and_then(read_variable);
        fields.finish();
        credentials.extend(variable.map(|variable| (name.to_owned(), variable)));
    }
    credentials
}

fn read_calls(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    settings.samples = fields.take("samples").and_then(|field| field.whole(1..=MOST_SAMPLES));
    let text = fields.take("system_instruction").and_then(|field| field.sentence());
    settings.system_instruction = text;
    read_sending(fields, settings);
    settings.reask = fields.take("reask").and_then(|field| field.whole(0..=10));
}

/// Takes the keys that decide how a request is sent, whatever it asks.
pub(super) fn read_sending(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    if let Some(field) = fields.take("params") {
        read_params(field, settings);
    }
    settings.drop_params = fields.take("drop_params").and_then(|field| field.flag());
    settings.timeout = fields.take("timeout").and_then(duration);
    if let Some(mut fields) = fields.take("retries").and_then(|it| it.fields("`retries`")) {
        settings.attempts = fields.take("attempts").and_then(|field| field.whole(1..=100));
        settings.max_wait = fields.take("max_wait").and_then(duration);
        settings.total = fields.take("total").and_then(duration);
        fields.finish();
    }
    if let Some(mut fields) = fields.take("concurrency").and_then(|it| it.fields("`concurrency`")) {
        settings.max = fields.take("max").and_then(|field| field.whole(1..=10_000));
        settings.adaptive = fields.take("adaptive").and_then(|field| field.flag());
        fields.finish();
    }
    if let Some(mut fields) = fields.take("rate").and_then(|it| it.fields("`rate`")) {
        settings.requests_per_minute = fields.take("requests_per_minute").and_then(positive);
        settings.tokens_per_minute = fields.take("tokens_per_minute").and_then(positive);
        fields.finish();
    }
}

/// Returns a positive number of seconds.
pub(super) fn duration(field: Field<'_>) -> Option<Duration> {
    let seconds = field.number().filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST);
    let Some(seconds) = seconds else {
        let message = format!("`{}` must be a positive number of seconds", field.key);
        return field.add(message).hint("for example 60").none();
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn positive(field: Field<'_>) -> Option<u64> {
    field.at_least(1, "a whole number, at least 1", "300")
}

fn read_mode(field: Field<'_>) -> Option<Mode> {
    // `off` is a boolean in YAML.
    match &field.node.kind {
        evaluator_document::NodeKind::Scalar(evaluator_json::Value::Bool(false)) => Some(Mode::Off),
        _ => field.choice(&MODES),
    }
}

/// Reads `params`.
fn read_params(field: Field<'_>, settings: &mut JudgeSettings) {
    let Some(mut fields) = field.fields("`params`") else { return };
    fields.null_is_absent();
    let stop = fields.take("stop").map(|field| match field.node.as_str() {
        Some(_) => field.text().map(str::to_owned).into_iter().collect(),
        None => field.items().unwrap_or_default().iter().filter_map(text).collect(),
    });
    let top_p = fields.take("top_p").and_then(|field| field.fraction());
    let limit = |field: Field<'_>| field.at_least(1, "a whole number, at least 1", "4096");
    settings.params = Params {
        temperature: fields.take("temperature").and_then(|field| field.non_negative()),
        top_p,
        top_k: fields.take("top_k").and_then(|field| field.whole(1..=u32::MAX)),
        max_output_tokens: fields.take("max_output_tokens").and_then(limit),
        max_tokens_key: fields.take("max_tokens_key").as_ref().and_then(text),
        seed: fields.take("seed").and_then(read_seed),
        stop: stop.unwrap_or_default(),
        reasoning_effort: fields.take("reasoning_effort").as_ref().and_then(text),
        thinking_budget: fields
            .take("thinking_budget")
            .and_then(|field| field.at_least(0, "a whole number of tokens, at least 0", "1024")),
        ..Params::default()
    };
    settings.json_schema = fields.take("json_schema").and_then(|field| field.flag());
    fields.finish();
}

fn text(field: &Field<'_>) -> Option<String> {
    field.text().map(str::to_owned)
}

pub(super) fn read_seed(field: Field<'_>) -> Option<i64> {
    match &field.node.kind {
        evaluator_document::NodeKind::Scalar(evaluator_json::Value::Int(seed)) => Some(*seed),
        _ => field.expected("a whole number").none(),
    }
}

/// Reads `budget`.
pub(super) fn read_budget(field: Field<'_>) -> Option<BudgetLimits> {
    let mut fields = field.fields("`budget`")?;
    fields.null_is_absent();
    let whole = |field: Field<'_>| field.at_least(0, "a whole number, at least 0", "2000");
    let limits = BudgetLimits {
        calls: fields.take("calls").and_then(whole),
        tokens: fields.take("tokens").and_then(whole),
        money: fields.take("money").and_then(|field| amount(&field)),
        assume_tokens: fields.take("assume_tokens").and_then(whole),
    };
    fields.finish();
    Some(limits)
}

/// Reads `prompts`: files by the names of the prompts that they replace.
fn read_prompts(field: Field<'_>, paths: &dyn Paths) -> BTreeMap<String, PromptFile> {
    let mut prompts = BTreeMap::new();
    for (name, node) in field.named() {
        let field = Field { key: "prompts", node, problems: field.problems };
        let Some(prompt) = Prompt::find(name) else {
            let names = PROMPTS.iter().map(|prompt| prompt.name);
            let known = || {
                let names: Vec<&str> = PROMPTS.iter().map(|prompt| prompt.name).collect();
                format!("known prompts: {}", names.join(", "))
            };
            let hint = did_you_mean(name, names).unwrap_or_else(known);
            field.add(format!("there is no prompt `{name}`")).hint(hint);
            continue;
        };
        let Some(path) = paths.existing(field) else { continue };
        prompts.insert(name.to_owned(), read_prompt(field, path, prompt));
    }
    prompts
}

/// Maximum number of bytes of a prompt, many times what a model can read.
const LONGEST_PROMPT: u64 = 64 << 20;

fn read_prompt(field: Field<'_>, path: std::path::PathBuf, prompt: &Prompt) -> PromptFile {
    let read = read_file(&path, LONGEST_PROMPT).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    let text = match read {
        Ok(text) => Some(text),
        // A file that does not exist is reported with the other paths.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => field.add(format!("cannot read {}: {error}", path.display())).none(),
    };
    let template = text.as_deref().and_then(|text| match prompt.parse(text) {
        Ok(template) => Some(template),
        Err(error) => field.add(format!("{}: {error}", path.display())).none(),
    });
    if let Some(template) = &template {
        for name in template.unused(prompt.variables) {
            let message = format!("{} never shows `{{{{{name}}}}}`", path.display());
            field.problems.warn(field.node.span, message);
        }
    }
    PromptFile { path, text, template }
}

/// Reads the keys that decide the effect of replies.
fn read_rules(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    let errors = [("error", OnFailure::Error), ("not_evaluated", OnFailure::NotEvaluated)];
    settings.errors = fields.take("errors").and_then(|field| field.choice(&errors));
    let least = fields.take("min_readable");
    settings.min_readable = least.and_then(|field| field.whole(1..=MOST_SAMPLES));
    settings.complete = fields.take("complete").and_then(|field| field.flag());
    settings.min_agreement = fields.take("min_agreement").and_then(|field| field.fraction());
    let then = [
        ("fail", OnDisagreement::Fail),
        ("not_evaluated", OnDisagreement::NotEvaluated),
        ("error", OnDisagreement::Error),
    ];
    settings.on_disagreement = fields.take("on_disagreement").and_then(|field| field.choice(&then));
    settings.swap = fields.take("swap").and_then(|field| field.flag());
    let panels = [("majority", Panel::Majority), ("all", Panel::All), ("any", Panel::Any)];
    settings.panel = fields.take("panel").and_then(|field| field.choice(&panels));
    settings.panel_quorum = fields.take("panel_quorum").and_then(|field| field.whole(1..=100));
}

/// Parses limits as on a command line: `money=5,calls=2000`.
///
/// # Errors
///
/// A message that names the limit that is not known or not a number.
pub fn parse_budget(text: &str) -> Result<BudgetLimits, String> {
    let mut limits = BudgetLimits::default();
    for limit in text.split(',') {
        let known = "money=5,calls=2000,tokens=3000000,assume_tokens=1000";
        let (name, number) = limit
            .split_once('=')
            .ok_or_else(|| format!("`{limit}` is not NAME=NUMBER; for example {known}"))?;
        let whole = || {
            let whole: Result<u64, _> = number.parse();
            whole.map(Some).map_err(|_| format!("`{number}` is not a whole number"))
        };
        match name {
            "calls" => limits.calls = whole()?,
            "tokens" => limits.tokens = whole()?,
            "assume_tokens" => limits.assume_tokens = whole()?,
            "money" => {
                let money: Result<Decimal, _> = number.parse();
                let money = money.ok().filter(|money| !money.is_sign_negative());
                limits.money = Some(money.ok_or_else(|| format!("`{number}` is not an amount"))?);
            }
            _ => return Err(format!("there is no limit `{name}`; for example {known}")),
        }
    }
    Ok(limits)
}
