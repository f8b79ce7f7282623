//! The canonical attributes of a span.

use std::borrow::Cow;

use crate::{
    json::{Object, Value},
    python_text::{parse_int, scalar_text},
};

/// Attributes under their canonical names: those the span recorded, and those found elsewhere where it recorded none.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    recorded: &'a Object,
    /// What was filled in; it hides what was recorded. A handful at most, so a list is quicker than a map.
    filled: Vec<(&'static str, Cow<'a, Value>)>,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(recorded: &'a Object) -> Self {
        Self { recorded, filled: Vec::new() }
    }

    /// The value; never null.
    pub(crate) fn get(&self, key: &'static str) -> Option<&Value> {
        self.filled
            .iter()
            .find(|(filled, _)| *filled == key)
            .map(|(_, value)| value.as_ref())
            .or_else(|| self.recorded.get(key))
            .filter(|value| !value.is_null())
    }

    /// Whether a source may still fill this attribute: absent, null, `""` and `[]` say nothing.
    pub(super) fn is_missing(&self, key: &'static str) -> bool {
        self.get(key).is_none_or(Value::is_empty_like)
    }

    /// Fills an attribute that is missing. What is there already stays.
    pub(super) fn fill(&mut self, key: &'static str, value: Cow<'a, Value>) {
        if !value.is_empty_like() && self.is_missing(key) {
            self.filled.push((key, value));
        }
    }

    /// Removes an attribute.
    pub(super) fn remove(&mut self, key: &'static str) {
        self.filled.retain(|(filled, _)| *filled != key);
        self.filled.push((key, Cow::Owned(Value::Null)));
    }

    /// The text of a string, a boolean or a number; `None` for structures.
    pub(crate) fn text(&self, key: &'static str) -> Option<String> {
        self.get(key).and_then(scalar_text)
    }

    /// As [`Attributes::text`], without the empty text.
    pub(crate) fn nonempty_text(&self, key: &'static str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// An integer, a float without a fraction, or the text of an integer. One that does not fit counts as not recorded.
    pub(crate) fn int(&self, key: &'static str) -> Option<i64> {
        match self.get(key)? {
            Value::Int(int) => Some(*int),
            // Floats from 2^63 on do not fit; 2^63 itself is a float, so the bounds are exact.
            Value::Float(float)
                if float.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(float) =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
                Some(*float as i64)
            }
            Value::String(text) => match parse_int(text)? {
                Value::Int(int) => Some(int),
                _ => None,
            },
            _ => None,
        }
    }
}
