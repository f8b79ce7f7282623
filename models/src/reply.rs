//! Replies of models, and what cannot be read in them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ErrorKind;

/// Tokens of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, those from a cache included.
    pub input: u64,
    /// Tokens of the reply, those of thinking included.
    pub output: u64,
    /// Tokens of the request that were cached.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of thinking.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Adds the tokens of another call.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }

    /// Sum of both directions.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Reason why a reply ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, derive_more::Display)]
#[serde(from = "String", rename_all = "snake_case")]
#[display(rename_all = "snake_case")]
pub enum Finish {
    /// The model was done.
    #[default]
    Stop,
    /// A limit of tokens was reached.
    Length,
    /// The server withheld the reply.
    ContentFilter,
    /// The server did not accept the text of the request.
    InputFilter,
    /// The model refused.
    Refusal,
    /// The model called a tool.
    ToolCalls,
    /// Another reason, as the server names it; empty if it names none.
    #[serde(untagged)]
    Other(String),
}

impl From<String> for Finish {
    fn from(text: String) -> Self {
        use Finish::{ContentFilter, InputFilter, Length, Refusal, Stop, ToolCalls};
        let known = [Stop, Length, ContentFilter, InputFilter, Refusal, ToolCalls];
        known.into_iter().find(|it| it.to_string() == text).unwrap_or(Self::Other(text))
    }
}

/// Final answer of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Text, without thinking.
    pub text: String,
    /// Thinking. It is never read as an answer.
    pub thinking: Option<String>,
    /// Why the reply ended.
    pub finish: Finish,
    /// Text of a refusal, or the reason why the server withheld the reply.
    pub refusal: Option<String>,
    /// Tokens, if the server counted them.
    pub usage: Option<Usage>,
    /// Model that the server reports.
    pub model_reported: Option<String>,
    /// Whole answer to a [forwarded](crate::Request::forwarded) request, whose text is empty.
    pub body: Option<Value>,
}

impl Reply {
    /// Returns the text, if it may be read as an answer.
    ///
    /// # Errors
    ///
    /// Cause why it may not: the reply was cut off, is empty, is a tool call, or did not end in a way that is known to be good.
    /// Such a reply is not read even if its beginning looks complete.
    pub fn readable(&self) -> Result<&str, String> {
        match self.finish {
            Finish::Length => Err(match self.usage {
                Some(usage) => format!(
                    "cut off at {} tokens ({} of them thinking); raise max_output_tokens",
                    usage.output, usage.reasoning
                ),
                None => "cut off; raise max_output_tokens".to_owned(),
            }),
            Finish::ToolCalls => Err("a tool call instead of text".to_owned()),
            Finish::Other(ref reason) if reason.is_empty() => {
                Err("of unknown length: the server does not say why it ended".to_owned())
            }
            Finish::Other(ref reason) => {
                Err(format!("broken: the server ended it with `{reason}`"))
            }
            _ if self.text.trim().is_empty() => Err("empty".to_owned()),
            _ => Ok(&self.text),
        }
    }

    /// Returns the vectors that an embeddings request asked for. They are the text of the reply, as JSON.
    ///
    /// # Errors
    ///
    /// The text is not a list of vectors.
    pub fn vectors(&self) -> Result<Vec<Vec<f64>>, String> {
        serde_json::from_str(&self.text).map_err(|error| format!("not a list of vectors: {error}"))
    }

    /// Returns kind and message of the error that the reply is, if the server or the model refused to answer.
    pub(crate) fn refused(&self) -> Option<(ErrorKind, String)> {
        let detail = self.refusal.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        match self.finish {
            Finish::ContentFilter => {
                Some((ErrorKind::Blocked, format!("the server withheld the reply{detail}")))
            }
            Finish::InputFilter => Some((
                ErrorKind::Blocked,
                format!("the server refused the judged text that the request contains{detail}"),
            )),
            Finish::Refusal => {
                Some((ErrorKind::Refused, format!("the model refused to answer{detail}")))
            }
            _ => None,
        }
    }

    /// Moves a leading `<think>` block of local models from the text to the thinking.
    pub(crate) fn cut_thinking(&mut self) {
        let Some(rest) = self.text.trim_start().strip_prefix("<think>") else { return };
        let (thinking, text) = rest.split_once("</think>").unwrap_or((rest, ""));
        let thinking = [self.thinking.as_deref().unwrap_or_default(), thinking].concat();
        self.text = text.trim_start().to_owned();
        self.thinking = Some(thinking);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_is_never_the_answer() {
        for (text, answer, thinking) in [
            ("<think>invalid</think>\n\nvalid", "valid", Some("invalid")),
            ("<think>never closed: valid", "", Some("never closed: valid")),
            ("valid <think>no</think>", "valid <think>no</think>", None),
        ] {
            let mut reply = Reply { text: text.to_owned(), ..Reply::default() };
            reply.cut_thinking();
            assert_eq!((&*reply.text, reply.thinking.as_deref()), (answer, thinking));
        }
    }

    #[test]
    fn a_reply_that_was_cut_off_is_unreadable_even_with_a_label() {
        let usage = Some(Usage { output: 512, reasoning: 500, ..Usage::default() });
        let reply =
            Reply { text: "valid".into(), finish: Finish::Length, usage, ..Reply::default() };
        let cause = reply.readable().unwrap_err();
        assert!(cause.starts_with("cut off at 512 tokens (500 of them thinking)"), "{cause}");
    }
}
