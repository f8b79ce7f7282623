//! The canonical attributes of a span.

use std::borrow::Cow;

use crate::json::{Object, Value, parse_int, scalar_text};

/// Attributes under their canonical names: those the span recorded, and those found elsewhere where it recorded none.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    recorded: &'a Object,
    /// Filled attributes, which hide recorded ones. There are few, so a list is faster than a map.
    filled: Vec<Filled<'a>>,
}

#[derive(Debug)]
struct Filled<'a> {
    key: &'static str,
    value: Cow<'a, Value>,
    /// What was recorded: the name of an attribute or event.
    source: &'static str,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(recorded: &'a Object) -> Self {
        Self { recorded, filled: Vec::new() }
    }

    /// Returns the value, which is never null.
    pub(crate) fn get(&self, key: &'static str) -> Option<&Value> {
        self.filled
            .iter()
            .find(|filled| filled.key == key)
            .map(|filled| filled.value.as_ref())
            .or_else(|| self.recorded.get(key))
            .filter(|value| !value.is_null())
    }

    /// Returns the name of the attribute or event from which the value of `key` comes.
    pub(crate) fn source(&self, key: &'static str) -> &'static str {
        self.filled.iter().find(|filled| filled.key == key).map_or(key, |filled| filled.source)
    }

    /// Returns true if a source may still fill this attribute: it is absent, null, `""` or `[]`.
    pub(super) fn is_missing(&self, key: &'static str) -> bool {
        self.get(key).is_none_or(Value::is_empty_like)
    }

    /// Fills an attribute that is missing. An empty text fills it, too, since it may be the arguments or the result of a tool,
    /// but later sources can replace it.
    pub(super) fn fill(&mut self, key: &'static str, value: Cow<'a, Value>, source: &'static str) {
        let is_empty_text = value.as_str() == Some("");
        if (is_empty_text || !value.is_empty_like()) && self.is_missing(key) {
            self.filled.retain(|filled| filled.key != key);
            self.filled.push(Filled { key, value, source });
        }
    }

    /// Replaces the value of an attribute by what it wraps.
    pub(super) fn replace(&mut self, key: &'static str, value: Value, source: &'static str) {
        self.filled.retain(|filled| filled.key != key);
        self.filled.push(Filled { key, value: Cow::Owned(value), source });
    }

    /// Removes an attribute.
    pub(super) fn remove(&mut self, key: &'static str) {
        self.filled.retain(|filled| filled.key != key);
        self.filled.push(Filled { key, value: Cow::Owned(Value::Null), source: key });
    }

    /// Returns the text of a string, a boolean or a number; `None` for structures.
    pub(crate) fn text(&self, key: &'static str) -> Option<String> {
        self.get(key).and_then(scalar_text)
    }

    /// Returns [`Attributes::text`], unless it is empty.
    pub(crate) fn nonempty_text(&self, key: &'static str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// Returns an integer, a float without a fraction, or the text of an integer.
    ///
    /// # Errors
    ///
    /// The integer does not fit 64 bits.
    pub(crate) fn int(&self, key: &'static str) -> Result<Option<i64>, TooLarge> {
        let int = match self.get(key) {
            Some(int @ Value::Int(_)) => int.clone(),
            Some(big @ Value::BigInt(_)) => big.clone(),
            Some(Value::Float(float)) if float.fract() == 0.0 => {
                // Every float of this size is an integer, so its text has no fraction and no exponent.
                Value::from_digits(&format!("{float:.0}")).unwrap_or_default()
            }
            Some(Value::String(text)) => parse_int(text).unwrap_or_default(),
            _ => Value::Null,
        };
        match int {
            Value::Int(int) => Ok(Some(int)),
            Value::BigInt(_) => Err(TooLarge { key }),
            _ => Ok(None),
        }
    }
}

/// A count that does not fit 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLarge {
    /// The attribute.
    pub(crate) key: &'static str,
}
