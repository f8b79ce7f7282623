//! The shape of eval sets, including the fields that are not read.
//!
//! Other tools reject a file with a mistake anywhere in it. A golden set that is partly understood would judge agents by
//! something that its author did not write, so the whole file is checked before anything is read.

use std::fmt::Write;

use Shape::{Any, AuthorAndParts, Bool, Bytes, IntermediateData, List, MapOf, Number, Text};

use super::model::{EvalSetErrorKind, FieldProblem};
use crate::json::{Object, Value, camel_case, parse_float};

/// The shape of a value.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Any,
    Text,
    /// A boolean, or a text or number that stands for one.
    Bool,
    /// A number or its text.
    Number,
    /// Base64.
    Bytes,
    Object,
    List(&'static Shape),
    /// An object whose values are all of this shape.
    MapOf(&'static Shape),
    Record(&'static Record),
    /// An array of an author and parts.
    AuthorAndParts,
    /// The steps between question and answer, in either of two forms.
    IntermediateData,
}

/// The shape of an object with known keys.
pub(super) struct Record {
    fields: &'static [Field],
    keys: Keys,
}

/// Spelling of the keys of an object, and whether unknown ones are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Each in `snake_case` or `camelCase`, and no others.
    Closed,
    /// Each in `snake_case` or `camelCase`, and any others.
    Open,
    /// In `snake_case`, and any others.
    OpenSnakeCase,
}

struct Field {
    key: &'static str,
    shape: Shape,
    presence: Presence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    /// May be absent, but not `null`.
    Defaulted,
    /// May be absent or `null`.
    Optional,
}

const fn required(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, presence: Presence::Required }
}

const fn defaulted(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, presence: Presence::Defaulted }
}

const fn optional(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, presence: Presence::Optional }
}

macro_rules! record {
    ($name:ident, $keys:ident, [$($presence:ident $key:literal: $shape:expr),* $(,)?]) => {
        static $name: Record = Record {
            fields: &[$($presence($key, $shape)),*],
            keys: Keys::$keys,
        };
    };
}

/// The whole document.
pub(super) static EVAL_SET: Shape = Shape::Record(&SET);

record!(SET, OpenSnakeCase, [
    required "eval_set_id": Text, optional "name": Text, optional "description": Text,
    required "eval_cases": List(&Shape::Record(&CASE)), defaulted "creation_timestamp": Number,
]);
record!(CASE, Open, [
    required "eval_id": Text, optional "conversation": List(&Shape::Record(&INVOCATION)),
    optional "conversation_scenario": Shape::Record(&SCENARIO),
    optional "session_input": Shape::Record(&SESSION), defaulted "creation_timestamp": Number,
    optional "rubrics": List(&Shape::Record(&RUBRIC)), optional "final_session_state": Shape::Object,
]);
record!(SESSION, Open, [
    required "app_name": Text, required "user_id": Text, optional "session_id": Text,
    defaulted "state": Shape::Object,
]);
record!(SCENARIO, Closed, [
    required "starting_prompt": Text, required "conversation_plan": Text, optional "user_persona": Any,
]);
record!(RUBRIC, Closed, [
    required "rubric_id": Text, required "rubric_content": Shape::Record(&RUBRIC_CONTENT),
    optional "description": Text, optional "type": Text,
]);
record!(RUBRIC_CONTENT, Closed, [optional "text_property": Text]);
record!(INVOCATION, Closed, [
    defaulted "invocation_id": Text, required "user_content": Shape::Record(&CONTENT),
    optional "final_response": Shape::Record(&CONTENT), optional "intermediate_data": IntermediateData,
    defaulted "creation_timestamp": Number, optional "duration": Number,
    optional "model_duration": Number, optional "tool_duration": Number,
    optional "rubrics": List(&Shape::Record(&RUBRIC)), optional "app_details": Shape::Record(&APP),
]);
record!(APP, Closed, [defaulted "agent_details": MapOf(&Shape::Record(&AGENT))]);
record!(AGENT, Closed, [
    required "name": Text, defaulted "instructions": Text, defaulted "tool_declarations": List(&Any),
]);
record!(CALLS, Closed, [
    defaulted "tool_uses": List(&Shape::Record(&CALL)),
    defaulted "tool_responses": List(&Shape::Record(&RESPONSE)),
    defaulted "intermediate_responses": List(&AuthorAndParts),
]);
record!(EVENTS, Closed, [defaulted "invocation_events": List(&Shape::Record(&EVENT))]);
record!(EVENT, Open, [
    required "author": Text, optional "content": Shape::Record(&CONTENT),
    optional "grounding_metadata": Shape::Object, optional "usage_metadata": Shape::Object,
    optional "model_version": Text,
]);
record!(CONTENT, Closed, [optional "parts": List(&PART), optional "role": Text]);

static PART: Shape = Shape::Record(&PART_RECORD);

record!(PART_RECORD, Closed, [
    optional "media_resolution": Shape::Object,
    optional "code_execution_result": Shape::Record(&CODE_RESULT),
    optional "executable_code": Shape::Record(&CODE), optional "file_data": Shape::Record(&FILE),
    optional "function_call": Shape::Record(&CALL), optional "function_response": Shape::Record(&RESPONSE),
    optional "inline_data": Shape::Record(&BLOB), optional "text": Text, optional "thought": Bool,
    optional "thought_signature": Bytes, optional "video_metadata": Shape::Record(&VIDEO),
    optional "tool_call": Shape::Record(&TOOL_CALL), optional "tool_response": Shape::Record(&TOOL_RESPONSE),
    optional "part_metadata": Shape::Object, optional "audio_transcription": Shape::Object,
    optional "media_processing": Any, optional "speech_metadata": Shape::Object,
]);
record!(CODE_RESULT, Closed, [optional "outcome": Text, optional "output": Text, optional "id": Text]);
record!(CODE, Closed, [optional "code": Text, optional "language": Text, optional "id": Text]);
record!(FILE, Closed, [
    optional "display_name": Text, optional "file_uri": Text, optional "mime_type": Text,
]);
record!(BLOB, Closed, [optional "data": Bytes, optional "display_name": Text, optional "mime_type": Text]);
record!(VIDEO, Closed, [optional "end_offset": Text, optional "fps": Number, optional "start_offset": Text]);
record!(TOOL_CALL, Closed, [optional "id": Text, optional "tool_type": Text, optional "args": Shape::Object]);
record!(TOOL_RESPONSE, Closed, [
    optional "id": Text, optional "tool_type": Text, optional "response": Shape::Object,
]);
record!(CALL, Closed, [
    optional "id": Text, optional "args": Shape::Object, optional "name": Text,
    optional "partial_args": List(&Shape::Record(&PARTIAL_ARG)), optional "will_continue": Bool,
]);
record!(PARTIAL_ARG, Closed, [
    optional "bool_value": Bool, optional "json_path": Text, optional "null_value": Text,
    optional "number_value": Number, optional "string_value": Text, optional "will_continue": Bool,
]);
record!(RESPONSE, Closed, [
    optional "will_continue": Bool, optional "scheduling": Text,
    optional "parts": List(&Shape::Record(&RESPONSE_PART)), optional "id": Text, optional "name": Text,
    optional "response": Shape::Object,
]);
record!(RESPONSE_PART, Closed, [
    optional "inline_data": Shape::Record(&BLOB), optional "file_data": Shape::Record(&FILE),
    optional "media_processing": Any,
]);

/// A position in the document, as a chain from the inside out.
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

/// Checks a value and everything in it. The error is the first mistake.
pub(super) fn check(shape: Shape, value: &Value, at: At<'_>) -> Result<(), EvalSetErrorKind> {
    let expected = match (shape, value) {
        (Any, _)
        | (Text, Value::String(_))
        | (Shape::Object, Value::Object(_))
        | (Number, Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_))
        | (Bool, Value::Bool(_) | Value::Int(0 | 1)) => return Ok(()),
        (Number, Value::String(text)) if parse_float(text).is_some() => return Ok(()),
        (Bool, Value::Float(float)) if [0.0, 1.0].contains(float) => return Ok(()),
        (Bool, Value::String(text)) if is_boolean_word(text) => return Ok(()),
        (Bytes, Value::String(text)) if is_base64(text) => return Ok(()),
        (List(shape), Value::Array(items)) => {
            let mut items = items.iter().enumerate();
            return items.try_for_each(|(index, item)| check(*shape, item, at.index(index)));
        }
        (MapOf(shape), Value::Object(object)) => {
            return object.iter().try_for_each(|(key, value)| check(*shape, value, at.key(key)));
        }
        (Shape::Record(record), Value::Object(object)) => return record.check(object, at),
        (AuthorAndParts, Value::Array(pair)) if pair.len() == 2 => {
            check(Text, &pair[0], at.index(0))?;
            return check(List(&PART), &pair[1], at.index(1));
        }
        (IntermediateData, Value::Object(object)) => {
            let events = ["invocation_events", "invocationEvents"];
            let is_events = events.iter().any(|key| object.contains_key(*key));
            return if is_events { &EVENTS } else { &CALLS }.check(object, at);
        }
        (Text, _) => "a string",
        (Bool, _) => "a boolean",
        (Number, _) => "a number",
        (Bytes, _) => "a string in base64",
        (List(_), _) => "an array",
        (AuthorAndParts, _) => "a pair of author and parts",
        (Shape::Object | MapOf(_) | Shape::Record(_) | IntermediateData, _) => "an object",
    };
    Err(at.wrong_type(expected, value))
}

impl Record {
    fn check(&self, object: &Object, at: At<'_>) -> Result<(), EvalSetErrorKind> {
        for (key, value) in object {
            match self.fields.iter().find(|field| self.is_spelled(field, key)) {
                Some(field) => self.check_field(field, object, key, value, at)?,
                None if self.keys == Keys::Closed => {
                    let meant = self.most_like(key);
                    return Err(at.key(key).fail(FieldProblem::Unknown { meant }));
                }
                None => {}
            }
        }
        let is_there = |field: &Field| object.keys().any(|key| self.is_spelled(field, key));
        let missing = |field: &&Field| field.presence == Presence::Required && !is_there(field);
        match self.fields.iter().find(missing) {
            Some(field) => {
                let found =
                    Some(camel_case(field.key).into_owned()).filter(|key| object.contains_key(key));
                Err(at.key(field.key).fail(FieldProblem::Missing { found }))
            }
            None => Ok(()),
        }
    }

    fn check_field(
        &self,
        field: &Field,
        object: &Object,
        key: &str,
        value: &Value,
        at: At<'_>,
    ) -> Result<(), EvalSetErrorKind> {
        if self.keys == Keys::Closed
            && key == field.key
            && key != camel_case(key)
            && object.contains_key(&*camel_case(key))
        {
            return Err(at.key(key).fail(FieldProblem::Twice));
        }
        match (field.presence, value) {
            (Presence::Optional, Value::Null) => Ok(()),
            (Presence::Required, Value::Null) => {
                Err(at.key(field.key).fail(FieldProblem::Missing { found: None }))
            }
            _ => check(field.shape, value, at.key(field.key)),
        }
    }

    fn is_spelled(&self, field: &Field, key: &str) -> bool {
        key == field.key || (self.keys != Keys::OpenSnakeCase && *key == camel_case(field.key))
    }

    /// Returns the known key that is most similar to `key`, if one is.
    fn most_like(&self, key: &str) -> Option<String> {
        let likeness = |known: &&str| {
            strsim::jaro_winkler(key, known).max(strsim::jaro_winkler(key, &camel_case(known)))
        };
        let known = self.fields.iter().map(|field| field.key);
        let best = known.max_by(|left, right| likeness(left).total_cmp(&likeness(right)))?;
        (likeness(&best) > 0.8).then(|| best.to_owned())
    }
}

fn is_boolean_word(text: &str) -> bool {
    let words = ["0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"];
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns true for base64 in either alphabet, with or without padding.
fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    digits.len() % 4 != 1
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
}
