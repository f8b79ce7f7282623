//! Anthropic's messages.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    http::{Server, count_at, text_at, unexpected, whole},
    model::{Endpoint, Provider, Settings, no_embeddings, parameters_set},
};
use crate::{Api, ErrorKind, Finish, ModelError, Params, Reply, Request, Usage};

/// Models `anthropic/MODEL` and `claude-*`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anthropic;

const PREFIX: &str = "anthropic/";
const BASE: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
/// The server requires a maximum.
const MAX_TOKENS: u64 = 4096;

impl Provider for Anthropic {
    fn forms(&self) -> Vec<String> {
        vec!["anthropic/MODEL".to_owned(), "claude-*".to_owned()]
    }

    fn accepts(&self, model: &str) -> bool {
        model.starts_with("claude-") || model.strip_prefix(PREFIX).is_some_and(|it| !it.is_empty())
    }

    fn connect(&self, model: &str, settings: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        let key = settings.key(model, &["ANTHROPIC_API_KEY"])?;
        let base = settings.base_url.as_deref().unwrap_or(BASE).trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let server = Server::new(base, key, ("x-api-key", ""), settings)?;
        let model = model.strip_prefix(PREFIX).unwrap_or(model).to_owned();
        Ok(Arc::new(Messages { model, server }))
    }
}

#[derive(Debug)]
struct Messages {
    model: String,
    server: Server,
}

impl Endpoint for Messages {
    fn provider(&self) -> &str {
        "anthropic"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn queue(&self) -> String {
        self.server.queue("anthropic")
    }

    fn identity(&self) -> Result<String, String> {
        Ok(self.server.base().to_owned())
    }

    fn speaks(&self, api: Api) -> bool {
        api == Api::Messages
    }

    fn parameters(&self, params: &Params) -> Result<Map<String, Value>, ModelError> {
        no_embeddings(params)?;
        for (name, is_set) in [
            ("seed", params.seed.is_some()),
            ("reasoning_effort", params.reasoning_effort.is_some()),
            ("json_object", params.is_json_object),
        ] {
            if is_set {
                let text = format!("`params.{name}` does not exist in Anthropic's API; remove it");
                return Err(ModelError::new(ErrorKind::Config, text));
            }
        }
        let thinking =
            params.thinking_budget.map(|it| json!({"type": "enabled", "budget_tokens": it}));
        let schema = params.json_schema.as_ref();
        let schema =
            schema.map(|it| json!({"format": {"type": "json_schema", "schema": it.schema}}));
        Ok(parameters_set([
            ("max_tokens", Some(json!(params.max_output_tokens.unwrap_or(MAX_TOKENS)))),
            ("temperature", params.temperature.map(Value::from)),
            ("top_p", params.top_p.map(Value::from)),
            ("top_k", params.top_k.map(Value::from)),
            ("stop_sequences", (!params.stop.is_empty()).then(|| json!(params.stop))),
            ("thinking", thinking),
            ("output_config", schema),
        ]))
    }

    fn send(
        &self,
        request: &Request,
        parameters: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Reply, ModelError> {
        let headers = [("anthropic-version", VERSION)];
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(self.model));
        if let Some(forwarded) = &request.forwarded {
            body.extend(parameters.clone());
            let answer = self.server.post("/v1/messages", &headers, &body, limit)?;
            return whole(forwarded.api, usage(&answer), answer);
        }
        request.check_text()?;
        body.extend(request.system().map(|system| ("system".to_owned(), json!(system))));
        body.insert("messages".to_owned(), json!(request.dialogue().collect::<Vec<_>>()));
        body.extend(parameters.clone());
        reply(&self.server.post("/v1/messages", &headers, &body, limit)?)
    }
}

/// Reads an answer.
pub(super) fn reply(answer: &Value) -> Result<Reply, ModelError> {
    let blocks = answer.get("content").and_then(Value::as_array);
    let blocks = blocks.ok_or_else(|| unexpected("no content"))?;
    let texts = |kind: &str, field: &str| -> Vec<&str> {
        let blocks =
            blocks.iter().filter(|it| it.get("type").and_then(Value::as_str) == Some(kind));
        blocks.filter_map(|block| block.get(field)?.as_str()).collect()
    };
    let text = texts("text", "text").concat();
    let thinking = texts("thinking", "thinking");
    let finish = match text_at(answer, "/stop_reason").as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::Refusal,
        Some("tool_use") => Finish::ToolCalls,
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        other => Finish::Other(other.unwrap_or_default().to_owned()),
    };
    let refusal = (finish == Finish::Refusal && !text.is_empty()).then(|| text.clone());
    let mut reply = Reply {
        text,
        thinking: (!thinking.is_empty()).then(|| thinking.join("\n")),
        finish,
        refusal,
        usage: usage(answer),
        model_reported: text_at(answer, "/model"),
        body: None,
    };
    reply.cut_thinking();
    Ok(reply)
}

/// Returns the tokens, if all of those that count are known.
fn usage(answer: &Value) -> Option<Usage> {
    let usage = answer.get("usage")?;
    // Tokens that were read from or written to the cache are not in `input_tokens`.
    let cache = |pointer| match usage.pointer(pointer) {
        Some(Value::Null) => Some(0),
        _ => count_at(usage, pointer),
    };
    let cached = cache("/cache_read_input_tokens")?;
    let written = cache("/cache_creation_input_tokens")?;
    let input = usage.get("input_tokens")?.as_u64()?;
    Some(Usage {
        input: input.saturating_add(cached).saturating_add(written),
        output: count_at(usage, "/output_tokens")?,
        cached,
        reasoning: 0,
    })
}
