//! Scripted replies, for tests, examples and vectors.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::model::{Endpoint, Provider, Settings};
use crate::{
    ErrorKind, Finish, ModelError, Params, Reply, Request, Usage, clock::lock, request::sha,
};

/// One scripted answer.
pub type FakeReply = Result<Reply, ModelError>;

type Script = Box<dyn FnMut(&Request) -> FakeReply + Send>;

/// A model whose replies are scripted.
#[derive(derive_more::Debug)]
#[debug("Fake({name:?})")]
pub struct Fake {
    name: String,
    /// Whether the replies belong to the calls by their order.
    is_ordered: bool,
    /// Digest of the file of the replies, if they are from one.
    digest: Option<String>,
    script: Mutex<Script>,
}

impl Fake {
    /// Creates a model that answers with these texts in the order of the calls. Further calls are errors.
    pub fn in_order<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let replies = texts.into_iter().map(|text| {
            Ok(Reply { text: text.into(), usage: Some(Usage::default()), ..Reply::default() })
        });
        Self::replies(replies.collect::<Vec<_>>())
    }

    /// Creates a model that gives these answers in the order of the calls. Further calls are errors.
    pub fn replies(replies: impl IntoIterator<Item = FakeReply>) -> Self {
        let mut replies = replies.into_iter().collect::<Vec<_>>().into_iter();
        let in_order = Self::answering(move |_| {
            replies.next().unwrap_or_else(|| {
                Err(ModelError::new(ErrorKind::Config, "there are no scripted replies left"))
            })
        });
        Self { is_ordered: true, ..in_order }
    }

    /// Creates a model that answers by a function.
    pub fn answering(script: impl FnMut(&Request) -> FakeReply + Send + 'static) -> Self {
        let script = Mutex::new(Box::new(script) as Script);
        Self { name: "script".to_owned(), is_ordered: false, digest: None, script }
    }

    /// Reads a file of replies, one JSON value per line:
    ///
    /// | line | answer |
    /// |---|---|
    /// | `"text"` | this text |
    /// | `{"parts": [{"text": "..", "thought": false}, ..]}` | the texts of the parts, separated by line feeds |
    /// | `{"content": null, "finish_reason": "SAFETY"}` | no text |
    /// | `{"text": "..", "finish": "length", "usage": {"input": 1, "output": 1}}` | a reply as in a cassette |
    /// | `{"error": ".."}`, `{"timeout": true}`, `{"nothing": true}` | an error |
    ///
    /// # Errors
    ///
    /// A line is not one of these.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let replies: Result<Vec<_>, _> = lines
            .map(|(number, line)| {
                let bad = |reason: String| {
                    let text = format!("line {} of the scripted replies: {reason}", number + 1);
                    ModelError::new(ErrorKind::Config, text)
                };
                let value = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
                scripted(&value).ok_or_else(|| bad("is not a reply".to_owned()))
            })
            .collect();
        Ok(Self::replies(replies?))
    }
}

/// Reads one scripted answer.
fn scripted(value: &Value) -> Option<FakeReply> {
    if let Value::String(text) = value {
        let usage = Some(Usage::default());
        return Some(Ok(Reply { text: text.clone(), usage, ..Reply::default() }));
    }
    let failed = |kind, text: &str| {
        let mut error = ModelError::new(kind, text);
        // A script has one entry per call, so a failed call must not take the next entry.
        error.is_final = true;
        Some(Err(error))
    };
    if let Some(error) = value.get("error") {
        return failed(ErrorKind::Unavailable, error.as_str()?);
    }
    if value.get("timeout").is_some() {
        return failed(ErrorKind::Timeout, "the scripted reply is a timeout");
    }
    if value.get("nothing").is_some() {
        return failed(ErrorKind::NoReply, "the scripted answer has no reply");
    }
    let mut reply = Reply { usage: Some(Usage::default()), ..Reply::default() };
    if let Some(parts) = value.get("parts") {
        let is_thought = |part: &Value| part.get("thought").and_then(Value::as_bool) == Some(true);
        let texts = |thought: bool| -> Vec<&str> {
            let parts = parts.as_array().into_iter().flatten();
            let texts = parts.filter(|part| is_thought(part) == thought);
            let texts = texts.filter_map(|part| part.get("text")?.as_str());
            texts.filter(|text| !text.is_empty()).collect()
        };
        reply.text = texts(false).join("\n");
        reply.thinking = Some(texts(true).join("\n")).filter(|text| !text.is_empty());
        return Some(Ok(reply));
    }
    if value.get("content").is_some_and(Value::is_null) {
        let reason = value.get("finish_reason").or_else(|| value.get("error_code"));
        reply.finish = match reason.and_then(Value::as_str) {
            None | Some("STOP") => Finish::Stop,
            Some("MAX_TOKENS") => Finish::Length,
            Some(_) => Finish::ContentFilter,
        };
        let message = value.get("error_message").and_then(Value::as_str);
        reply.refusal = message.map(str::to_owned);
        return Some(Ok(reply));
    }
    reply.text = value.get("text")?.as_str()?.to_owned();
    if let Some(finish) = value.get("finish") {
        reply.finish = Finish::deserialize(finish).ok()?;
    }
    if let Some(usage) = value.get("usage") {
        reply.usage = serde_json::from_value(usage.clone()).ok()?;
    }
    Some(Ok(reply))
}

impl Endpoint for Fake {
    fn provider(&self) -> &str {
        "fake"
    }

    fn model(&self) -> &str {
        &self.name
    }

    fn queue(&self) -> String {
        format!("fake {}", self.name)
    }

    fn identity(&self) -> Result<String, String> {
        self.digest.clone().ok_or_else(|| "changes of a script of replies".to_owned())
    }

    fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    fn parameters(&self, params: &Params) -> Result<Map<String, Value>, ModelError> {
        let temperature = params.temperature.map(|it| ("temperature".to_owned(), json!(it)));
        let tokens = params.max_output_tokens.map(|it| ("max_output_tokens".to_owned(), json!(it)));
        Ok(temperature.into_iter().chain(tokens).collect())
    }

    fn send(
        &self,
        request: &Request,
        _parameters: &Map<String, Value>,
        _limit: Duration,
    ) -> Result<Reply, ModelError> {
        let mut script = lock(&self.script);
        (*script)(request)
    }
}

/// Models `fake:FILE`.
#[derive(Clone, Copy, Debug)]
pub(super) struct FakeFile;

const PREFIX: &str = "fake:";

impl Provider for FakeFile {
    fn forms(&self) -> Vec<String> {
        vec!["fake:FILE".to_owned()]
    }

    fn accepts(&self, model: &str) -> bool {
        model.strip_prefix(PREFIX).is_some_and(|file| !file.is_empty())
    }

    fn connect(&self, model: &str, settings: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        let file = model.strip_prefix(PREFIX).unwrap_or(model);
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(_) if settings.is_offline => String::new(),
            Err(error) => {
                let text = format!("model `{model}`: {error}");
                return Err(ModelError::new(ErrorKind::Config, text));
            }
        };
        let digest = Some(sha(text.as_bytes()));
        Ok(Arc::new(Fake { name: file.to_owned(), digest, ..Fake::parse(&text)? }))
    }
}
