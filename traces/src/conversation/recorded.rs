//! Recorded values that are parsed on first use.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use crate::json::{Value, parse_python};

/// Parses JSON text; `None` if it is not JSON or is `null`.
pub(crate) fn parse_json(text: &str) -> Option<Value> {
    parse_python(text).filter(|value| !value.is_null())
}

/// A recorded value; JSON text is parsed.
///
/// The text is parsed on first use, because tool responses are large and most of them are never used.
#[derive(Clone, Default)]
pub struct Recorded {
    /// The recorded value, if it is text.
    text: Option<Arc<str>>,
    value: OnceLock<Value>,
}

impl serde::Serialize for Recorded {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl Recorded {
    /// Returns the value; `Null` if nothing was recorded.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| match &self.text {
            Some(text) => parse_json(text).unwrap_or_else(|| Value::String(text.to_string())),
            None => Value::Null,
        })
    }

    /// Returns true if nothing was recorded.
    pub fn is_null(&self) -> bool {
        self.text.is_none() && self.value().is_null()
    }

    /// Returns true for `null`, `{}`, `""` and `[]`.
    pub(super) fn is_empty(&self) -> bool {
        let says_something = |byte: u8| !b" \t\r\n[]{}".contains(&byte);
        match &self.text {
            Some(text) if text.bytes().any(says_something) => false,
            _ => is_empty(self.value()),
        }
    }
}

/// Returns true for a value that counts as not recorded: null, `{}`, `""` and `[]`.
pub(super) fn is_empty(value: &Value) -> bool {
    value.is_empty_like() || value.as_object().is_some_and(|object| object.is_empty())
}

/// The output does not depend on whether the value has been used.
impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.debug_tuple("Recorded").field(text).finish(),
            None => f.debug_tuple("Recorded").field(self.value()).finish(),
        }
    }
}

impl From<Value> for Recorded {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self { text: Some(text.into()), value: OnceLock::new() },
            other => Self { text: None, value: other.into() },
        }
    }
}

impl From<&Value> for Recorded {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => {
                Self { text: Some(text.as_str().into()), value: OnceLock::new() }
            }
            other => Self { text: None, value: other.clone().into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_python;

    #[test]
    fn json_text_is_what_it_holds_and_other_text_is_text() {
        for (recorded, value, empty) in [
            (r#""{\"a\": [1]}""#, r#"{"a": [1]}"#, false),
            (r#""sunny""#, r#""sunny""#, false),
            (r#""null""#, r#""null""#, false),
            (r#""5""#, "5", false),
            (r#""[ {} ]""#, "[{}]", false),
            (r#"" [ ] ""#, "[]", true),
            (r#""{}""#, "{}", true),
            (r#""[}""#, r#""[}""#, false),
            (r#""""#, r#""""#, true),
            ("null", "null", true),
            ("0", "0", false),
            ("{}", "{}", true),
        ] {
            let recorded = Recorded::from(parse_python(recorded).unwrap());
            assert_eq!(recorded.is_empty(), empty, "{value}");
            assert_eq!(to_python(recorded.value()), value);
            assert_eq!(recorded.is_null(), value == "null");
        }
        assert!(Recorded::default().is_null());
    }
}
