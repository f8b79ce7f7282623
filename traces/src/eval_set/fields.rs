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

/// The fields of an object that have not been taken yet. A field that is `null` counts as absent.
pub(super) struct Fields<'a> {
    pub(super) at: At<'a>,
    object: Object,
    camel_case: bool,
}

impl<'a> Fields<'a> {
    /// Fields whose keys may be in `snake_case` or `camelCase`.
    pub(super) fn of(value: Value, at: At<'a>) -> Result<Self, EvalSetErrorKind> {
        let Value::Object(object) = value else { return Err(at.wrong_type("an object", &value)) };
        Ok(Self { at, object, camel_case: true })
    }

    /// Fields whose keys are in `snake_case`.
    pub(super) fn of_snake_case(value: Value, at: At<'a>) -> Result<Self, EvalSetErrorKind> {
        Ok(Self { camel_case: false, ..Self::of(value, at)? })
    }

    /// Takes a field by its `snake_case` key. Where both spellings are there, the other one counts.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        let snake = self.object.swap_remove(key);
        let camel = match self.camel_case {
            true => self.object.swap_remove(&*camel_case(key)),
            false => None,
        };
        camel.or(snake).filter(|value| !value.is_null())
    }

    pub(super) fn required(&mut self, key: &str) -> Result<Value, EvalSetErrorKind> {
        let value = self.take(key);
        value.ok_or_else(|| self.at.key(key).fail(FieldProblem::Missing { found: None }))
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
