//! The keys of `judge:`.

use std::{collections::BTreeMap, io, time::Duration};

use evaluator_document::{Field, Fields, did_you_mean, keys, schema::text};
use evaluator_json::read_file;
use evaluator_models::{BudgetLimits, Decimal, Limits, Mode, Retries};
use serde_json::{Value, json};

use super::Paths;
use crate::judge::{OnDisagreement, OnFailure, PROMPTS, Panel, Prompt};
use crate::{
    prices::amount,
    settings::{DEFAULT_MODEL, JudgeSettings, PromptFile},
};

/// Values of `mode`.
const MODES: [(&str, Mode); 4] =
    [("off", Mode::Off), ("record", Mode::Record), ("replay", Mode::Replay), ("auto", Mode::Auto)];

/// Most samples of a question.
const MOST_SAMPLES: u32 = 1000;

/// Longest time that can be set, in seconds.
const LONGEST: f64 = 1e6;

/// Takes the key `judge`. Every mistake is a problem with its position.
pub fn read(fields: &mut Fields<'_>, paths: &dyn Paths) -> Option<JudgeSettings> {
    keys! { fields;
        /// Judge of metrics that a model decides. At the top level: of all of them; in an entry: of this one.
        let judge = mapping("", |fields| read_settings(fields, paths));
    }
    judge
}

fn read_settings(fields: &mut Fields<'_>, paths: &dyn Paths) -> JudgeSettings {
    let mut settings = JudgeSettings::default();
    fields.null_is_absent();
    read_model(fields, &mut settings);
    read_calls(fields, &mut settings);
    settings.budget = read_budget(fields);
    // `off` is a boolean in YAML.
    let modes = MODES.iter().map(|(name, _)| json!(name)).chain([json!(false)]);
    let modes = json!({"enum": modes.collect::<Vec<_>>()});
    keys! { fields;
        /// File with prices.
        settings.prices = read(text(), |field| paths.existing(field));
        /// File with recorded replies.
        settings.cassette = read(text(), |field| paths.written(field));
        /// Whether the cassette has the texts of requests.
        settings.cassette_text = flag() or true;
        /// What is asked, and what is taken from the cassette; default: auto with a cassette, else off.
        settings.mode = read(modes, read_mode);
        /// Files by the names of the prompts that they replace.
        let prompts = read(json!({"type": "object", "additionalProperties": text()}), |field| Some(read_prompts(field, paths)));
    }
    settings.prompts = prompts.unwrap_or_default();
    read_rules(fields, &mut settings);
    settings
}

pub(super) fn read_model(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    let sentence = |field: Field<'_>| field.sentence().map(|text| text.trim().to_owned());
    let names = json!({"type": "array", "items": text(), "minItems": 1, "uniqueItems": true});
    keys! { fields;
        /// Name of the model, e.g. openai/gpt-4o-mini.
        let model = field(text()) or DEFAULT_MODEL;
        /// Names of several models: a panel.
        let models = field(names);
    }
    if let (Some(_), Some(models)) = (model, models) {
        models.add("`models` and `model` are the same setting").hint("keep one of them");
    }
    settings.models.extend(model.and_then(sentence));
    if let Some(field) = models {
        let items = field.items().unwrap_or_default();
        if items.is_empty() && field.problems.count() == 0 {
            field.add("`models` is empty");
        }
        for item in items {
            let Some(name) = sentence(item) else { continue };
            if settings.models.contains(&name) {
                item.add(format!("`models` has `{name}` twice"));
            }
            settings.models.push(name);
        }
    }
    let mut credential = fields.schema_of(read_credential);
    credential = json!({"type": "object", "additionalProperties": credential});
    keys! { fields;
        /// Base URL of the server.
        settings.base_url = read(text(), sentence);
        /// Name of the variable with the key.
        settings.api_key_env = read(variable(), read_variable);
        /// Name of a credential.
        settings.credential_ref = read(text(), sentence);
        /// Variables of credentials, by their names.
        let credentials = read(credential, |field| Some(read_credentials(field)));
    }
    settings.credentials = credentials.unwrap_or_default();
    for key in ["api_key", "key", "token"] {
        let message = format!("`{key}` must not be in a configuration");
        fields.refuse(key, message, "name the variable that has the key with `api_key_env`");
    }
    keys! { fields;
        /// Whether keys may be sent to other machines over http.
        settings.allow_http = flag() or false;
    }
}

/// Returns the schema of the name of a variable.
fn variable() -> Value {
    json!({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"})
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
        let variable = read_credential(&mut fields);
        fields.finish();
        credentials.extend(variable.map(|variable| (name.to_owned(), variable)));
    }
    credentials
}

/// Takes the keys of a credential and returns the name of its variable.
fn read_credential(fields: &mut Fields<'_>) -> Option<String> {
    keys! { fields;
        let kind! = choice(&[("env", ())]);
        let name! = read(variable(), read_variable);
    }
    kind.and(name)
}

fn read_calls(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    keys! { fields;
        /// Number of times that each question is asked.
        settings.samples = whole(1..=MOST_SAMPLES) or 5;
        /// Instructions before those of the prompt.
        settings.system_instruction = sentence();
    }
    read_sending(fields, settings);
    keys! { fields;
        /// Number of further calls for an unreadable reply.
        settings.reask = whole(0..=10) or 0;
    }
}

/// Takes the keys that decide how a request is sent, whatever it asks.
pub(super) fn read_sending(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    let Limits { timeout, retries: Retries { attempts, max_wait, total }, concurrency } =
        Limits::default();
    keys! { fields;
        /// Parameters of the generation. Only what is set is sent.
        params: mapping("", |fields| read_params(fields, settings));
        /// Whether a request is sent again without a parameter that the server refuses.
        settings.drop_params = flag() or false;
        /// Seconds for one request.
        settings.timeout = read(seconds(), duration) or timeout.as_secs();
        /// Repetitions of requests that failed for a moment.
        in retries {
            /// Maximum number of requests of a call.
            settings.attempts = whole(1..=100) or attempts;
            /// Longest wait between two requests, in seconds.
            settings.max_wait = read(seconds(), duration) or max_wait.as_secs();
            /// Longest time from the first request of a call to its last, in seconds.
            settings.total = read(seconds(), duration) or total.as_secs();
        }
        /// Calls at the same time.
        in concurrency {
            /// Maximum number of calls in flight to one server.
            settings.max = whole(1..=10_000) or concurrency.max;
            /// Whether the number of calls in flight adapts to the server.
            settings.adaptive = flag() or concurrency.adaptive;
        }
        /// What may be sent to one server.
        in rate {
            /// Maximum number of requests per minute; default: no limit.
            settings.requests_per_minute = at_least(1, "a whole number, at least 1", "300");
            /// Maximum number of tokens per minute; default: no limit.
            settings.tokens_per_minute = at_least(1, "a whole number, at least 1", "300");
        }
    }
}

/// Returns the schema of a positive number of seconds.
pub(super) fn seconds() -> Value {
    json!({"type": "number", "exclusiveMinimum": 0})
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

fn read_mode(field: Field<'_>) -> Option<Mode> {
    match &field.node.kind {
        evaluator_document::NodeKind::Scalar(evaluator_json::Value::Bool(false)) => Some(Mode::Off),
        _ => field.choice(&MODES),
    }
}

/// Reads the keys of `params`.
fn read_params(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    fields.null_is_absent();
    let texts = json!({"type": ["string", "array"], "items": {"type": "string"}});
    let params = &mut settings.params;
    keys! { fields;
        /// Texts at which the server ends a reply.
        let stop = read(texts, |field| Some(read_texts(field)));
        /// Share of the probability from which tokens are sampled.
        params.top_p = fraction();
        /// Randomness of the sampling: 0 is the least.
        params.temperature = non_negative();
        /// Number of the most probable tokens that are sampled from.
        params.top_k = whole(1..=u32::MAX);
        /// Maximum number of tokens of a reply.
        params.max_output_tokens = at_least(1, "a whole number, at least 1", "4096");
        /// Name under which the server takes max_output_tokens.
        params.max_tokens_key = read(text(), owned);
        /// Seed of the sampling, for servers that have one.
        params.seed = read(json!({"type": "integer"}), read_seed);
        /// Effort of reasoning models, in the words of the server, e.g. low.
        params.reasoning_effort = read(text(), owned);
        /// Maximum number of tokens that the model thinks before it answers.
        params.thinking_budget = at_least(0, "a whole number of tokens, at least 0", "1024");
        /// Whether replies that are JSON have to match a schema.
        settings.json_schema = flag() or false;
    }
    settings.params.stop = stop.unwrap_or_default();
}

fn read_texts(field: Field<'_>) -> Vec<String> {
    match field.node.as_str() {
        Some(_) => owned(field).into_iter().collect(),
        None => field.items().unwrap_or_default().into_iter().filter_map(owned).collect(),
    }
}

fn owned(field: Field<'_>) -> Option<String> {
    field.text().map(str::to_owned)
}

pub(super) fn read_seed(field: Field<'_>) -> Option<i64> {
    match &field.node.kind {
        evaluator_document::NodeKind::Scalar(evaluator_json::Value::Int(seed)) => Some(*seed),
        _ => field.expected("a whole number").none(),
    }
}

/// Takes the key `budget`.
pub(super) fn read_budget(fields: &mut Fields<'_>) -> BudgetLimits {
    let whole = "a whole number, at least 0";
    let mut limits = BudgetLimits::default();
    keys! { fields;
        /// Limits of what the run may spend; in an entry: the evaluator.
        budget: mapping("", |fields| {
            fields.null_is_absent();
            keys! { fields;
                /// Maximum number of requests, repetitions included; default: no limit.
                limits.calls = at_least(0, whole, "2000");
                /// Maximum number of tokens, sent and received; default: no limit.
                limits.tokens = at_least(0, whole, "2000");
                /// Maximum amount in the currency of `prices`; default: no limit.
                limits.money = read(json!({"type": ["number", "string"]}), |field| amount(&field));
                /// Tokens that count for an answer that does not say how many it used; if absent, such an answer is an error
                /// under a limit of tokens or money.
                limits.assume_tokens = at_least(0, whole, "2000");
            }
        });
    }
    limits
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

/// Takes the keys that decide the effect of replies.
fn read_rules(fields: &mut Fields<'_>, settings: &mut JudgeSettings) {
    const ERRORS: [(&str, OnFailure); 2] =
        [("error", OnFailure::Error), ("not_evaluated", OnFailure::NotEvaluated)];
    const THEN: [(&str, OnDisagreement); 3] = [
        ("fail", OnDisagreement::Fail),
        ("not_evaluated", OnDisagreement::NotEvaluated),
        ("error", OnDisagreement::Error),
    ];
    const PANELS: [(&str, Panel); 3] =
        [("majority", Panel::Majority), ("all", Panel::All), ("any", Panel::Any)];
    keys! { fields;
        /// What failed calls and unreadable replies amount to.
        settings.errors = choice(&ERRORS) or "error";
        /// Least number of readable replies per turn, and of replies with a verdict about each rubric; default: more than half
        /// of the samples.
        settings.min_readable = whole(1..=MOST_SAMPLES);
        /// With `errors: not_evaluated`, whether a rubric or sentence that no reply judges is an error.
        settings.complete = flag() or false;
        /// Least agreement of the votes of a turn.
        settings.min_agreement = fraction();
        /// What less agreement amounts to.
        settings.on_disagreement = choice(&THEN) or "fail";
        /// Whether half of the samples see the material in another order.
        settings.swap = flag() or false;
        /// How the verdicts of several models are combined.
        settings.panel = choice(&PANELS) or "majority";
        /// Number of models whose verdicts are enough; default: all.
        settings.panel_quorum = whole(1..=100);
    }
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
