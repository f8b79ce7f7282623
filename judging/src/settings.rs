//! The settings of a judge, and their layers.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use evaluator_models::{BudgetLimits, Concurrency, Limits, Mode, Params, Retries};
use serde_json::{Value, json};

use crate::judge::{Criterion, OnDisagreement, OnFailure, Panel, Rules, Template};

/// Model of entries that name none, as in ADK.
pub const DEFAULT_MODEL: &str = "gemini-2.5-flash";

/// Settings of `judge:`. What is `None` or empty is not set: that of the layer below counts, or the default.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct JudgeSettings {
    /// Names of models; several are a panel. Default: [`DEFAULT_MODEL`].
    pub models: Vec<String>,
    /// Base URL of the server.
    pub base_url: Option<String>,
    /// Name of the variable with the key.
    pub api_key_env: Option<String>,
    /// Name of a credential.
    pub credential_ref: Option<String>,
    /// Variables of credentials, by their names.
    pub credentials: BTreeMap<String, String>,
    /// Whether keys may be sent to other machines over `http`. Default: `false`.
    pub allow_http: Option<bool>,
    /// Number of times that each question is asked. Default: 5.
    pub samples: Option<u32>,
    /// Parameters of the generation.
    pub params: Params,
    /// Whether a request is sent again without a parameter that the server refuses. Default: `false`.
    pub drop_params: Option<bool>,
    /// Whether replies that are JSON have to match a schema. Default: `false`.
    pub json_schema: Option<bool>,
    /// Instructions before those of the prompt.
    pub system_instruction: Option<String>,
    /// Time for one request. Default: 120 s.
    pub timeout: Option<Duration>,
    /// Maximum number of requests of a call. Default: 6.
    pub attempts: Option<u32>,
    /// Longest wait between two requests. Default: 60 s.
    pub max_wait: Option<Duration>,
    /// Longest time from the first request of a call to its last. Default: 300 s.
    pub total: Option<Duration>,
    /// Maximum number of calls in flight to one server. Default: 8.
    pub max: Option<u32>,
    /// Whether the number of calls in flight adapts to the server. Default: `true`.
    pub adaptive: Option<bool>,
    /// Maximum number of requests in a minute. Default: no limit.
    pub requests_per_minute: Option<u64>,
    /// Number of tokens in a minute from which on calls wait. Default: no limit.
    pub tokens_per_minute: Option<u64>,
    /// Limits of what the layer may spend: the run, or an evaluator. Layers do not inherit it. Default: no limits.
    pub budget: BudgetLimits,
    /// File with prices.
    pub prices: Option<PathBuf>,
    /// File with recorded replies.
    pub cassette: Option<PathBuf>,
    /// Whether the cassette has the texts of requests. Default: `true`.
    pub cassette_text: Option<bool>,
    /// Use of the cassette. Default: `auto`, `off` without a cassette.
    pub mode: Option<Mode>,
    /// Prompts that replace built-in ones, by the names of those.
    pub prompts: BTreeMap<String, PromptFile>,
    /// Effect of failed calls and unreadable replies. Default: an error.
    pub errors: Option<OnFailure>,
    /// Least number of readable replies per turn. Default: more than half of the samples.
    pub min_readable: Option<u32>,
    /// Whether a rubric or sentence that no reply judges is an error. Default: `false`.
    pub complete: Option<bool>,
    /// Least agreement of the votes of a turn. Default: none.
    pub min_agreement: Option<f64>,
    /// Effect of less agreement. Default: the conversation fails.
    pub on_disagreement: Option<OnDisagreement>,
    /// Whether half of the samples see the material in another order. Default: `false`.
    pub swap: Option<bool>,
    /// Rule that combines the verdicts of several models. Default: by majority.
    pub panel: Option<Panel>,
    /// Number of models whose verdicts are enough. Default: all.
    pub panel_quorum: Option<u32>,
    /// Number of further calls for an unreadable reply. Default: 0.
    pub reask: Option<u32>,
}

/// A prompt that replaces a built-in one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptFile {
    /// File.
    pub path: PathBuf,
    /// Text of the file; `None` if it cannot be read.
    pub text: Option<String>,
    /// The parsed text.
    pub template: Option<Template>,
}

/// Sets the fields that `upper` lacks to those of `lower`.
macro_rules! fill {
    ($upper:ident from $lower:ident: $($field:ident)*) => {
        $(if $upper.$field.is_none() { $upper.$field.clone_from(&$lower.$field); })*
    };
}

impl JudgeSettings {
    /// Returns these settings, with those of `base` where these are not set.
    pub fn over(&self, base: &Self) -> Self {
        let mut settings = self.clone();
        fill! { settings from base:
            base_url api_key_env credential_ref allow_http samples drop_params json_schema system_instruction timeout attempts
            max_wait total max adaptive requests_per_minute tokens_per_minute prices cassette cassette_text mode errors
            min_readable complete min_agreement on_disagreement swap panel panel_quorum reask
        }
        if settings.models.is_empty() {
            settings.models.clone_from(&base.models);
        }
        settings.credentials = base.credentials.clone();
        settings.credentials.extend(self.credentials.clone());
        settings.prompts = base.prompts.clone();
        settings.prompts.extend(self.prompts.clone());
        let (params, lower) = (&mut settings.params, &base.params);
        fill! { params from lower:
            temperature top_p top_k max_output_tokens max_tokens_key seed reasoning_effort thinking_budget json_schema
        }
        if params.stop.is_empty() {
            params.stop.clone_from(&lower.stop);
        }
        settings
    }

    /// Returns the names of the variables with keys.
    pub fn key_variables(&self) -> impl Iterator<Item = &str> {
        self.api_key_env.iter().chain(self.credentials.values()).map(String::as_str)
    }

    /// Returns these settings over others of the same layer, whose limits of the budget count where these set none.
    pub fn over_same_layer(&self, base: &Self) -> Self {
        let (mut budget, lower) = (self.budget.clone(), &base.budget);
        fill! { budget from lower: calls tokens money assume_tokens }
        Self { budget, ..self.over(base) }
    }

    /// Returns the names of the models; the default one if none is set.
    pub fn models(&self) -> Vec<String> {
        if self.models.is_empty() { vec![DEFAULT_MODEL.to_owned()] } else { self.models.clone() }
    }

    /// Returns the mode: without a cassette nothing is recorded.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or(if self.cassette.is_some() { Mode::Auto } else { Mode::Off })
    }

    /// Returns the criterion of a metric with the samples and rules of the judge.
    pub fn criterion(&self, metric: Criterion) -> Criterion {
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let then = self.on_disagreement.unwrap_or(OnDisagreement::Fail);
        let mut prompts = metric.prompts;
        for (name, prompt) in &self.prompts {
            if let Some(template) = &prompt.template {
                prompts.replace(name, template.clone());
            }
        }
        Criterion {
            samples: self.samples.map_or(metric.samples, size),
            swap: self.swap.unwrap_or(metric.swap),
            panel: self.panel.unwrap_or(metric.panel),
            quorum: self.panel_quorum.map(size).or(metric.quorum),
            prompts,
            rules: Rules {
                errors: self.errors.unwrap_or_default(),
                min_readable: self.min_readable.map(size),
                complete: self.complete.unwrap_or_default(),
                min_agreement: self.min_agreement.map(|least| (least, then)),
                ..Rules::default()
            },
            ..metric
        }
    }

    /// Returns the limits of calls.
    pub fn limits(&self) -> Limits {
        let default = Limits::default();
        let (retries, concurrency) = (default.retries, default.concurrency);
        let max = self.max.and_then(|max| usize::try_from(max).ok());
        Limits {
            timeout: self.timeout.unwrap_or(default.timeout),
            retries: Retries {
                attempts: self.attempts.unwrap_or(retries.attempts),
                max_wait: self.max_wait.unwrap_or(retries.max_wait),
                total: self.total.unwrap_or(retries.total),
            },
            concurrency: Concurrency {
                max: max.unwrap_or(concurrency.max),
                adaptive: self.adaptive.unwrap_or(concurrency.adaptive),
                requests_per_minute: self.requests_per_minute,
                tokens_per_minute: self.tokens_per_minute,
            },
        }
    }

    /// Returns the settings that decide about results, as JSON, for the keys of saved results. Limits of time, rate and
    /// money, keys and recordings are not among them.
    pub fn identity(&self) -> Value {
        let Params { temperature, top_p, top_k, max_output_tokens, seed, .. } = &self.params;
        let Params { stop, reasoning_effort, thinking_budget, json_schema, .. } = &self.params;
        let prompts: BTreeMap<&String, &Option<String>> =
            self.prompts.iter().map(|(name, prompt)| (name, &prompt.text)).collect();
        json!({
            "models": self.models(),
            "base_url": self.base_url,
            "samples": self.samples,
            "params": {
                "temperature": temperature, "top_p": top_p, "top_k": top_k,
                "max_output_tokens": max_output_tokens, "seed": seed, "stop": stop,
                "reasoning_effort": reasoning_effort, "thinking_budget": thinking_budget,
                "json_schema": json_schema.as_ref().map(|schema| &schema.schema),
            },
            "drop_params": self.drop_params,
            "json_schema": self.json_schema,
            "system_instruction": self.system_instruction,
            "prompts": prompts,
            "errors": self.errors.map(|errors| errors == OnFailure::Error),
            "min_readable": self.min_readable,
            "complete": self.complete,
            "min_agreement": self.min_agreement,
            "on_disagreement": self.on_disagreement.map(|then| format!("{then:?}")),
            "swap": self.swap,
            "panel": self.panel.map(|panel| format!("{panel:?}")),
            "panel_quorum": self.panel_quorum,
            "reask": self.reask,
        })
    }
}
