//! Keys that document themselves: what reads a key also writes its JSON Schema.
//!
//! A reader describes its keys if it is given [`Fields::describing`] instead of the fields of a mapping: every key is absent
//! then, and [`Fields::schema`] has the schemas of all that were taken.
//!
//! ```
//! use evaluator_document::{Fields, Problems, Syntax, keys};
//! use serde_json::json;
//!
//! fn read(fields: &mut Fields<'_>) -> Option<(bool, u32)> {
//!     keys! { fields;
//!         /// Whether texts are trimmed.
//!         let trim = flag() or false;
//!         /// Maximum number of words.
//!         let words! = whole(1..=9);
//!     }
//!     Some((trim.unwrap_or_default(), words?))
//! }
//!
//! let problems = Problems::new("", Syntax::Yaml);
//! let mut fields = Fields::describing(&problems);
//! read(&mut fields);
//! let trim = json!({"description": "Whether texts are trimmed.", "type": "boolean", "default": false});
//! assert_eq!(fields.schema()["properties"]["trim"], trim);
//! ```

use std::{ops::RangeInclusive, time::Duration};

use evaluator_json::Object;
use serde_json::{Value, json};

use crate::{
    Field, Fields, Node, NodeKind, Problems, Span,
    schema::{Description, one_of, or_null, text},
    size,
};

/// What the fields of no mapping are taken from.
static NOTHING: Node =
    Node { span: Span { start: 0, end: 0 }, kind: NodeKind::Mapping(Vec::new()) };

/// Takes keys from fields. Each has a row with its documentation, its name, a method of [`Key`] that reads its value, and its
/// default, which only the schema has:
///
/// | row | effect |
/// |---|---|
/// | `let trim = flag() or false;` | declares a variable of that name |
/// | `let trim! = flag();` | the same, and the absence of the key is a problem |
/// | `let trim \| trimText = flag();` | the same, with a second spelling of the key |
/// | `settings.trim = flag();` | assigns a field of that name |
/// | `settings.trim ?= flag();` | assigns it if there is a value |
/// | `trim: flag();` | checks the value only |
/// | `in words { .. }` | reads a mapping with rows of its own |
#[macro_export]
macro_rules! keys {
    (@ $fields:ident [$($text:literal)*] $key:ident $($form:tt)*) => {
        $fields.key(stringify!($key), concat!($($text),*)) $($form)*
    };
    ($fields:ident;) => {};
    ($fields:ident; $(#[doc = $text:literal])*
        let $key:ident $(| $alias:ident)? = $form:ident($($arg:tt)*) $(or $default:expr)?; $($rest:tt)*) => {
        let $key = $crate::keys!(@ $fields [$($text)*] $key
            $(.alias(stringify!($alias)))? $(.default($default))? .$form($($arg)*));
        $crate::keys!($fields; $($rest)*);
    };
    ($fields:ident; $(#[doc = $text:literal])*
        let $key:ident! $(| $alias:ident)? = $form:ident($($arg:tt)*); $($rest:tt)*) => {
        let $key = $crate::keys!(@ $fields [$($text)*] $key
            $(.alias(stringify!($alias)))? .required() .$form($($arg)*));
        $crate::keys!($fields; $($rest)*);
    };
    ($fields:ident; $(#[doc = $text:literal])*
        $key:ident: $form:ident($($arg:tt)*) $(or $default:expr)?; $($rest:tt)*) => {
        $crate::keys!(@ $fields [$($text)*] $key $(.default($default))? .$form($($arg)*));
        $crate::keys!($fields; $($rest)*);
    };
    ($fields:ident; $(#[doc = $text:literal])* in $key:ident { $($inner:tt)* } $($rest:tt)*) => {
        $crate::keys!(@ $fields [$($text)*] $key .mapping("", |$fields| { $crate::keys!($fields; $($inner)*); }));
        $crate::keys!($fields; $($rest)*);
    };
    ($fields:ident; $(#[doc = $text:literal])*
        $owner:ident.$key:ident = $form:ident($($arg:tt)*) $(or $default:expr)?; $($rest:tt)*) => {
        $owner.$key = $crate::keys!(@ $fields [$($text)*] $key $(.default($default))? .$form($($arg)*));
        $crate::keys!($fields; $($rest)*);
    };
    ($fields:ident; $(#[doc = $text:literal])*
        $owner:ident.$key:ident ?= $form:ident($($arg:tt)*) $(or $default:expr)?; $($rest:tt)*) => {
        if let Some(value) = $crate::keys!(@ $fields [$($text)*] $key $(.default($default))? .$form($($arg)*)) {
            $owner.$key = value.into();
        }
        $crate::keys!($fields; $($rest)*);
    };
}

/// A key with its documentation, which is taken when its value is read.
#[derive(Debug)]
#[must_use]
pub struct Key<'f, 'n> {
    fields: &'f mut Fields<'n>,
    name: &'static str,
    alias: Option<&'static str>,
    text: &'static str,
    default: Value,
    is_required: bool,
    null_is_absent: bool,
}

impl<'n> Fields<'n> {
    /// Returns fields of no mapping, which note the schema of each [`Key`] that is taken.
    pub fn describing(problems: &'n Problems<'n>) -> Self {
        let mut fields = Self::new(String::new(), &NOTHING, problems);
        fields.description = Some(Description::default());
        fields
    }

    /// Sets members of the JSON Schema that follow from no key, such as its title.
    pub fn describe(&mut self, members: Value) {
        if let (Some(description), Value::Object(members)) = (&mut self.description, members) {
            description.members.extend(members);
        }
    }

    /// Returns the JSON Schema of mappings whose keys were taken from [`describing`](Self::describing) fields.
    pub fn schema(self) -> Value {
        self.description.unwrap_or_default().schema()
    }

    /// Returns true if the keys are described instead of read.
    pub fn is_describing(&self) -> bool {
        self.description.is_some()
    }

    /// Returns the schema of the mappings that `read` reads; `null` if nothing is described.
    pub fn schema_of<T>(&self, read: impl FnOnce(&mut Self) -> T) -> Value {
        if self.description.is_none() {
            return Value::Null;
        }
        let mut fields = Self::describing(self.problems());
        read(&mut fields);
        fields.schema()
    }

    /// Returns the key of that name. `text` is its documentation.
    pub fn key(&mut self, name: &'static str, text: &'static str) -> Key<'_, 'n> {
        let (alias, default, null_is_absent) = (None, Value::Null, self.null_is_absent);
        Key { fields: self, name, alias, text, default, is_required: false, null_is_absent }
    }
}

impl<'n> Key<'_, 'n> {
    /// Sets the second spelling.
    pub fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// Sets the documented default.
    pub fn default(self, default: impl Into<Value>) -> Self {
        Self { default: default.into(), ..self }
    }

    /// Treats the key as absent if it has no value.
    pub fn null_is_absent(self) -> Self {
        Self { null_is_absent: true, ..self }
    }

    /// Makes the absence of the key a problem.
    pub fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Takes the key, whose values `schema` describes.
    pub fn field(self, mut schema: Value) -> Option<Field<'n>> {
        let is_refused = self.fields.has_taken(self.name);
        if let (false, Some(description)) = (is_refused, &mut self.fields.description) {
            if self.null_is_absent {
                or_null(&mut schema);
            }
            if !self.text.is_empty() {
                schema["description"] = self.text.trim().into();
            }
            if !self.default.is_null() {
                schema["default"] = self.default;
            }
            description.keys.insert(self.name.to_owned(), schema);
        }
        let field = match self.alias {
            Some(alias) => self.fields.take_either(self.name, alias),
            None => self.fields.take(self.name),
        };
        let field = field.filter(|field| !(self.null_is_absent && field.node.is_null()));
        if field.is_none() && self.is_required {
            self.fields.missing(self.name);
        }
        field
    }

    /// Takes the key and converts its value, which `schema` describes.
    pub fn read<T>(self, schema: Value, read: impl FnOnce(Field<'n>) -> Option<T>) -> Option<T> {
        self.field(schema).and_then(read)
    }

    /// Reads a mapping that has the keys that `read` takes and no others. `hint` says what to write instead of another value.
    pub fn mapping<T>(self, hint: &str, read: impl FnOnce(&mut Fields<'n>) -> T) -> Option<T> {
        if self.fields.description.is_some() {
            let schema = self.fields.schema_of(read);
            self.field(schema);
            return None;
        }
        let field = self.field(Value::Null)?;
        if !field.is_mapping() && !hint.is_empty() {
            return field.expected("a mapping").hint(hint).none();
        }
        field.entries()?;
        let mut fields = Fields::new(format!("`{}`", field.key), field.node, field.problems);
        let value = read(&mut fields);
        fields.finish();
        Some(value)
    }

    /// Reads text that is not empty.
    pub fn text(self) -> Option<&'n str> {
        self.read(text(), |field| field.text())
    }

    /// Reads text that has more than whitespace.
    pub fn sentence(self) -> Option<String> {
        self.read(text(), |field| field.sentence())
    }

    /// Reads one of these words.
    pub fn choice<T: Clone>(self, choices: &[(&'static str, T)]) -> Option<T> {
        self.read(one_of(choices), |field| field.choice(choices))
    }

    /// Reads a truth value.
    pub fn flag(self) -> Option<bool> {
        self.read(json!({"type": "boolean"}), |field| field.flag())
    }

    /// Reads a number in `0..=1`.
    pub fn fraction(self) -> Option<f64> {
        let schema = json!({"type": "number", "minimum": 0, "maximum": 1});
        self.read(schema, |field| field.fraction())
    }

    /// Reads a finite number that is at least 0.
    pub fn non_negative(self) -> Option<f64> {
        self.read(json!({"type": "number", "minimum": 0}), |field| field.non_negative())
    }

    /// Reads a whole number in a range.
    pub fn whole(self, range: RangeInclusive<u32>) -> Option<u32> {
        let mut schema = json!({"type": "integer", "minimum": range.start()});
        if *range.end() < u32::MAX {
            schema["maximum"] = json!(range.end());
        }
        self.read(schema, |field| field.whole(range))
    }

    /// Reads a whole number from `least` to 10^9; `what` describes it, and `example` is one.
    pub fn at_least(self, least: u32, what: &str, example: &str) -> Option<u64> {
        let schema = json!({"type": "integer", "minimum": least});
        self.read(schema, |field| field.at_least(least, what, example))
    }

    /// Reads a whole, positive number of seconds.
    pub fn seconds(self) -> Option<Duration> {
        self.read(json!({"type": "integer", "minimum": 1}), |field| field.seconds())
    }

    /// Reads a size of at least `min` bytes.
    pub fn size(self, min: u64) -> Option<u64> {
        self.read(size::schema(min), |field| field.size(min))
    }

    /// Reads a mapping with text keys.
    pub fn object(self) -> Option<Object> {
        self.read(json!({"type": "object"}), |field| field.object())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Read {
        limit: u64,
        name: Option<String>,
        word: Option<u8>,
    }

    fn read(fields: &mut Fields<'_>) -> Read {
        let mut read = Read { limit: 7, ..Read::default() };
        keys! { fields;
            let size! | byteSize = size(2);
            in words {
                /// A word
                /// of several.
                read.word = choice(&[("one", 1), ("two", 2)]) or "one";
            }
        }
        fields.null_is_absent();
        keys! { fields;
            read.limit ?= size(1) or read.limit;
            read.name ?= sentence();
            plain: flag();
        }
        read.limit += size.unwrap_or_default();
        read
    }

    fn parse(text: &str) -> Result<Read, String> {
        let parsed = crate::parse(text, Path::new("a.yaml"), |root, problems| {
            let mut fields = root?.field("", problems).fields("the file")?;
            let read = read(&mut fields);
            fields.finish();
            Some(read)
        });
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn rows_read_keys() {
        let (name, word) = (Some("x".to_owned()), Some(2));
        let all = "{byteSize: 3, words: {word: two}, limit: 1kB, name: x, plain: yes}";
        assert_eq!(parse(all), Ok(Read { limit: 1003, name, word }));
        assert_eq!(
            parse("{size: 3, limit: , name: , plain: }"),
            Ok(Read { limit: 10, ..Read::default() })
        );
        for (text, problem) in [
            ("{}", "a.yaml:1:1: the key `size` is missing in the file"),
            ("{size: 3, words: }", "a.yaml:1:16: `words` must be a mapping, not nothing"),
            (
                "{size: 3, words: {wort: one}}",
                "a.yaml:1:19: unknown key `wort` in `words` (did you mean `word`?)",
            ),
            ("{size: 3, plain: 7}", "a.yaml:1:18: `plain` must be true or false, not a number"),
            (
                "{size: 3, other: 7}",
                "a.yaml:1:11: unknown key `other` in the file (known keys: size, words, limit, name, plain)",
            ),
        ] {
            assert_eq!(parse(text), Err(problem.to_owned()));
        }
    }

    #[test]
    fn rows_describe_keys() {
        let problems = Problems::new("", crate::Syntax::Yaml);
        let mut fields = Fields::describing(&problems);
        read(&mut fields);
        fields.describe(json!({"title": "A file"}));
        let word =
            json!({"description": "A word of several.", "enum": ["one", "two"], "default": "one"});
        let keys = json!({
            "size": size::schema(2),
            "words": {"type": "object", "properties": {"word": word}, "additionalProperties": false},
            "limit": {"anyOf": [size::schema(1), {"type": "null"}], "default": 7},
            "name": {"type": ["string", "null"], "minLength": 1},
            "plain": {"type": ["boolean", "null"]},
        });
        let schema = json!({
            "title": "A file", "type": "object", "properties": keys, "required": ["size"],
            "additionalProperties": false,
        });
        assert_eq!(fields.schema(), schema);
    }
}
