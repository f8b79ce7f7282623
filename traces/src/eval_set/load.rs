//! Reading the files of eval sets.

use std::path::Path;

use super::{
    model::{
        EvalCase, EvalSet, EvalSetError, EvalSetErrorKind, ExpectedCall, ExpectedResponse,
        ExpectedTurn, FieldProblem,
    },
    shape::{At, EVAL_SET, check},
};
use crate::json::{self, Object, ParseOptions, RepeatedKeys, Value, camel_case};

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
