//! The tree: values with their byte ranges.

use evaluator_json::{Object, Value};

/// Byte range in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Position in the text.
    pub span: Span,
    /// Value.
    pub kind: NodeKind,
}

/// A value whose items have positions.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A scalar, resolved.
    Scalar(Value),
    /// Items in order.
    Sequence(Vec<Node>),
    /// Keys and values in order, merge keys applied, keys unique.
    Mapping(Vec<(Node, Node)>),
}

impl Span {
    /// Returns the first byte of the span. Underlining a whole mapping would not help to find a key that is missing in it.
    #[must_use]
    pub fn start(self) -> Self {
        Self { start: self.start, end: self.start.saturating_add(1) }
    }
}

impl Node {
    /// Returns the text of a string, `None` for every other value.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let NodeKind::Mapping(entries) = &self.kind else { return None };
        entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    /// Returns true if the value is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, NodeKind::Scalar(Value::Null))
    }

    /// Returns the name of the value's type in YAML, with its article.
    pub fn noun(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(Value::Null) => "nothing",
            NodeKind::Scalar(Value::Bool(_)) => "a boolean",
            NodeKind::Scalar(Value::Int(_) | Value::BigInt(_) | Value::Float(_)) => "a number",
            NodeKind::Scalar(_) => "text",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Mapping(_) => "a mapping",
        }
    }

    /// Converts the value to JSON.
    ///
    /// # Errors
    ///
    /// The position of a key that is not text: JSON objects have no others.
    pub fn to_json(&self) -> Result<Value, Span> {
        Ok(match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::Sequence(items) => {
                Value::Array(items.iter().map(Self::to_json).collect::<Result<_, _>>()?)
            }
            NodeKind::Mapping(entries) => Value::Object(object(entries)?),
        })
    }
}

impl From<&Value> for Node {
    /// Converts a JSON value to a tree without positions.
    fn from(value: &Value) -> Self {
        let kind = match value {
            Value::Array(items) => NodeKind::Sequence(items.iter().map(Self::from).collect()),
            Value::Object(object) => {
                let text = |key: &String| Self::from(&Value::String(key.clone()));
                NodeKind::Mapping(object.iter().map(|(k, v)| (text(k), v.into())).collect())
            }
            scalar => NodeKind::Scalar(scalar.clone()),
        };
        Self { span: Span::default(), kind }
    }
}

/// Converts the entries of a mapping to a JSON object.
pub(crate) fn object(entries: &[(Node, Node)]) -> Result<Object, Span> {
    entries
        .iter()
        .map(|(key, value)| Ok((key.as_str().ok_or(key.span)?.to_owned(), value.to_json()?)))
        .collect()
}
