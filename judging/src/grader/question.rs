//! Questions to models, and how replies are read.

use evaluator_json::{NonFinite, Value, object, to_string};
use evaluator_models::{Message, Params};
use serde_json::Value as Json;

use super::{LabelModel, MessageTemplate, Part, ScoreModel, gap::Gap, item::Item};
use crate::judge::reply::object::whole;

/// A question to a model about a turn.
#[derive(Clone, Debug)]
pub struct GraderQuestion {
    /// Index of the turn.
    pub turn: usize,
    /// Name of the model.
    pub model: String,
    /// Messages.
    pub messages: Vec<Message>,
    /// Name of the schema.
    pub schema_name: &'static str,
    /// JSON Schema of the reply.
    pub schema: Value,
    /// Parameters of the request.
    pub params: Params,
}

/// Content of a reply.
#[derive(Clone, Debug)]
pub(super) struct Reading<T> {
    /// Label or number.
    pub(super) result: T,
    /// Conclusion of the last step, if there is one.
    pub(super) conclusion: Option<String>,
}

/// Puts the values of a turn into a message.
pub(super) fn message(message: &MessageTemplate, item: &Item<'_>) -> Result<Message, Gap> {
    let role = message.role;
    if let [Part::Text(template)] = &message.parts[..] {
        return Ok(Message::new(role, template.render(item)?));
    }
    let parts = message.parts.iter().map(|part| match part {
        Part::Text(template) => {
            let text = Value::String(template.render(item)?);
            Ok(object([("type", Value::from("text")), ("text", text)]))
        }
        Part::Image { url, detail } => {
            let url = ("url", Value::String(url.render(item)?));
            let detail = detail.map(|detail| ("detail", Value::from(detail)));
            let image = object([url].into_iter().chain(detail));
            Ok(object([("type", Value::from("image_url")), ("image_url", image)]))
        }
        Part::Audio { data, format } => {
            let audio =
                object([("data", Value::from(data.as_str())), ("format", Value::from(*format))]);
            Ok(object([("type", Value::from("input_audio")), ("input_audio", audio)]))
        }
    });
    let parts: Vec<Value> = parts.collect::<Result<_, Gap>>()?;
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    Ok(Message { parts: parts.iter().map(Json::from).collect(), ..Message::new(role, text) })
}

/// Returns the schema of a reply: steps of reasoning, then a result of this schema. The steps come first, so that the model
/// writes its reasons before its result.
fn schema(result: Value) -> Value {
    let names = |names: &[&str]| names.iter().map(|name| Value::from(*name)).collect();
    let strict = |properties: Vec<(&str, Value)>| {
        let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
        object([
            ("type", Value::from("object")),
            ("required", Value::Array(names(&required))),
            ("properties", object(properties)),
            ("additionalProperties", Value::from(false)),
        ])
    };
    let text = || object([("type", Value::from("string"))]);
    let step = strict(vec![("description", text()), ("conclusion", text())]);
    let steps = object([("type", Value::from("array")), ("items", step)]);
    strict(vec![("steps", steps), ("result", result)])
}

impl LabelModel {
    /// Returns the schema of a reply.
    pub(super) fn schema(&self) -> Value {
        let labels = self.labels.iter().map(|label| Value::from(label.as_str())).collect();
        schema(object([("type", Value::from("string")), ("enum", Value::Array(labels))]))
    }

    /// Reads a label. A label that differs in case or white space is not guessed.
    pub(super) fn read(&self, reply: &str) -> Result<Reading<String>, String> {
        let (result, conclusion) = parts(reply)?;
        let label = result.as_str().map(str::to_owned);
        match label.filter(|label| self.labels.contains(label)) {
            Some(result) => Ok(Reading { result, conclusion }),
            None => Err(format!(
                "the label {} is not one of {}",
                excerpt(&to_string(&result, NonFinite::Literal)),
                self.labels.join(", ")
            )),
        }
    }
}

impl ScoreModel {
    /// Returns the schema of a reply. Servers do not support limits of numbers in strict schemas.
    pub(super) fn schema() -> Value {
        schema(object([("type", Value::from("number"))]))
    }

    /// Reads a number, which may be outside of the range.
    pub(super) fn read(reply: &str) -> Result<Reading<f64>, String> {
        let (result, conclusion) = parts(reply)?;
        let number = match &result {
            // Negative zero is 0.
            Value::Float(float) => Some(*float + 0.0),
            Value::Int(_) | Value::BigInt(_) => to_string(&result, NonFinite::Null).parse().ok(),
            _ => None,
        };
        match number.filter(|number: &f64| number.is_finite()) {
            Some(result) => Ok(Reading { result, conclusion }),
            None => {
                let shown = excerpt(&to_string(&result, NonFinite::Literal));
                Err(format!("the result {shown} is not a number"))
            }
        }
    }
}

/// Returns the result of a reply, which must be one JSON object and nothing else, and the conclusion of its last step.
fn parts(reply: &str) -> Result<(Value, Option<String>), String> {
    let mut reply = whole(reply).map_err(|reason| format!("{reason}: {}", excerpt(reply)))?;
    let Some(result) = reply.shift_remove("result") else {
        let text = to_string(&Value::Object(reply), NonFinite::Literal);
        return Err(format!("the reply has no `result`: {}", excerpt(&text)));
    };
    let last = reply.get("steps").and_then(Value::as_array).and_then(<[Value]>::last);
    let conclusion = last.and_then(|step| step.get("conclusion")?.as_str().map(str::to_owned));
    Ok((result, conclusion))
}

/// Returns the beginning of a text in one line.
fn excerpt(text: &str) -> String {
    const LENGTH: usize = 120;
    if text.trim().is_empty() {
        return "it is empty".to_owned();
    }
    let start: String = text.chars().take(LENGTH).collect();
    let more = if text.chars().nth(LENGTH).is_some() { " .." } else { "" };
    format!("{start:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> LabelModel {
        LabelModel {
            model: "m".to_owned(),
            input: Vec::new(),
            labels: vec!["good".to_owned(), "bad".to_owned()],
            passing_labels: vec!["good".to_owned()],
        }
    }

    #[test]
    fn only_declared_labels_are_read() {
        let read = |reply: &str| labels().read(reply).map(|it| (it.result, it.conclusion));
        let reply = r#" {"steps": [{"description": "d", "conclusion": "ends"}], "result": "bad"} "#;
        assert_eq!(read(reply).unwrap(), ("bad".to_owned(), Some("ends".to_owned())));
        assert_eq!(read(r#"{"result": "good"}"#).unwrap(), ("good".to_owned(), None));
        let fenced = "```json\n{\"result\": \"good\"}\n```";
        assert_eq!(read(fenced).unwrap(), ("good".to_owned(), None));
        for (reply, part) in [
            (
                r#"{"steps": [], "result": "Good"}"#,
                r#"the label "\"Good\"" is not one of good, bad"#,
            ),
            (r#"{"steps": [], "result": "good "}"#, "is not one of"),
            (r#"{"steps": [], "result": ["good"]}"#, "is not one of"),
            (r#"{"steps": []}"#, "has no `result`"),
            (r#"["good"]"#, "not one JSON object"),
            (r#"{"result": "bad", "result": "good"}"#, "not one JSON object"),
            (r#"I say: {"result": "good"}"#, "not one JSON object"),
            (r#"{"result": "good"} or {"result": "bad"}"#, "not one JSON object"),
            (r#"{"steps": "said {"result": "good"}", "result": "bad"}"#, "not one JSON object"),
            ("good", "not one JSON object and nothing else: \"good\""),
            ("", "it is empty"),
        ] {
            let error = read(reply).unwrap_err();
            assert!(error.contains(part), "{reply}: {error}");
        }
    }

    #[test]
    fn only_finite_numbers_are_read() {
        for (reply, number) in [
            ("1", 1.0),
            ("0.75", 0.75),
            ("-3e1", -30.0),
            ("12345678901234567890123", 1.234_567_890_123_456_8e22),
        ] {
            let read = ScoreModel::read(&format!(r#"{{"steps": [], "result": {reply}}}"#)).unwrap();
            assert!((read.result - number).abs() <= number.abs() * 1e-12, "{reply}");
        }
        let read = |reply: &str| {
            ScoreModel::read(&format!(r#"{{"steps": [], "result": {reply}}}"#)).map(|it| it.result)
        };
        assert!(read("-0.0").unwrap().is_sign_positive());
        for reply in ["1e999", r#""1""#, "true", "null", "[1]"] {
            assert!(read(reply).unwrap_err().contains("is not a number"), "{reply}");
        }
        for reply in ["NaN", "Infinity", "-Infinity"] {
            assert!(read(reply).unwrap_err().contains("is not one JSON object"), "{reply}");
        }
    }
}
