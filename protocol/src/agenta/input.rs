//! The document of an evaluator of Agenta.

use std::{borrow::Cow, fmt};

use serde_core::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::Value;

use crate::{DecodeError, JsonObject, decode};

/// Name of the input that is the expected answer, unless the parameters name another one.
pub const DEFAULT_CORRECT_ANSWER_KEY: &str = "correct_answer";

/// The document of an evaluation by Agenta, in any of its [forms](Form).
///
/// ```
/// use evaluator_protocol::agenta::{EvaluateInput, Form};
///
/// let input = EvaluateInput::from_json(
///     br#"{"inputs": {"country": "France", "correct_answer": "Paris"}, "output": "Paris"}"#,
/// )?;
/// assert_eq!(input.form(), Form::Webhook);
/// assert_eq!(input.output_text().as_deref(), Some("Paris"));
/// assert_eq!(input.correct_answer(), input.input("correct_answer"));
/// # Ok::<(), evaluator_protocol::DecodeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EvaluateInput {
    form: Form,
    threshold: f64,
    /// The document, with the names of this contract. The output is under the key of its form. Objects of Agenta that are `null`
    /// are left out.
    document: JsonObject,
}

impl EvaluateInput {
    /// Names of the arguments of Agenta's functions.
    pub const PARAMETERS: [&str; 8] = [
        "app_params",
        "inputs",
        "output",
        "correct_answer",
        "outputs",
        "trace",
        "parameters",
        "testcase",
    ];

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: it is not a document of Agenta, or a part has the wrong type.
    pub fn from_json(document: &[u8]) -> Result<Self, DecodeError> {
        let input: Self = decode(document)?;
        input.checked()
    }

    /// Creates a call of custom code of interface v1. Agenta sends the correct answer among the inputs as well; it is added there
    /// if it is missing.
    pub fn code_v1(
        mut inputs: JsonObject,
        output: impl Into<Value>,
        correct_answer: impl Into<Value>,
    ) -> Self {
        let correct_answer = correct_answer.into();
        if !inputs.contains_key(DEFAULT_CORRECT_ANSWER_KEY) {
            inputs.insert(DEFAULT_CORRECT_ANSWER_KEY.to_owned(), correct_answer.clone());
        }
        Self::new(Form::CodeV1, inputs, Some(output.into()))
            .with("app_params", JsonObject::new())
            .with("correct_answer", correct_answer)
    }

    /// Creates a call of custom code of interface v2 or v3.
    pub fn code(inputs: JsonObject, outputs: impl Into<Value>) -> Self {
        Self::new(Form::Code, inputs, Some(outputs.into()))
    }

    /// Creates the body of a request to a webhook.
    pub fn webhook(inputs: JsonObject, output: impl Into<String>) -> Self {
        Self::new(Form::Webhook, inputs, Some(Value::String(output.into())))
    }

    /// Creates the body of a request to a remote workflow.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: `threshold` or `correct_answer_key` is invalid.
    pub fn remote(
        inputs: JsonObject,
        parameters: JsonObject,
        outputs: Option<Value>,
    ) -> Result<Self, DecodeError> {
        Self::new(Form::Remote, inputs, outputs).with_parameters(parameters)
    }

    fn new(form: Form, inputs: JsonObject, output: Option<Value>) -> Self {
        let document = JsonObject::new();
        let input = Self { form, threshold: DEFAULT_THRESHOLD, document };
        let input = input.with("inputs", inputs);
        match output {
            Some(output) => input.with(form.output_key(), output),
            None => input,
        }
    }

    /// Sets the trace.
    #[must_use]
    pub fn with_trace(self, trace: JsonObject) -> Self {
        self.with("trace", trace)
    }

    /// Sets the test case.
    #[must_use]
    pub fn with_testcase(self, testcase: impl Into<Value>) -> Self {
        self.with("testcase", testcase)
    }

    /// Sets the evaluator's parameters. Agenta sends them to remote workflows only; an intermediary may add them to other forms,
    /// e.g. to name the correct answer.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: `threshold` or `correct_answer_key` is invalid.
    pub fn with_parameters(self, parameters: JsonObject) -> Result<Self, DecodeError> {
        self.with("parameters", parameters).checked()
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.document.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the form.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns the inputs of the app, if any.
    pub fn inputs(&self) -> Option<&JsonObject> {
        self.document.get("inputs")?.as_object()
    }

    /// Returns one input of the app.
    pub fn input(&self, name: &str) -> Option<&Value> {
        self.inputs()?.get(name)
    }

    /// Returns the output of the app: any JSON, always text for a webhook; `None` without an output.
    pub fn output(&self) -> Option<&Value> {
        self.document.get(self.output_key()).filter(|output| !output.is_null())
    }

    /// Returns true if there is an output, which may be `null`.
    pub(crate) fn has_output(&self) -> bool {
        self.document.contains_key(self.output_key())
    }

    /// Returns the output as text; other values as JSON text.
    pub fn output_text(&self) -> Option<Cow<'_, str>> {
        Some(text_of(self.output()?))
    }

    /// Returns the output as JSON; text is parsed, and `None` if it is not JSON.
    pub fn output_json(&self) -> Option<Cow<'_, Value>> {
        match self.output()? {
            Value::String(text) => serde_json::from_str(text).ok().map(Cow::Owned),
            other => Some(Cow::Borrowed(other)),
        }
    }

    /// Returns the expected answer: `correct_answer` of the document, or the input named by
    /// [`correct_answer_key`](Self::correct_answer_key); `None` without one.
    pub fn correct_answer(&self) -> Option<&Value> {
        let own = self.document.get("correct_answer");
        own.or_else(|| self.input(self.correct_answer_key()))
    }

    /// Returns the name of the input that is the expected answer: `parameters.correct_answer_key`, or
    /// [`DEFAULT_CORRECT_ANSWER_KEY`].
    pub fn correct_answer_key(&self) -> &str {
        let key = self.parameters().and_then(|parameters| parameters.get("correct_answer_key"));
        key.and_then(Value::as_str)
            .filter(|key| !key.is_empty())
            .unwrap_or(DEFAULT_CORRECT_ANSWER_KEY)
    }

    /// Returns the parameters of the app. Interface v1 always sends an empty object.
    pub fn app_params(&self) -> Option<&JsonObject> {
        self.document.get("app_params")?.as_object()
    }

    /// Returns the parameters of the evaluator, if any.
    pub fn parameters(&self) -> Option<&JsonObject> {
        self.document.get("parameters")?.as_object()
    }

    /// Returns the trace of the app, if any.
    pub fn trace(&self) -> Option<&JsonObject> {
        self.document.get("trace")?.as_object()
    }

    /// Returns the test case, if any.
    pub fn testcase(&self) -> Option<&Value> {
        self.document.get("testcase").filter(|testcase| !testcase.is_null())
    }

    /// Returns the lowest score for which `success` is true: `parameters.threshold`, or 0.5.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns an argument of Agenta's functions by its name; `None` if the document does not have it. `output` and `outputs` are
    /// the same: each form has one of them.
    pub fn parameter(&self, name: &str) -> Option<&Value> {
        match name {
            "output" | "outputs" => self.document.get(self.output_key()),
            "correct_answer" => self.correct_answer(),
            name => self.document.get(name),
        }
    }

    /// Returns the unknown keys of the document.
    pub(super) fn others(&self) -> impl Iterator<Item = &str> {
        let known = |key: &&str| !Self::PARAMETERS.contains(key);
        self.document.keys().map(String::as_str).filter(known)
    }

    /// Returns the key of the output in this document. Added parameters may have changed the form.
    pub(super) fn output_key(&self) -> &'static str {
        if self.document.contains_key("outputs") { "outputs" } else { "output" }
    }

    /// Checks the parameters that have a meaning for evaluators.
    fn checked(mut self) -> Result<Self, DecodeError> {
        let parameters = self.parameters();
        let get = |key: &str| parameters?.get(key);
        if let Some(key) = get("correct_answer_key") {
            if !key.is_string() && !is_none(key) {
                let reason = format!("expected the name of an input, found {key}");
                return Err(DecodeError::shape("parameters.correct_answer_key", reason));
            }
        }
        self.threshold = threshold(get("threshold"))?;
        Ok(self)
    }
}

/// Returns text unchanged, and other values as JSON text.
pub(super) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Checks the types of the document; [`EvaluateInput::from_json`] checks the parameters.
impl<'de> Deserialize<'de> for EvaluateInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Top)
    }
}

struct Top;

impl<'de> Visitor<'de> for Top {
    type Value = EvaluateInput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document of Agenta")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EvaluateInput, A::Error> {
        let mut document = JsonObject::new();
        let mut seen: Vec<&'static str> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let Some(name) = known(&key) else {
                document.insert(key, map.next_value()?);
                continue;
            };
            if seen.contains(&name) {
                return Err(de::Error::duplicate_field(name));
            }
            let value = match name {
                "inputs" | "app_params" | "parameters" | "trace" => {
                    map.next_value::<Option<JsonObject>>()?.map(Value::Object)
                }
                _ => Some(map.next_value()?),
            };
            if let Some(value) = value {
                document.insert(name.to_owned(), value);
            }
            seen.push(name);
        }
        let has = |key: &str| seen.contains(&key);
        if has("output") && has("outputs") {
            return Err(de::Error::custom(
                "`output` and `outputs` are both there: a document has the one or the other",
            ));
        }
        let form = Form::of(has).ok_or_else(|| {
            de::Error::custom("missing field `output` (or `outputs`): what is to be judged")
        })?;
        match form {
            // A missing output is not the same as an app that answered nothing.
            Form::CodeV1 if !has("output") && !has("outputs") => {
                return Err(de::Error::missing_field("output"));
            }
            Form::CodeV1 => {}
            _ if !has("inputs") => return Err(de::Error::missing_field("inputs")),
            _ => {}
        }
        Ok(EvaluateInput { form, threshold: DEFAULT_THRESHOLD, document })
    }
}

/// Returns the canonical name of a known key.
fn known(key: &str) -> Option<&'static str> {
    let key = match key {
        "appParams" => "app_params",
        "correctAnswer" => "correct_answer",
        key => key,
    };
    EvaluateInput::PARAMETERS.into_iter().find(|name| *name == key)
}

/// Writes the keys in the order of Agenta.
impl Serialize for EvaluateInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const ORDER: [&str; 8] = [
            "app_params",
            "inputs",
            "parameters",
            "output",
            "outputs",
            "correct_answer",
            "trace",
            "testcase",
        ];
        let mut map = serializer.serialize_map(Some(self.document.len()))?;
        let known = ORDER.into_iter().filter_map(|key| Some((key, self.document.get(key)?)));
        for (key, value) in known {
            map.serialize_entry(key, value)?;
        }
        for key in self.others() {
            map.serialize_entry(key, &self.document[key])?;
        }
        map.end()
    }
}

/// A kind of call of an evaluator. Each has its own document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// Custom code of interface v1: `app_params`, `inputs`, `output`, `correct_answer`.
    CodeV1,
    /// Custom code of interface v2 or v3: `inputs`, `outputs`, `trace`.
    Code,
    /// A webhook: `inputs`, `output`, which is always text.
    Webhook,
    /// A remote workflow: `inputs`, `parameters`, `outputs`, `trace`, `testcase`.
    Remote,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::CodeV1, Self::Code, Self::Webhook, Self::Remote];

    /// Returns the form of a document by the keys that no other form has.
    pub(super) fn of(has: impl Fn(&str) -> bool) -> Option<Self> {
        if has("app_params") || has("correct_answer") {
            Some(Self::CodeV1)
        } else if has("output") {
            // Parameters may have been added by an intermediary.
            Some(Self::Webhook)
        } else if has("parameters") {
            Some(Self::Remote)
        } else if has("outputs") {
            Some(Self::Code)
        } else {
            None
        }
    }

    /// Returns the key of the output of the app.
    pub fn output_key(self) -> &'static str {
        match self {
            Self::CodeV1 | Self::Webhook => "output",
            Self::Code | Self::Remote => "outputs",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CodeV1 => "custom code v1",
            Self::Code => "custom code v2 or v3",
            Self::Webhook => "webhook",
            Self::Remote => "remote workflow",
        })
    }
}

/// The default threshold.
pub const DEFAULT_THRESHOLD: f64 = 0.5;

/// Reads the parameter `threshold`: the lowest score for which `success` is true, above 0 and at most 1.
///
/// Values that are false in Python (absent, `null`, `false`, 0, an empty text, list or object) mean [`DEFAULT_THRESHOLD`].
///
/// # Errors
///
/// [`DecodeError`]: it is not a number, or not in that range.
pub fn threshold(value: Option<&Value>) -> Result<f64, DecodeError> {
    let Some(value) = value.filter(|value| !is_none(value)) else { return Ok(DEFAULT_THRESHOLD) };
    match value.as_f64() {
        Some(number) if number > 0.0 && number <= 1.0 => Ok(number),
        _ => {
            let reason =
                format!("{value} is not a threshold: expected a number above 0 and at most 1");
            Err(DecodeError::shape("parameters.threshold", reason))
        }
    }
}

/// Returns true for values that are false in Python.
pub(super) fn is_none(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_none_is_the_default() {
        assert_eq!(threshold(None), Ok(0.5));
        for none in [json!(null), json!(0), json!(0.0), json!(-0.0), json!(""), json!(false)] {
            assert_eq!(threshold(Some(&none)), Ok(0.5), "{none}");
        }
    }

    #[test]
    fn only_numbers_in_range_are_thresholds() {
        for (value, expected) in [(json!(0.9), 0.9), (json!(1.0), 1.0), (json!(1e-9), 1e-9)] {
            assert_eq!(threshold(Some(&value)), Ok(expected));
        }
        for wrong in [json!(1.5), json!(-0.1), json!("0.5"), json!(true), json!([0.5]), json!(2)] {
            assert!(threshold(Some(&wrong)).is_err(), "{wrong}");
        }
        assert_eq!(threshold(Some(&json!(1))), Ok(1.0));
        assert_eq!(
            threshold(Some(&json!(2))).unwrap_err().to_string(),
            "parameters.threshold: 2 is not a threshold: expected a number above 0 and at most 1"
        );
    }
}
