//! Records: requests and replies as they are stored, and the key of a request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Finish, Message, Messages, Reply, Request, Role, Usage,
    parameters::Parameters,
    request::{canonical_sha, sha},
};

/// Version of the key and of the lines.
pub(super) const VERSION: u32 = 1;

/// Key and sample of a record.
pub type RecordId = (String, u32);

/// Beginning of what replaces a secret.
const REDACTED: &str = "<redacted:";

/// A request with what identifies it in a cassette.
#[derive(Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) params: &'a Parameters,
    pub(crate) request: &'a Request,
    pub(crate) key: String,
}

/// Content of the key's digest, besides the messages.
#[derive(Serialize)]
struct Keyed<'a> {
    model: &'a str,
    params: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    provider: &'a str,
    v: u32,
}

impl<'a> Identity<'a> {
    /// Computes the key. Base URL, key of the server, limits and sample are not in it.
    pub(crate) fn new(
        provider: &'a str,
        model: &'a str,
        params: &'a Parameters,
        request: &'a Request,
    ) -> Self {
        let key = key(provider, model, params.sent(), path(request), &request.messages);
        Self { provider, model, params, request, key }
    }

    /// Returns the key of the request with all parameters, if some were dropped.
    pub(super) fn asked_key(&self) -> Option<String> {
        let (request, asked) = (self.request, self.params.asked());
        let asked = || key(self.provider, self.model, asked, path(request), &request.messages);
        (!self.params.dropped().is_empty()).then(asked)
    }

    /// Digest of the messages alone, or of a whole forwarded request. It is not needed to replay the reply of a known model.
    pub(crate) fn prompt_sha(&self) -> String {
        prompt_sha(path(self.request), self.params.sent(), &self.request.messages)
    }
}

/// Returns the path of a forwarded request.
pub(super) fn path(request: &Request) -> Option<&'static str> {
    request.forwarded.as_ref().map(|it| it.api.path())
}

fn prompt_sha(path: Option<&str>, params: &Map<String, Value>, messages: &Messages) -> String {
    match path {
        Some(path) => canonical_sha(&(path, params)),
        None => canonical_sha(messages),
    }
}

/// Returns the key of a request with these parameters.
pub(super) fn key(
    provider: &str,
    model: &str,
    params: &Map<String, Value>,
    path: Option<&str>,
    messages: &Messages,
) -> String {
    messages.sha_with(&Keyed { model, params, path, provider, v: VERSION })
}

/// Beginning of a digest that replaces a value of a forwarded request.
const DIGEST: &str = "sha256:";

/// Returns what a record has instead of a value that may contain texts of a conversation.
pub(super) fn without_text(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        _ => format!("{DIGEST}{}", canonical_sha(value)).into(),
    }
}

/// One line of a cassette.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of the line, 1.
    pub v: u32,
    /// SHA-256 of the canonical JSON of version, provider, model, parameters and messages.
    pub key: String,
    /// Number of the sample among equal requests.
    pub sample: u32,
    /// Provider.
    pub provider: String,
    /// Model.
    pub model: String,
    /// Path of the request of a program that was sent as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Parameters as they were sent; all of a request with a path.
    pub params: Map<String, Value>,
    /// Names of parameters that were dropped because the server refused them, by the key of the request that had them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, Vec<String>>,
    /// Metric that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// SHA-256 of the canonical JSON of the messages.
    pub prompt_sha: String,
    /// Messages.
    pub messages: Vec<StoredMessage>,
    /// Reply.
    pub reply: StoredReply,
}

/// Message of a [`Record`], with its text or a hash of it; with both if the text is not all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredMessage {
    /// Author.
    pub role: Role,
    /// Text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// SHA-256 of the text if the text is not stored, or of the canonical JSON of the parts if the message has images or audio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha: Option<String>,
}

/// Reply of a [`Record`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredReply {
    /// Text.
    pub text: String,
    /// Why the reply ended.
    pub finish: Finish,
    /// Text of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Model that the server reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_reported: Option<String>,
    /// SHA-256 of the thinking, which is never read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_sha: Option<String>,
    /// Whole answer to a request with a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

impl StoredReply {
    pub(super) fn to_reply(&self) -> Reply {
        Reply {
            text: self.text.clone(),
            thinking: None,
            finish: self.finish.clone(),
            refusal: self.refusal.clone(),
            usage: self.usage,
            model_reported: self.model_reported.clone(),
            body: self.body.clone(),
        }
    }
}

impl Record {
    pub(super) fn new(identity: &Identity<'_>, reply: &Reply, stores_text: bool) -> Self {
        let stored = |message: &Message| StoredMessage {
            role: message.role,
            content: stores_text.then(|| message.content.clone()),
            sha: match &message.parts[..] {
                [] => (!stores_text).then(|| sha(message.content.as_bytes())),
                parts => Some(canonical_sha(&parts)),
            },
        };
        let path = path(identity.request);
        let mut params = identity.params.sent().clone();
        if path.is_some() && !stores_text {
            params.values_mut().for_each(|value| *value = without_text(value));
        }
        Self {
            v: VERSION,
            key: identity.key.clone(),
            sample: identity.request.sample,
            provider: identity.provider.to_owned(),
            model: identity.model.to_owned(),
            path: path.map(str::to_owned),
            params,
            dropped: BTreeMap::new(),
            metric: identity.request.metric.clone(),
            prompt_sha: identity.prompt_sha(),
            messages: identity.request.messages.iter().map(stored).collect(),
            reply: StoredReply {
                text: reply.text.clone(),
                finish: reply.finish.clone(),
                refusal: reply.refusal.clone(),
                usage: reply.usage,
                model_reported: reply.model_reported.clone(),
                thinking_sha: reply.thinking.as_deref().map(|text| sha(text.as_bytes())),
                body: reply.body.clone(),
            },
        }
    }

    /// Checks that the record is the one of its messages, as far as all of their text is stored and no secret was removed from
    /// it: a reader of the file sees the messages, and a replay finds the record by its key.
    ///
    /// # Errors
    ///
    /// A digest is not that of the record; the name of the digest.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let shown = |message: &StoredMessage| {
            let content = message.content.as_ref().filter(|_| message.sha.is_none())?;
            (!content.contains(REDACTED)).then(|| Message::new(message.role, content))
        };
        let messages = self.messages.iter().map(shown).collect::<Option<Vec<_>>>();
        let Some(messages) = messages.map(Messages::from) else { return Ok(()) };
        let path = self.path.as_deref();
        let is_digest = |value: &Value| value.as_str().is_some_and(|it| it.starts_with(DIGEST));
        let is_partial = self.params.values().any(|value| {
            value.to_string().contains(REDACTED) || (path.is_some() && is_digest(value))
        });
        let is_whole = path.is_none() || !is_partial;
        if is_whole && prompt_sha(path, &self.params, &messages) != self.prompt_sha {
            return Err("`prompt_sha` is not the digest of its messages");
        }
        let key = || key(&self.provider, &self.model, &self.params, path, &messages);
        if !is_partial && !self.model.contains(REDACTED) && key() != self.key {
            return Err("`key` is not the digest of its model, parameters and messages");
        }
        Ok(())
    }

    /// Of two replies to one sample, the one with the smaller digest counts.
    pub(super) fn digest(&self) -> String {
        canonical_sha(&self.reply)
    }
}
