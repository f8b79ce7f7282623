//! Reading the fields of objects, with the place of every mistake.

use std::fmt::Write;

use super::error::{EvalSetErrorKind, FieldProblem};
use crate::json::{Object, Value, camel_case};

/// A place in the document, as a chain from the inside out.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    outer: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    /// The document itself.
    pub(super) const ROOT: At<'static> = At { outer: None, step: Step::Key("") };

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { outer: Some(self), step: Step::Key(key) }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { outer: Some(self), step: Step::Index(index) }
    }

    pub(super) fn fail(&self, problem: FieldProblem) -> EvalSetErrorKind {
        let mut path = String::new();
        self.write(&mut path);
        if path.is_empty() {
            path.push_str("the document");
        }
        EvalSetErrorKind::Field { path, problem }
    }

    pub(super) fn wrong_type(&self, expected: &'static str, found: &Value) -> EvalSetErrorKind {
        self.fail(FieldProblem::WrongType { expected, found: found.kind() })
    }

    fn write(&self, path: &mut String) {
        if let Some(outer) = self.outer {
            outer.write(path);
        }
        match self.step {
            Step::Key("") => {}
            Step::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Step::Index(index) => {
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
            }
        }
    }
}

/// Which keys an object may have.
#[derive(Clone, Copy)]
pub(super) enum Keys {
    /// These, each in `snake_case` or `camelCase`.
    Only(&'static [&'static str]),
    /// Any; those that are read may be in `snake_case` or `camelCase`.
    Any,
    /// Any; those that are read are in `snake_case`.
    AnySnakeCase,
}

/// The fields of an object that have not been taken yet. A field that is `null` counts as absent.
pub(super) struct Fields<'a> {
    pub(super) at: At<'a>,
    object: Object,
    keys: Keys,
}

impl<'a> Fields<'a> {
    pub(super) fn of(value: Value, at: At<'a>, keys: Keys) -> Result<Self, EvalSetErrorKind> {
        let Value::Object(object) = value else { return Err(at.wrong_type("an object", &value)) };
        if let Keys::Only(known) = keys {
            for key in object.keys() {
                if !known.iter().any(|known| key == known || *key == camel_case(known)) {
                    return Err(at
                        .key(key)
                        .fail(FieldProblem::Unknown { meant: similar(key, known) }));
                }
            }
        }
        Ok(Self { at, object, keys })
    }

    /// Takes a field by its `snake_case` key. Where both spellings are there, the other one counts.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        let snake = self.object.swap_remove(key);
        let camel = match self.keys {
            Keys::AnySnakeCase => None,
            Keys::Any | Keys::Only(_) => self.object.swap_remove(&*camel_case(key)),
        };
        camel.or(snake).filter(|value| !value.is_null())
    }

    pub(super) fn required(&mut self, key: &str) -> Result<Value, EvalSetErrorKind> {
        self.take(key).ok_or_else(|| {
            let found =
                Some(camel_case(key).into_owned()).filter(|camel| self.object.contains_key(camel));
            self.at.key(key).fail(FieldProblem::Missing { found })
        })
    }

    pub(super) fn required_text(&mut self, key: &str) -> Result<String, EvalSetErrorKind> {
        let value = self.required(key)?;
        text(value, self.at.key(key))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, EvalSetErrorKind> {
        self.take(key).map(|value| text(value, self.at.key(key))).transpose()
    }

    /// Takes an array, empty when absent.
    pub(super) fn items(&mut self, key: &str) -> Result<Vec<Value>, EvalSetErrorKind> {
        self.take(key).map_or(Ok(Vec::new()), |value| items(value, self.at.key(key)))
    }

    /// Takes an object as it is, `null` when absent.
    pub(super) fn object(&mut self, key: &str) -> Result<Value, EvalSetErrorKind> {
        match self.take(key) {
            None => Ok(Value::Null),
            Some(value @ Value::Object(_)) => Ok(value),
            Some(other) => Err(self.at.key(key).wrong_type("an object", &other)),
        }
    }
}

pub(super) fn text(value: Value, at: At<'_>) -> Result<String, EvalSetErrorKind> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(at.wrong_type("a string", &other)),
    }
}

pub(super) fn items(value: Value, at: At<'_>) -> Result<Vec<Value>, EvalSetErrorKind> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(at.wrong_type("an array", &other)),
    }
}

/// The known key that `key` is most like, if it is much like one.
fn similar(key: &str, known: &[&str]) -> Option<String> {
    let likeness = |known: &&str| {
        strsim::jaro_winkler(key, known).max(strsim::jaro_winkler(key, &camel_case(known)))
    };
    let best = known.iter().max_by(|left, right| likeness(left).total_cmp(&likeness(right)))?;
    (likeness(best) > 0.8).then(|| (*best).to_owned())
}
