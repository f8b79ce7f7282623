//! Messages of a conversation, their contents and tool calls.

use std::borrow::Cow;

use serde_core::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{
    JsonObject,
    object::{builder, object, open_enum, untagged},
};

object! {
    /// A message of a conversation.
    pub struct Message: sparse {
        /// Role of the speaker.
        role: Role = required(Role::User),
        /// Content; `None` in messages that only call tools.
        content: Option<Content>,
        /// The tool calls, with their results.
        tool_calls | "toolCalls": Vec<ToolCall> = optional,
        /// Name of the speaker; of the tool, in results of tools.
        name: Option<String>,
        /// Additions of the provider.
        metadata: Option<JsonObject>,
        /// Time of the message (up to 2.5).
        timestamp: Option<String>,
        /// Start time (since 2.7).
        start_time | "startTime": Option<String>,
        /// End time (since 2.7).
        end_time | "endTime": Option<String>,
        /// Duration, in milliseconds (since 2.7).
        duration_ms | "durationMs": Option<f64>,
    } other
}

impl Message {
    /// Creates a message of that role.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self { content: Some(content.into()), ..Self::silent(role) }
    }

    /// Creates a message of that role without content.
    pub fn silent(role: Role) -> Self {
        Self { role, ..Self::blank() }
    }

    /// Creates a message of the agent.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// Creates a message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates instructions.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    builder! {
        /// Adds a tool call.
        fn tool_call(self, call: ToolCall) { self.tool_calls.push(call); }
    }

    /// Returns the content as text; empty without content.
    pub fn text(&self) -> Cow<'_, str> {
        self.content.as_ref().map_or(Cow::Borrowed(""), Content::text)
    }
}

object! {
    /// A tool call, with its result.
    #[derive(Default)]
    pub struct ToolCall: sparse {
        /// Name of the tool.
        tool: String = required,
        /// Arguments, usually an object. AgentV writes the names in it in snake_case.
        input: Option<Value>,
        /// Result.
        output: Option<Value>,
        /// Id of the call.
        id: Option<String>,
        /// Time of the call (up to 2.5).
        timestamp: Option<String>,
        /// Start time (since 2.7).
        start_time | "startTime": Option<String>,
        /// End time (since 2.7).
        end_time | "endTime": Option<String>,
        /// Duration, in milliseconds (since 2.7).
        duration_ms | "durationMs": Option<f64>,
    } other
}

impl ToolCall {
    /// Creates a call of that tool.
    pub fn new(tool: impl Into<String>) -> Self {
        Self { tool: tool.into(), ..Self::default() }
    }

    builder! {
        /// Sets the arguments.
        fn input(self, input: impl Into<Value>) { self.input = Some(input.into()); }

        /// Sets the result.
        fn output(self, output: impl Into<Value>) { self.output = Some(output.into()); }

        /// Sets the id.
        fn id(self, id: impl Into<String>) { self.id = Some(id.into()); }
    }
}

/// Content of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(String),
    /// Text, files and images: an array of objects with a `type`, at least one of which is `text`, `file` or `image`.
    Blocks(Vec<Block>),
    /// Any other JSON.
    Json(Value),
}

impl Content {
    /// Returns the content as text: the text, the texts of blocks, one per line, or JSON with an indentation of two.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Blocks(blocks) => {
                let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
                match texts[..] {
                    [] => Cow::Borrowed(""),
                    [only] => Cow::Borrowed(only),
                    _ => Cow::Owned(texts.join("\n")),
                }
            }
            // `{:#}` writes a value with indentation.
            Self::Json(value) => Cow::Owned(format!("{value:#}")),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Self {
        Self::Blocks(blocks)
    }
}

impl From<Value> for Content {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            Value::Array(items) if items.is_empty() => Self::Blocks(Vec::new()),
            Value::Array(items) if items.iter().any(Block::is_known) => {
                // Values that are not valid blocks are JSON.
                match items.iter().map(Block::deserialize).collect() {
                    Ok(blocks) => Self::Blocks(blocks),
                    Err(_) => Self::Json(Value::Array(items)),
                }
            }
            other => Self::Json(other),
        }
    }
}

untagged!(Content { Text, Blocks, Json });

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

object! {
    /// A block of a content.
    pub struct Block: sparse {
        /// `text`, `file`, `image`, or a kind of a later version.
        kind as "type": String = required,
        /// Text of a text block that the host created; content of a file.
        text: Option<String>,
        /// Text of a text block as it was authored; name of a file as it was authored.
        value: Option<String>,
        /// Path of a file or an image. The host removes images after the judge exits.
        path: Option<String>,
        /// Absolute path of a file.
        resolved_path | "resolvedPath": Option<String>,
        /// Media type of an image.
        media_type | "mediaType": Option<String>,
    } other
}

impl Block {
    /// Creates a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { kind: "text".to_owned(), text: Some(text.into()), ..Self::blank() }
    }

    /// Returns the text of the block; `None` for files, images and blocks without text.
    pub fn as_text(&self) -> Option<&str> {
        match self.kind.as_str() {
            "text" => self.text.as_deref().or(self.value.as_deref()),
            "file" | "image" => None,
            _ => self.text.as_deref(),
        }
    }

    /// Returns true if the block has a text and nothing else.
    pub(super) fn is_plain(&self) -> bool {
        let Self { value, path, resolved_path, media_type, other, .. } = self;
        let file = [path, resolved_path, media_type];
        let repeats = |said: &str| value.as_deref().is_none_or(|value| value == said);
        self.as_text().is_some_and(repeats)
            && file.iter().all(|it| it.is_none())
            && other.is_empty()
    }

    fn is_known(value: &Value) -> bool {
        matches!(value["type"].as_str(), Some("text" | "file" | "image"))
    }
}

object! {
    /// The result of one member of a composite evaluator, as an aggregator reads it, with keys in camelCase.
    #[derive(Default)]
    pub struct MemberResult: sparse {
        /// The member's score.
        score: f64 = required,
        /// `pass`, `borderline` or `fail`.
        verdict: Option<String>,
        /// Positive findings.
        hits: Vec<String> = nullable,
        /// Negative findings.
        misses: Vec<String> = nullable,
        /// Explanation of the score.
        reasoning: Option<String>,
    } other
}

open_enum! {
    /// Role of the speaker of a message.
    Role {
        /// The agent.
        Assistant = "assistant",
        /// The user.
        User = "user",
        /// Instructions.
        System = "system",
        /// A tool, whose message is a result.
        Tool = "tool",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_has_three_forms() {
        let content = |value: Value| Content::from(value);
        assert_eq!(content(json!("a")).text(), "a");
        assert_eq!(content(json!({"answer": 42})).text(), "{\n  \"answer\": 42\n}");
        assert_eq!(content(json!(42)).text(), "42");
        assert_eq!(content(json!([1, 2])), Content::Json(json!([1, 2])));
        assert_eq!(content(json!([])).text(), "");
        // An answer that is an array of objects with a `type` of the author's own.
        let animals = json!([{"type": "dog"}, {"type": "cat"}]);
        assert_eq!(content(animals.clone()), Content::Json(animals));
        let blocks = json!([
            {"type": "text", "value": "written"},
            {"type": "file", "value": "a.txt", "path": "a.txt", "text": "content of the file", "resolvedPath": "/a.txt"},
            {"type": "image", "media_type": "image/png", "path": "/tmp/0.png"},
            {"type": "text", "text": "made"},
            {"type": "refusal", "text": "new", "level": 3},
        ]);
        let content = content(blocks);
        assert_eq!(content.text(), "written\nmade\nnew");
        let Content::Blocks(blocks) = &content else { panic!("{content:?}") };
        assert_eq!(blocks[1].resolved_path.as_deref(), Some("/a.txt"));
        assert_eq!(blocks[4].other, *json!({"level": 3}).as_object().unwrap());
    }

    #[test]
    fn what_only_looks_like_blocks_is_json() {
        let odd = json!([{"type": "text", "text": {"not": "text"}}]);
        assert_eq!(Content::from(odd.clone()), Content::Json(odd));
        let mixed = json!([{"type": "text", "text": "a"}, 5]);
        assert_eq!(Content::from(mixed.clone()), Content::Json(mixed));
    }

    #[test]
    fn messages_keep_what_they_do_not_know() {
        let value = json!({"role": "critic", "content": {"a": 1}, "new": [1], "tool_calls": [{"tool": "t", "x": 1}]});
        let message: Message = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(message.role, Role::Other("critic".to_owned()));
        assert_eq!(serde_json::to_value(&message).unwrap(), value);
        let nulls =
            json!({"role": "assistant", "content": null, "toolCalls": null, "durationMs": 3});
        let message: Message = serde_json::from_value(nulls).unwrap();
        assert_eq!((message.content, message.tool_calls.len()), (None, 0));
        assert_eq!(message.duration_ms, Some(3.0));
    }
}
