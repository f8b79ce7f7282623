//! What is said in messages: text, blocks, or any JSON.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::JsonObject;

/// What is said in a message.
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
    /// The content as text: the text of a text, the texts of blocks, one per line, or JSON with an indentation of two.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Blocks(blocks) => {
                let mut texts = blocks.iter().filter_map(Block::as_text);
                match (texts.next(), texts.next()) {
                    (None, _) => Cow::Borrowed(""),
                    (Some(only), None) => Cow::Borrowed(only),
                    (Some(first), Some(second)) => {
                        let all: Vec<&str> = [first, second].into_iter().chain(texts).collect();
                        Cow::Owned(all.join("\n"))
                    }
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
                // What cannot be read as blocks is JSON that looks like it.
                match items.iter().map(Block::deserialize).collect() {
                    Ok(blocks) => Self::Blocks(blocks),
                    Err(_) => Self::Json(Value::Array(items)),
                }
            }
            other => Self::Json(other),
        }
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Blocks(blocks) => blocks.serialize(serializer),
            Self::Json(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

/// A part of a content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Block {
    /// `text`, `file`, `image`, or something newer.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text of a text, where the host made it; what is in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The text of a text, where somebody wrote it; the file as it is named there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where a file or an image is. Images are removed when the judge has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where a file is, as an absolute path.
    #[serde(default, alias = "resolvedPath", skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<String>,
    /// Media type of an image.
    #[serde(default, alias = "mediaType", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// All other keys.
    #[serde(flatten)]
    pub other: JsonObject,
}

impl Block {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            kind: "text".to_owned(),
            text: Some(text.into()),
            value: None,
            path: None,
            resolved_path: None,
            media_type: None,
            other: JsonObject::new(),
        }
    }

    /// What is said in it; `None` for files, images and blocks without text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self.kind.as_str() {
            "text" => self.text.as_deref().or(self.value.as_deref()),
            "file" | "image" => None,
            _ => self.text.as_deref(),
        }
    }

    /// Whether it is a text and nothing else.
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
        // An answer that is an array of objects with a `type` of their own.
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
}
