//! Eval sets: golden conversations, their files, and the errors of reading them.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::shape::{At, EVAL_SET, check};
use crate::json::{self, Object, ParseError, ParseOptions, RepeatedKeys, Value, camel_case};

/// Maximum number of bytes of an eval set, which is read as a whole.
const LIMIT: u64 = 1 << 30;

impl EvalSet {
    /// Loads an eval set in the JSON form of Google's Agent Development Kit.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not a regular file, is not JSON, or has a field of the wrong shape. The error has the position.
    pub fn load(path: &Path) -> Result<Self, EvalSetError> {
        let fail = |kind| EvalSetError { path: path.to_owned(), kind };
        let bytes =
            json::read_file(path, LIMIT).map_err(|error| fail(EvalSetErrorKind::Read(error)))?;
        match str::from_utf8(&bytes) {
            Ok(text) => Self::from_text(text, path),
            Err(error) => {
                let offset = error.valid_up_to();
                Err(fail(EvalSetErrorKind::NotUtf8 { offset, byte: bytes[offset] }))
            }
        }
    }

    /// Reads the text of an eval set; `path` is the name of the file in errors.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or has a field of the wrong shape. The error has the position.
    pub fn from_text(text: &str, path: &Path) -> Result<Self, EvalSetError> {
        // Only one value of a repeated key would be used, and the author could not tell which.
        let options =
            ParseOptions { repeated_keys: RepeatedKeys::Reject, ..ParseOptions::default() };
        json::parse(text, &options)
            .map_err(EvalSetErrorKind::Json)
            .and_then(|parsed| eval_set(parsed.value))
            .map_err(|kind| EvalSetError { path: path.to_owned(), kind })
    }
}

fn eval_set(value: Value) -> Result<EvalSet, EvalSetErrorKind> {
    check(EVAL_SET, &value, At::ROOT)?;
    let Value::Object(mut set) = value else { return Ok(EvalSet::default()) };
    // These keys have one spelling.
    let [id, cases] = ["eval_set_id", "eval_cases"].map(|key| set.swap_remove(key));
    let at = At::ROOT.key("eval_cases");
    let cases = items(cases).enumerate().map(|(index, case)| eval_case(case, at.index(index)));
    Ok(EvalSet { id: text(id).unwrap_or_default(), cases: cases.collect::<Result<_, _>>()? })
}

fn eval_case(value: Value, at: At<'_>) -> Result<EvalCase, EvalSetErrorKind> {
    let mut case = Fields::of(value);
    let id = text(case.take("eval_id")).unwrap_or_default();
    match (case.take("conversation"), case.take("conversation_scenario")) {
        (turns, scenario) if turns.is_some() != scenario.is_some() => {
            let rubrics = items(case.take("rubrics")).collect();
            Ok(EvalCase { id, turns: items(turns).map(turn).collect(), rubrics, scenario })
        }
        _ => Err(at.fail(FieldProblem::NotExactlyOne)),
    }
}

// From here on, the shape of everything that is read has been checked.

/// The fields of an object that are still to be read, in either spelling of their keys.
struct Fields(Object);

impl Fields {
    fn of(value: Value) -> Self {
        Self(if let Value::Object(object) = value { object } else { Object::default() })
    }

    /// Takes a field by its `snake_case` key; `None` if it is absent or `null`. The other spelling has precedence.
    fn take(&mut self, key: &str) -> Option<Value> {
        let snake = self.0.swap_remove(key);
        self.0.swap_remove(&*camel_case(key)).or(snake).filter(|value| !value.is_null())
    }
}

fn text(value: Option<Value>) -> Option<String> {
    if let Some(Value::String(text)) = value { Some(text) } else { None }
}

/// Returns the items of an array, none if it is absent.
fn items(value: Option<Value>) -> impl Iterator<Item = Value> {
    if let Some(Value::Array(items)) = value { items } else { Vec::new() }.into_iter()
}

fn turn(value: Value) -> ExpectedTurn {
    let mut fields = Fields::of(value);
    let mut turn = ExpectedTurn {
        invocation_id: text(fields.take("invocation_id")).unwrap_or_default(),
        user_parts: content(fields.take("user_content")).texts,
        final_parts: fields.take("final_response").map(|answer| content(Some(answer)).texts),
        rubrics: items(fields.take("rubrics")).collect(),
        ..ExpectedTurn::default()
    };
    // In one of two forms: events, or lists of calls, responses and intermediate responses.
    let mut data = Fields::of(fields.take("intermediate_data").unwrap_or_default());
    for event in items(data.take("invocation_events")) {
        turn.event_calls.extend(content(Fields::of(event).take("content")).calls);
    }
    turn.tool_calls = items(data.take("tool_uses")).map(call).collect();
    turn.tool_responses = items(data.take("tool_responses")).map(response).collect();
    for pair in items(data.take("intermediate_responses")) {
        // A pair of author and parts.
        turn.event_calls.extend(parts(items(Some(pair)).nth(1)).calls);
    }
    turn
}

/// The content of a message.
#[derive(Default)]
struct Content {
    /// Texts of the parts that have one, thoughts included.
    texts: Vec<String>,
    calls: Vec<ExpectedCall>,
}

fn content(value: Option<Value>) -> Content {
    parts(Fields::of(value.unwrap_or_default()).take("parts"))
}

fn parts(values: Option<Value>) -> Content {
    let mut content = Content::default();
    for value in items(values) {
        let mut part = Fields::of(value);
        content.texts.extend(text(part.take("text")).filter(|text| !text.is_empty()));
        content.calls.extend(part.take("function_call").map(call));
    }
    content
}

fn call(value: Value) -> ExpectedCall {
    let mut fields = Fields::of(value);
    let [id, name] = ["id", "name"].map(|key| text(fields.take(key)));
    ExpectedCall { id, name, args: fields.take("args").unwrap_or_default() }
}

fn response(value: Value) -> ExpectedResponse {
    let mut fields = Fields::of(value);
    let [id, name] = ["id", "name"].map(|key| text(fields.take(key)));
    let response = fields.take("response").unwrap_or_default();
    ExpectedResponse { id, name: name.unwrap_or_default(), response }
}

/// An eval set could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("Failed to load eval set '{}': {kind}", path.display())]
#[non_exhaustive]
pub struct EvalSetError {
    /// The file, as it was given.
    pub path: PathBuf,
    /// The problem.
    #[source]
    pub kind: EvalSetErrorKind,
}

/// The problem of an eval set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalSetErrorKind {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[source] io::Error),
    /// The file is not UTF-8.
    #[error("not UTF-8: invalid byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        offset: usize,
        /// That byte.
        byte: u8,
    },
    /// The file is not JSON.
    #[error("invalid JSON: {0}")]
    Json(#[source] ParseError),
    /// A field has the wrong shape.
    #[error("{path}: {problem}")]
    Field {
        /// Path in the document: `eval_cases[0].conversation[1].user_content`.
        path: String,
        /// The problem.
        problem: FieldProblem,
    },
}

/// The problem of a field of an eval set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldProblem {
    /// The field is required and absent.
    #[error("required field is missing{}", hint(found.as_deref(), "('", "' is not read here)"))]
    Missing {
        /// A similar key that is present.
        found: Option<String>,
    },
    /// The key is unknown.
    #[error("unknown key{}", hint(meant.as_deref(), "(did you mean '", "'?)"))]
    Unknown {
        /// A similar known key.
        meant: Option<String>,
    },
    /// The value has the wrong type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// The expected type, with its article.
        expected: &'static str,
        /// The type of the value, with its article.
        found: &'static str,
    },
    /// The field is present in both spellings of its key.
    #[error("the key is also present in camelCase")]
    Twice,
    /// A case has both or neither of `conversation` and `conversation_scenario`.
    #[error("expected exactly one of 'conversation' and 'conversation_scenario'")]
    NotExactlyOne,
}

/// Returns a key between two texts, after a space; empty without a key.
fn hint(key: Option<&str>, before: &str, after: &str) -> String {
    key.map_or_else(String::new, |key| format!(" {before}{key}{after}"))
}

/// A set of golden conversations.
#[derive(Clone, Debug, Default)]
pub struct EvalSet {
    /// Id of the set.
    pub id: String,
    /// Cases in file order; those without a conversation cannot be matched.
    pub cases: Vec<EvalCase>,
}

/// One golden conversation.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct EvalCase {
    /// Id of the case.
    pub id: String,
    /// Golden turns in order; none if the case has a scenario.
    pub turns: Vec<ExpectedTurn>,
    /// Rubrics of all turns, as the set has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Value>,
    /// What a simulated user should do, as the set has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Value>,
}

/// A golden turn.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ExpectedTurn {
    /// `invocation_id` of the eval set, or empty.
    pub invocation_id: String,
    /// Text parts of the user's message, each non-empty.
    pub user_parts: Vec<String>,
    /// Text parts of the reference answer; `None` when the set has no answer for this turn.
    pub final_parts: Option<Vec<String>>,
    /// Expected tool calls in order.
    pub tool_calls: Vec<ExpectedCall>,
    /// Calls found in the events of a turn that was recorded as events, or in its intermediate responses. The trajectory
    /// metric expects them after the others; evaluators get [`ExpectedTurn::tool_calls`] only.
    pub event_calls: Vec<ExpectedCall>,
    /// Recorded results of the expected calls.
    pub tool_responses: Vec<ExpectedResponse>,
    /// Rubrics of the turn, as the set has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Value>,
}

impl ExpectedTurn {
    /// Returns the user's message as one text.
    #[must_use]
    pub fn user_text(&self) -> String {
        self.user_parts.concat()
    }

    /// Returns the reference answer as one text, with `separator` between the parts; `None` if there is no text.
    #[must_use]
    pub fn final_text(&self, separator: &str) -> Option<String> {
        self.final_parts
            .as_ref()
            .filter(|parts| !parts.is_empty())
            .map(|parts| parts.join(separator))
    }

    /// Returns the calls that the trajectory metric expects, in order.
    pub fn trajectory(&self) -> impl Iterator<Item = &ExpectedCall> {
        self.tool_calls.iter().chain(&self.event_calls)
    }
}

/// An expected tool call.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ExpectedCall {
    /// Id of the call.
    pub id: Option<String>,
    /// Name of the tool; `None` if the set has none, which no call matches.
    pub name: Option<String>,
    /// Arguments: `Null` when the set has none, else an object.
    pub args: Value,
}

/// The result of an expected tool call.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ExpectedResponse {
    /// Id of the call it answers.
    pub id: Option<String>,
    /// Name of the tool, empty if the set has none.
    pub name: String,
    /// The result: `Null` or an object.
    pub response: Value,
}
