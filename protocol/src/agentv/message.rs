//! Messages, and the tool calls in them.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Content, Role};
use crate::JsonObject;

/// Declares a part of a conversation, with the times that both kinds have, and the keys that are not known.
macro_rules! timed {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($fields)*
            /// When it happened (up to 2.5).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub timestamp: Option<String>,
            /// When it began (since 2.7).
            #[serde(default, alias = "startTime", skip_serializing_if = "Option::is_none")]
            pub start_time: Option<String>,
            /// When it ended (since 2.7).
            #[serde(default, alias = "endTime", skip_serializing_if = "Option::is_none")]
            pub end_time: Option<String>,
            /// How long it took, in milliseconds (since 2.7).
            #[serde(default, alias = "durationMs", skip_serializing_if = "Option::is_none")]
            pub duration_ms: Option<f64>,
            /// All other keys.
            #[serde(flatten)]
            pub other: JsonObject,
        }
    };
}

timed! {
    /// A message of a conversation.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub struct Message {
        /// Who speaks.
        pub role: Role,
        /// What is said; `None` in messages that only call tools.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub content: Option<Content>,
        /// The tool calls, with their results.
        #[serde(
            default,
            alias = "toolCalls",
            deserialize_with = "or_default",
            skip_serializing_if = "Vec::is_empty"
        )]
        pub tool_calls: Vec<ToolCall>,
        /// Name of the speaker; of the tool, in results of tools.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// Whatever its provider adds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub metadata: Option<JsonObject>,
    }
}

impl Message {
    /// A message of that role.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self { content: Some(content.into()), ..Self::silent(role) }
    }

    /// A message of that role without content.
    #[must_use]
    pub fn silent(role: Role) -> Self {
        Self {
            role,
            content: None,
            tool_calls: Vec::new(),
            name: None,
            metadata: None,
            timestamp: None,
            start_time: None,
            end_time: None,
            duration_ms: None,
            other: JsonObject::new(),
        }
    }

    /// What the agent said.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// What the user said.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// Instructions.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    /// Adds a tool call.
    #[must_use]
    pub fn tool_call(mut self, call: ToolCall) -> Self {
        self.tool_calls.push(call);
        self
    }

    /// What is said, as text; empty without content.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        self.content.as_ref().map_or(Cow::Borrowed(""), Content::text)
    }
}

timed! {
    /// A call of a tool, with its result.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub struct ToolCall {
        /// Name of the tool.
        pub tool: String,
        /// What it was given: mostly an object. AgentV has written the names in it in snake_case.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub input: Option<Value>,
        /// What it answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub output: Option<Value>,
        /// Id of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub id: Option<String>,
    }
}

impl ToolCall {
    /// A call of that tool.
    pub fn new(tool: impl Into<String>) -> Self {
        Self { tool: tool.into(), ..Self::default() }
    }

    /// Sets what it was given.
    #[must_use]
    pub fn input(mut self, input: impl Into<Value>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Sets what it answered.
    #[must_use]
    pub fn output(mut self, output: impl Into<Value>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// Sets the id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// Reads `null` as nothing.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
