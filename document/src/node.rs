//! The tree.

use crate::json::{Object, Value};

/// A range of the text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) kind: NodeKind,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    /// A scalar, resolved.
    Scalar(Value),
    Sequence(Vec<Node>),
    /// Keys and values in order, merge keys applied, keys unique.
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// What a person calls this kind of value.
    pub(crate) fn noun(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(Value::Null) => "nothing",
            NodeKind::Scalar(Value::Bool(_)) => "a boolean",
            NodeKind::Scalar(Value::Int(_) | Value::BigInt(_) | Value::Float(_)) => "a number",
            NodeKind::Scalar(_) => "text",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Mapping(_) => "a mapping",
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.kind, NodeKind::Scalar(Value::Null))
    }

    /// The value without its places.
    ///
    /// # Errors
    ///
    /// The place of a key that is not text: JSON objects have no others.
    pub(crate) fn to_json(&self) -> Result<Value, Span> {
        Ok(match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::Sequence(items) => {
                Value::Array(items.iter().map(Self::to_json).collect::<Result<_, _>>()?)
            }
            NodeKind::Mapping(entries) => Value::Object(object(entries)?),
        })
    }
}

/// The entries as a JSON object.
pub(crate) fn object(entries: &[(Node, Node)]) -> Result<Object, Span> {
    entries
        .iter()
        .map(|(key, value)| Ok((key.as_str().ok_or(key.span)?.to_owned(), value.to_json()?)))
        .collect()
}
