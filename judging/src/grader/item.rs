//! Values of a turn that templates refer to.

use evaluator_json::{NonFinite, Value, object, parse_python, to_string};
use evaluator_traces::{
    conversation::{ToolCall, Turn, TurnPart},
    eval_set::ExpectedTurn,
};

use super::{
    gap::Gap,
    reference::{NAMES, Reference},
};

/// A turn and its golden turn, if it has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) turn: &'a Turn,
    pub(super) expected: Option<&'a ExpectedTurn>,
}

impl Item<'_> {
    /// Returns the value that a reference begins with.
    pub(super) fn value(&self, reference: &Reference) -> Result<Value, Gap> {
        self.named(reference.name)
    }

    /// Returns the arguments of a Python function. Values that the turn does not have are left out, unless the source names
    /// them.
    pub(super) fn python_call(&self, source: &str) -> Result<Value, Gap> {
        let mut arguments = Vec::new();
        for (namespace, names) in NAMES {
            let mut values = Vec::new();
            for name in names.iter().copied() {
                match self.named(name) {
                    Ok(value) => values.push((name, value)),
                    // A source that handles answers of both forms finds `None`, as in the API.
                    Err(Gap::Missing(_)) if name == "output_json" => {
                        values.push((name, Value::Null));
                    }
                    Err(gap) if source.contains(name) => return Err(gap),
                    Err(_) => {}
                }
            }
            arguments.push((namespace, object(values)));
        }
        Ok(object(arguments))
    }

    /// Returns the value of that name.
    pub(super) fn named(&self, name: &str) -> Result<Value, Gap> {
        match name {
            "expected_response" => match self.expected_response() {
                Some(text) => Ok(Value::String(text)),
                None => Err(Gap::NotEvaluated("it has no expected answer".to_owned())),
            },
            "user_content" => {
                self.recorded(TurnPart::User)?;
                let text = self.turn.user_text.as_deref().map(Value::from);
                text.ok_or_else(|| Gap::Missing("the user's text was not recorded".to_owned()))
            }
            "invocation_id" => Ok(Value::from(self.turn.span_id.as_str())),
            "tool_calls" => self.calls(|call| {
                let name = Value::from(call.name.as_str());
                object([("name", name), ("args", call.arguments.clone())])
            }),
            "output_tools" => self.calls(tool_of_sample),
            "output_json" => match parse_python(&self.actual_response()?) {
                Some(value @ (Value::Object(_) | Value::Array(_))) => Ok(value),
                _ => Err(Gap::Missing("the answer is not a JSON object or list".to_owned())),
            },
            // `actual_response`, and `output_text`, which is the same.
            _ => self.actual_response().map(Value::String),
        }
    }

    fn expected_response(&self) -> Option<String> {
        self.expected?.final_text(" ")
    }

    /// Returns the answer. No answer is empty where one was expected, which is a fault of the agent.
    fn actual_response(&self) -> Result<String, Gap> {
        self.recorded(TurnPart::Answer)?;
        match &self.turn.final_text {
            Some(text) => Ok(text.clone()),
            None if self.expected_response().is_some() => Ok(String::new()),
            None => Err(Gap::NotEvaluated("it has no answer, and none was expected".to_owned())),
        }
    }

    fn calls(&self, convert: impl Fn(&ToolCall) -> Value) -> Result<Value, Gap> {
        self.recorded(TurnPart::ToolCalls)?;
        self.recorded(TurnPart::Arguments)?;
        Ok(Value::Array(self.turn.tool_calls.iter().map(convert).collect()))
    }

    fn recorded(&self, part: TurnPart) -> Result<(), Gap> {
        match self.turn.unrecorded(part) {
            Some(unknown) => Err(Gap::Unknown(unknown.to_string())),
            None => Ok(()),
        }
    }
}

/// Converts a call to the form of a chat completion.
fn tool_of_sample(call: &ToolCall) -> Value {
    let arguments = Value::String(to_string(&call.arguments, NonFinite::Null));
    let function = object([("name", Value::from(call.name.as_str())), ("arguments", arguments)]);
    let id = call.call_id.as_deref().map_or(Value::Null, Value::from);
    object([("id", id), ("type", Value::from("function")), ("function", function)])
}
