//! Requests: messages, parameters, and their digests.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{ErrorKind, ModelError};

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// Instructions, under the name that newer models have for them.
    Developer,
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns true if messages of this author are instructions.
    pub fn is_instruction(self) -> bool {
        matches!(self, Self::System | Self::Developer)
    }
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// Author.
    pub role: Role,
    /// Text.
    pub content: String,
    /// Content that is not only text, in the form of chat completions; it is sent instead of the text. Only
    /// OpenAI-compatible servers take it.
    pub parts: Vec<Value>,
}

/// The form of chat completions.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut message = serializer.serialize_struct("Message", 2)?;
        message.serialize_field("role", &self.role)?;
        match &self.parts[..] {
            [] => message.serialize_field("content", &self.content)?,
            parts => message.serialize_field("content", parts)?,
        }
        message.end()
    }
}

impl Message {
    /// Creates a message that is text.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), parts: Vec::new() }
    }

    /// Creates a message with instructions.
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(Role::System, content)
    }

    /// Creates a message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }
}

/// Messages of a request, in order. Clones share them, and their digest.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("{:?}", **self)]
pub struct Messages(Arc<Shared>);

#[derive(Default)]
struct Shared {
    list: Vec<Message>,
    digest: OnceLock<Sha256>,
}

impl Messages {
    /// Returns the digest of a canonical JSON object whose first member, `messages`, are these. `rest` is the canonical JSON
    /// object of its other members.
    pub(crate) fn sha_with(&self, rest: &impl Serialize) -> String {
        let beginning = self.0.digest.get_or_init(|| {
            Sha256::new().chain_update(r#"{"messages":"#).chain_update(canonical(&self.0.list))
        });
        let rest = canonical(rest);
        let sha =
            beginning.clone().chain_update(b",").chain_update(rest.get(1..).unwrap_or_default());
        hex(&sha.finalize())
    }
}

impl From<Vec<Message>> for Messages {
    fn from(list: Vec<Message>) -> Self {
        Self(Arc::new(Shared { list, digest: OnceLock::new() }))
    }
}

impl Deref for Messages {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.0.list
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

impl Eq for Messages {}

impl std::hash::Hash for Messages {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// JSON Schema that a reply must match.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonSchema {
    /// Name, which some servers ask for.
    pub name: String,
    /// The schema.
    pub schema: Value,
}

/// Parameters of the generation. Only what is set is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// Randomness.
    pub temperature: Option<f64>,
    /// Share of probability that is sampled from.
    pub top_p: Option<f64>,
    /// Number of tokens that are sampled from.
    pub top_k: Option<u32>,
    /// Maximum number of tokens of the reply.
    pub max_output_tokens: Option<u64>,
    /// Name under which an OpenAI-compatible server takes that maximum.
    pub max_tokens_key: Option<String>,
    /// Seed of the sampling.
    pub seed: Option<i64>,
    /// Texts that end the reply.
    pub stop: Vec<String>,
    /// Effort of reasoning models: `low`, `medium`, `high`.
    pub reasoning_effort: Option<String>,
    /// Number of tokens for thinking.
    pub thinking_budget: Option<u64>,
    /// Schema of the reply.
    pub json_schema: Option<JsonSchema>,
    /// Whether the reply must be a JSON object, for servers that do not take a schema.
    pub is_json_object: bool,
    /// Whether vectors of the messages are asked for instead of a reply to them.
    pub is_embedding: bool,
}

/// Distance between the first samples of two repeats: more than the equal requests of any evaluation, whose replies may be
/// asked for again.
const SAMPLES_OF_REPEAT: u32 = 1_000_000;

/// Returns the number of the first sample of a repeat of an evaluation, which is counted from 0. No two repeats have a sample
/// in common, so each has recordings of its own.
pub const fn first_sample(repeat: u32) -> u32 {
    repeat.saturating_mul(SAMPLES_OF_REPEAT)
}

/// Interface of model servers to which a request can be passed as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI's chat completions.
    ChatCompletions,
    /// OpenAI's responses.
    Responses,
    /// OpenAI's embeddings.
    Embeddings,
    /// Anthropic's messages.
    Messages,
}

impl Api {
    /// Path behind the base URL of the servers that have it.
    pub fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/chat/completions",
            Self::Responses => "/responses",
            Self::Embeddings => "/embeddings",
            Self::Messages => "/messages",
        }
    }

    /// Key of an answer under which the list of its results is.
    pub(crate) fn results(self) -> &'static str {
        match self {
            Self::ChatCompletions => "choices",
            Self::Responses => "output",
            Self::Embeddings => "data",
            Self::Messages => "content",
        }
    }
}

/// A request of a program, which is sent as it is, apart from the name of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Forwarded {
    /// Interface.
    pub api: Api,
    /// Body without `model`.
    pub body: Map<String, Value>,
}

/// One question to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Messages in order.
    pub messages: Messages,
    /// Parameters.
    pub params: Params,
    /// Request of a program that is sent instead of messages and parameters, which are empty then. Only endpoints that
    /// [speak](crate::Endpoint::speaks) its interface take it; the answer is the [`body`](crate::Reply::body) of the reply.
    pub forwarded: Option<Forwarded>,
    /// Number of the sample among equal requests of a run, from 0. It is not sent; each sample has its own recording. Those
    /// of a repeat of an evaluation begin at its [`first_sample`].
    pub sample: u32,
    /// Metric that asks. It is not sent; a miss in a recording shows the nearest request of the same metric.
    pub metric: Option<String>,
    /// Location for error messages, such as `response_quality, conversation c1, turn 2`.
    pub location: String,
}

impl Request {
    /// Creates a request without parameters.
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages: messages.into(), ..Self::default() }
    }

    /// Creates a request for the vectors of texts: [`Reply::vectors`](crate::Reply::vectors).
    pub fn embeddings<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut request = Self::new(texts.into_iter().map(Message::user).collect());
        request.params.is_embedding = true;
        request
    }

    /// Creates a request that is sent as a program wrote it.
    pub fn forwarded(api: Api, body: Map<String, Value>) -> Self {
        Self { forwarded: Some(Forwarded { api, body }), ..Self::default() }
    }

    /// Returns a digest that is the same for equal requests, apart from their samples.
    pub(crate) fn digest(&self) -> String {
        let forwarded = self.forwarded.as_ref().map(|it| (it.api.path(), &it.body));
        canonical_sha(&(&self.messages, format!("{:?}", self.params), forwarded))
    }

    /// Returns the instructions of all system messages, separated by an empty line, or `None`.
    pub fn system(&self) -> Option<String> {
        let texts = self.messages.iter().filter(|message| message.role.is_instruction());
        let texts: Vec<&str> = texts.map(|message| &*message.content).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Checks that all messages are text, for providers that take nothing else.
    ///
    /// # Errors
    ///
    /// A message has an image or audio.
    pub(crate) fn check_text(&self) -> Result<(), ModelError> {
        if self.messages.iter().all(|message| message.parts.is_empty()) {
            return Ok(());
        }
        let text =
            "images and audio are sent to OpenAI-compatible servers only; choose such a model";
        Err(ModelError::new(ErrorKind::Config, text))
    }

    /// Returns the messages of the user and the model.
    pub fn dialogue(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| !message.role.is_instruction())
    }
}

/// Returns the SHA-256 of a text in hexadecimal digits.
pub(crate) fn sha(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}

/// Returns the SHA-256 of the canonical JSON (RFC 8785) of a value.
pub(crate) fn canonical_sha(value: &impl Serialize) -> String {
    sha(&canonical(value))
}

fn canonical(value: &impl Serialize) -> Vec<u8> {
    // Our values are trees with text keys; anything else would be an error of this crate.
    serde_json_canonicalizer::to_vec(value).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
