//! What a target answers, in the spellings of all generations.

use evaluator_protocol::agentv::{Message, TokenUsage};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    body::{decode, object},
    error::{TargetError, excerpt},
};

/// What a target answered.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// Its last text; `None` when it said none.
    pub raw_text: Option<String>,
    /// All it said and did, in order.
    pub output: Vec<Message>,
    /// What it cost; `None` where the host does not tell, as the oldest ones do not.
    pub token_usage: Option<TokenUsage>,
}

impl Reply {
    /// A reply with this text, for tests.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let message = Message::assistant(text.as_str());
        Self { raw_text: Some(text), output: vec![message], token_usage: None }
    }

    /// The text, or an error where there is none.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unreadable`]: the target said no text.
    pub fn text(&self) -> Result<&str, TargetError> {
        self.raw_text.as_deref().ok_or_else(|| self.unreadable("it has no text".to_owned()))
    }

    pub(super) fn unreadable(&self, reason: String) -> TargetError {
        let excerpt = excerpt(self.raw_text.as_deref().unwrap_or_default());
        TargetError::Unreadable { reason, excerpt }
    }

    /// The JSON object in the text: what stands between its first `{` and its last `}`, with or without a code fence or
    /// words around it.
    ///
    /// ```
    /// use evaluator_sdk::target::Reply;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Verdict { relevant: bool }
    ///
    /// let reply = Reply::new("Sure:\n```json\n{\"relevant\": true}\n```");
    /// assert!(reply.json::<Verdict>()?.relevant);
    /// # Ok::<(), evaluator_sdk::target::TargetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TargetError::Unreadable`]: there is no text, no object in it, or not such a one.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, TargetError> {
        let text = self.text()?;
        let object = match (text.find('{'), text.rfind('}')) {
            (Some(start), Some(end)) if start < end => &text[start..=end],
            _ => return Err(self.unreadable("there is no JSON object".to_owned())),
        };
        serde_json::from_str(object).map_err(|error| self.unreadable(error.to_string()))
    }

    /// Reads one reply, whose text may say that there is none.
    fn read(value: Value) -> Result<Self, TargetError> {
        let sent: SentReply = object(value).map_err(|error| {
            TargetError::protocol(format!("a reply that cannot be read: {error}"))
        })?;
        let Some(output) = sent.output.or(sent.output_messages) else {
            return Err(TargetError::protocol("a reply without `output`"));
        };
        Self { raw_text: sent.raw_text, output, token_usage: sent.token_usage }.checked()
    }

    /// An error where the text says that there is one, which is how items of batches fail, and models since AgentV 5.
    pub(super) fn checked(self) -> Result<Self, TargetError> {
        match self.raw_text.as_deref().and_then(|text| text.strip_prefix("Error: ")) {
            Some(error) => Err(TargetError::of_reply(error)),
            None => Ok(self),
        }
    }
}

/// The reply to one request.
pub(super) fn reply(body: &[u8]) -> Result<Reply, TargetError> {
    Reply::read(decode(body)?)
}

/// The replies to a batch, as many as there were requests.
pub(super) fn replies(
    body: &[u8],
    expected: usize,
) -> Result<Vec<Result<Reply, TargetError>>, TargetError> {
    #[derive(Deserialize)]
    struct Batch {
        responses: Vec<Value>,
    }
    let Batch { responses } = decode(body)?;
    if responses.len() != expected {
        // Which belongs to which is not known any more.
        let reason = format!("{} replies to a batch of {expected}", responses.len());
        return Err(TargetError::protocol(reason));
    }
    Ok(responses.into_iter().map(Reply::read).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentReply {
    /// The name since AgentV 2.7.
    output: Option<Vec<Message>>,
    /// The name before.
    output_messages: Option<Vec<Message>>,
    raw_text: Option<String>,
    token_usage: Option<TokenUsage>,
}
