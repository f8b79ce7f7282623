//! Servers that speak OpenAI's chat completions.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    http::{Server, count_at, number_at, text_at, unexpected, whole},
    model::{Endpoint, Provider, Settings, parameters_set},
};
use crate::{Api, ErrorKind, Finish, Forwarded, ModelError, Params, Reply, Request, Usage};

/// Parameter of requests for vectors, which distinguishes their keys from those of chats.
const EMBEDDING: &str = "encoding_format";

/// Path of chats.
const CHAT: &str = "/chat/completions";

/// An OpenAI-compatible server.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenAi {
    name: &'static str,
    /// Prefixes `NAME/` of model names that are not sent.
    prefixes: &'static [&'static str],
    /// Variables with the key. Empty: no key is needed.
    keys: &'static [&'static str],
    needs_key: bool,
    /// Variables with the base URL.
    bases: &'static [&'static str],
    base: &'static str,
}

const fn hosted(
    prefix: &'static [&'static str; 1],
    keys: &'static [&'static str],
    base: &'static str,
) -> OpenAi {
    OpenAi { name: prefix[0], prefixes: prefix, keys, needs_key: true, bases: &[], base }
}

const fn own(name: &'static [&'static str; 1], keys: &'static [&'static str]) -> OpenAi {
    OpenAi { name: name[0], prefixes: name, keys, needs_key: false, bases: &[], base: "" }
}

/// Any server with a base URL.
pub(super) const COMPATIBLE: OpenAi = own(&["openai_like"], &["OPENAI_LIKE_API_KEY"]);

/// Servers by the prefixes of their models.
pub(super) const SERVERS: [OpenAi; 12] = [
    OpenAi {
        name: "openai",
        prefixes: &["openai"],
        keys: &["OPENAI_API_KEY"],
        needs_key: true,
        bases: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        base: "https://api.openai.com/v1",
    },
    OpenAi {
        name: "ollama",
        prefixes: &["ollama", "ollama_chat"],
        keys: &[],
        needs_key: false,
        bases: &["OLLAMA_HOST"],
        base: "http://127.0.0.1:11434",
    },
    own(&["hosted_vllm"], &["HOSTED_VLLM_API_KEY"]),
    own(&["litellm_proxy"], &["LITELLM_PROXY_API_KEY"]),
    COMPATIBLE,
    hosted(&["groq"], &["GROQ_API_KEY"], "https://api.groq.com/openai/v1"),
    hosted(&["mistral"], &["MISTRAL_API_KEY"], "https://api.mistral.ai/v1"),
    hosted(&["deepseek"], &["DEEPSEEK_API_KEY"], "https://api.deepseek.com/v1"),
    hosted(
        &["together_ai"],
        &["TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"],
        "https://api.together.xyz/v1",
    ),
    hosted(
        &["fireworks_ai"],
        &["FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"],
        "https://api.fireworks.ai/inference/v1",
    ),
    hosted(&["openrouter"], &["OPENROUTER_API_KEY"], "https://openrouter.ai/api/v1"),
    hosted(&["xai"], &["XAI_API_KEY"], "https://api.x.ai/v1"),
];

impl OpenAi {
    /// Returns the name that is sent, without the prefix.
    fn sent<'a>(&self, model: &'a str) -> Option<&'a str> {
        let rest = |prefix: &&str| model.strip_prefix(prefix)?.strip_prefix('/');
        self.prefixes.iter().find_map(rest).filter(|rest| !rest.is_empty())
    }

    /// Returns the base URL: the configured one, that of a variable, or the server's own.
    fn base(&self, model: &str, settings: &Settings) -> Result<String, ModelError> {
        let variable = || settings.variable(self.bases).map(|(_, value)| value);
        let base = settings.base_url.clone().or_else(variable);
        let base = base.unwrap_or_else(|| self.base.to_owned());
        if self.name == "ollama" {
            let base = if base.contains("://") { base } else { format!("http://{base}") };
            let base = base.trim_end_matches('/');
            return Ok(if base.ends_with("/v1") { base.to_owned() } else { format!("{base}/v1") });
        }
        match &*base {
            // Nothing is sent there.
            "" if settings.is_offline => Ok("http://localhost".to_owned()),
            "" => {
                let text = format!("model `{model}` needs a base URL; set `base_url` of `judge`");
                Err(ModelError::new(ErrorKind::Config, text))
            }
            _ => Ok(base),
        }
    }
}

/// Returns true for names that OpenAI has itself: `gpt-*`, `o<digits>*`.
fn is_bare(model: &str) -> bool {
    model.starts_with("gpt-")
        || model
            .strip_prefix('o')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

impl Provider for OpenAi {
    fn forms(&self) -> Vec<String> {
        self.prefixes.iter().map(|prefix| format!("{prefix}/MODEL")).collect()
    }

    fn accepts(&self, model: &str) -> bool {
        self.sent(model).is_some() || (self.name == "openai" && is_bare(model))
    }

    fn connect(&self, model: &str, settings: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        let base = self.base(model, settings)?;
        let key = match settings.key(model, self.keys) {
            Err(error) if self.needs_key || settings.variable(self.keys).is_some() => {
                return Err(error);
            }
            key => key.ok().flatten(),
        };
        let server = Server::new(&base, key, ("authorization", "Bearer "), settings)?;
        Ok(Arc::new(Chat {
            provider: self.name,
            model: self.sent(model).unwrap_or(model).to_owned(),
            path: CHAT.to_owned(),
            max_tokens: if self.name == "openai" { "max_completion_tokens" } else { "max_tokens" },
            server,
        }))
    }
}

/// A model behind chat completions.
#[derive(Debug)]
pub(super) struct Chat {
    pub(super) provider: &'static str,
    pub(super) model: String,
    pub(super) path: String,
    pub(super) max_tokens: &'static str,
    pub(super) server: Server,
}

impl Endpoint for Chat {
    fn provider(&self) -> &str {
        self.provider
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn queue(&self) -> String {
        self.server.queue(self.provider)
    }

    fn identity(&self) -> Result<String, String> {
        Ok(format!("{}{}", self.server.base(), self.path))
    }

    fn speaks(&self, api: Api) -> bool {
        match api {
            Api::ChatCompletions | Api::Embeddings => true,
            // Azure has it at another address.
            Api::Responses => self.path == CHAT,
            Api::Messages => false,
        }
    }

    fn parameters(&self, params: &Params) -> Result<Map<String, Value>, ModelError> {
        if params.is_embedding {
            return Ok(parameters_set([(EMBEDDING, Some(json!("float")))]));
        }
        no_thinking_budget(params)?;
        let max_tokens = params.max_tokens_key.as_deref().unwrap_or(self.max_tokens);
        let schema = params.json_schema.as_ref().map(|it| {
            let schema = json!({"name": it.name, "strict": true, "schema": it.schema});
            json!({"type": "json_schema", "json_schema": schema})
        });
        let object = params.is_json_object.then(|| json!({"type": "json_object"}));
        Ok(parameters_set([
            ("temperature", params.temperature.map(Value::from)),
            ("top_p", params.top_p.map(Value::from)),
            ("top_k", params.top_k.map(Value::from)),
            (max_tokens, params.max_output_tokens.map(Value::from)),
            ("seed", params.seed.map(Value::from)),
            ("stop", (!params.stop.is_empty()).then(|| json!(params.stop))),
            ("reasoning_effort", params.reasoning_effort.clone().map(Value::from)),
            ("response_format", schema.or(object)),
        ]))
    }

    fn send(
        &self,
        request: &Request,
        parameters: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Reply, ModelError> {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(self.model));
        body.extend(parameters.clone());
        if let Some(Forwarded { api, .. }) = &request.forwarded {
            let path = self.path.replace(CHAT, api.path());
            let answer = self.server.post(&path, &[], &body, limit)?;
            return whole(*api, usage(&answer), answer);
        }
        if request.params.is_embedding {
            let texts = request.messages.iter().map(|message| json!(message.content));
            body.insert("input".to_owned(), texts.collect());
            let path = self.path.replace(CHAT, Api::Embeddings.path());
            return vectors(&self.server.post(&path, &[], &body, limit)?, request.messages.len());
        }
        body.insert("messages".to_owned(), json!(request.messages));
        reply(&self.server.post(&self.path, &[], &body, limit)?)
    }
}

/// Reads the vectors of `count` texts, in the order of the texts.
fn vectors(answer: &Value, count: usize) -> Result<Reply, ModelError> {
    let data = answer.get("data").and_then(Value::as_array);
    let mut vectors = vec![Value::Null; count];
    for item in data.into_iter().flatten() {
        let index =
            item.get("index").and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
        let place = index.and_then(|index| vectors.get_mut(index));
        let vector = item.get("embedding").and_then(Value::as_array).filter(|vector| {
            !vector.is_empty()
                && vector.iter().all(|number| number.as_f64().is_some_and(f64::is_finite))
        });
        if let (Some(place), Some(vector)) = (place, vector) {
            *place = Value::Array(vector.clone());
        }
    }
    if vectors.iter().any(Value::is_null) {
        return Err(unexpected("no vector of numbers for a text"));
    }
    Ok(Reply {
        text: Value::Array(vectors).to_string(),
        usage: usage(answer),
        model_reported: text_at(answer, "/model"),
        ..Reply::default()
    })
}

/// Returns the tokens, if all of those that count are known.
fn usage(answer: &Value) -> Option<Usage> {
    let usage = answer.get("usage")?;
    // The names of responses.
    if let Some(input) = usage.get("input_tokens") {
        return Some(Usage {
            input: input.as_u64()?,
            output: count_at(usage, "/output_tokens")?,
            cached: number_at(usage, "/input_tokens_details/cached_tokens"),
            reasoning: number_at(usage, "/output_tokens_details/reasoning_tokens"),
        });
    }
    Some(Usage {
        input: usage.get("prompt_tokens")?.as_u64()?,
        output: count_at(usage, "/completion_tokens")?,
        cached: number_at(usage, "/prompt_tokens_details/cached_tokens"),
        reasoning: number_at(usage, "/completion_tokens_details/reasoning_tokens"),
    })
}

fn no_thinking_budget(params: &Params) -> Result<(), ModelError> {
    match params.thinking_budget {
        None => Ok(()),
        Some(_) => Err(ModelError::new(
            ErrorKind::Config,
            "`params.thinking_budget` does not exist in chat completions; use `reasoning_effort`",
        )),
    }
}

/// Reads an answer.
pub(super) fn reply(answer: &Value) -> Result<Reply, ModelError> {
    let choices = answer.get("choices").and_then(Value::as_array);
    let choice = choices.and_then(|choices| choices.first()).filter(|choice| choice.is_object());
    let choice = choice.ok_or_else(|| unexpected("no choices"))?;
    let refusal = text_at(choice, "/message/refusal").filter(|text| !text.is_empty());
    let text = match choice.pointer("/message/content") {
        Some(Value::String(text)) => text.clone(),
        // A few servers answer in parts.
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
        }
        _ => String::new(),
    };
    let calls_tools = choice
        .pointer("/message/tool_calls")
        .and_then(Value::as_array)
        .is_some_and(|calls| !calls.is_empty());
    let finish = match text_at(choice, "/finish_reason").as_deref() {
        Some("content_filter") => Finish::ContentFilter,
        _ if refusal.is_some() => Finish::Refusal,
        Some("length") => Finish::Length,
        Some("tool_calls" | "function_call") => Finish::ToolCalls,
        _ if calls_tools && text.trim().is_empty() => Finish::ToolCalls,
        // Servers of open models name the token or text at which the model stopped.
        Some("stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token") => Finish::Stop,
        other => Finish::Other(other.unwrap_or_default().to_owned()),
    };
    let mut reply = Reply {
        text,
        thinking: text_at(choice, "/message/reasoning_content")
            .or_else(|| text_at(choice, "/message/reasoning")),
        finish,
        refusal,
        usage: usage(answer),
        model_reported: text_at(answer, "/model"),
        body: None,
    };
    reply.cut_thinking();
    Ok(reply)
}
