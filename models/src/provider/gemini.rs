//! Gemini's `generateContent`.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    http::{Server, count_at, number_at, text_at, unexpected},
    model::{Endpoint, Provider, Settings, no_embeddings, parameters_set},
};
use crate::{ErrorKind, Finish, ModelError, Params, Reply, Request, Role, Usage};

/// Models `gemini/MODEL`, `gemini-*` and `gemma-*`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gemini;

const PREFIX: &str = "gemini/";
const BASE: &str = "https://generativelanguage.googleapis.com";

impl Provider for Gemini {
    fn forms(&self) -> Vec<String> {
        ["gemini/MODEL", "gemini-*", "gemma-*"].map(str::to_owned).to_vec()
    }

    fn accepts(&self, model: &str) -> bool {
        model.starts_with("gemini-")
            || model.starts_with("gemma-")
            || model.strip_prefix(PREFIX).is_some_and(|rest| !rest.is_empty())
    }

    fn connect(&self, model: &str, settings: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        let key = settings.key(model, &["GEMINI_API_KEY", "GOOGLE_API_KEY"])?;
        let name = model.strip_prefix(PREFIX).unwrap_or(model).to_owned();
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            let text = format!("`{name}` is not the name of a Gemini model");
            return Err(ModelError::new(ErrorKind::Config, text));
        }
        let base = settings.base_url.as_deref().unwrap_or(BASE);
        let server = Server::new(base, key, ("x-goog-api-key", ""), settings)?;
        Ok(Arc::new(GenerateContent { model: name, server }))
    }
}

#[derive(Debug)]
struct GenerateContent {
    model: String,
    server: Server,
}

impl Endpoint for GenerateContent {
    fn provider(&self) -> &str {
        "gemini"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn queue(&self) -> String {
        self.server.queue("gemini")
    }

    fn identity(&self) -> Result<String, String> {
        Ok(self.server.base().to_owned())
    }

    fn parameters(&self, params: &Params) -> Result<Map<String, Value>, ModelError> {
        no_embeddings(params)?;
        if params.reasoning_effort.is_some() {
            let text =
                "`params.reasoning_effort` does not exist in Gemini's API; use `thinking_budget`";
            return Err(ModelError::new(ErrorKind::Config, text));
        }
        let schema = params.json_schema.as_ref();
        let is_json = schema.is_some() || params.is_json_object;
        let thinking = params.thinking_budget.map(|budget| json!({"thinkingBudget": budget}));
        Ok(parameters_set([
            ("temperature", params.temperature.map(Value::from)),
            ("topP", params.top_p.map(Value::from)),
            ("topK", params.top_k.map(Value::from)),
            ("maxOutputTokens", params.max_output_tokens.map(Value::from)),
            ("seed", params.seed.map(Value::from)),
            ("stopSequences", (!params.stop.is_empty()).then(|| json!(params.stop))),
            ("thinkingConfig", thinking),
            ("responseMimeType", is_json.then(|| json!("application/json"))),
            ("responseJsonSchema", schema.map(|it| it.schema.clone())),
        ]))
    }

    fn send(
        &self,
        request: &Request,
        parameters: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Reply, ModelError> {
        request.check_text()?;
        let contents = request.dialogue().map(|message| {
            let role = if message.role == Role::Assistant { "model" } else { "user" };
            json!({"role": role, "parts": [{"text": message.content}]})
        });
        let mut body = Map::new();
        body.insert("contents".to_owned(), contents.collect());
        if let Some(system) = request.system() {
            body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": system}]}));
        }
        if !parameters.is_empty() {
            body.insert("generationConfig".to_owned(), json!(parameters));
        }
        let path = format!("/v1beta/models/{}:generateContent", self.model);
        reply(&self.server.post(&path, &[], &body, limit)?)
    }
}

/// Reads an answer.
pub(super) fn reply(answer: &Value) -> Result<Reply, ModelError> {
    let usage = usage(answer);
    let model_reported = text_at(answer, "/modelVersion");
    let candidates = answer.get("candidates").and_then(Value::as_array);
    let candidate = candidates.and_then(|all| all.first()).filter(|it| it.is_object());
    let Some(candidate) = candidate else {
        let reason = text_at(answer, "/promptFeedback/blockReason");
        let refusal = reason.ok_or_else(|| unexpected("no candidates"))?;
        let refusal = Some(refusal);
        let finish = Finish::InputFilter;
        return Ok(Reply { finish, refusal, usage, model_reported, ..Reply::default() });
    };
    let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    let texts = |thought: bool| -> Vec<&str> {
        let is_thought = |part: &&Value| {
            part.get("thought").and_then(Value::as_bool).unwrap_or_default() == thought
        };
        parts.iter().filter(is_thought).filter_map(|part| part.get("text")?.as_str()).collect()
    };
    let thinking = texts(true);
    let text = texts(false).concat();
    let calls_tool = parts.iter().any(|part| part.get("functionCall").is_some());
    let reason = text_at(candidate, "/finishReason");
    let mut refusal = None;
    let finish = match reason.as_deref() {
        Some("MAX_TOKENS") => Finish::Length,
        Some(reason @ ("SAFETY" | "PROHIBITED_CONTENT" | "RECITATION" | "BLOCKLIST" | "SPII")) => {
            refusal = Some(reason.to_owned());
            Finish::ContentFilter
        }
        _ if calls_tool && text.trim().is_empty() => Finish::ToolCalls,
        Some("STOP") => Finish::Stop,
        other => Finish::Other(other.unwrap_or_default().to_owned()),
    };
    let thinking = (!thinking.is_empty()).then(|| thinking.join("\n"));
    let mut reply = Reply { text, thinking, finish, refusal, usage, model_reported, body: None };
    reply.cut_thinking();
    Ok(reply)
}

/// Returns the tokens, if all of those that count are known.
fn usage(answer: &Value) -> Option<Usage> {
    let usage = answer.get("usageMetadata")?;
    let reasoning = count_at(usage, "/thoughtsTokenCount")?;
    Some(Usage {
        input: usage.get("promptTokenCount")?.as_u64()?,
        output: count_at(usage, "/candidatesTokenCount")?.saturating_add(reasoning),
        cached: number_at(usage, "/cachedContentTokenCount"),
        reasoning,
    })
}
