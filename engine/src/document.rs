//! The document an evaluator reads, written straight from the conversation.
//!
//! `evaluator_protocol::EvalInput` is the same document for authors in Rust; it cannot hold integers beyond 64 bits, which
//! recordings contain, so the host writes the text itself. A test reads it back with those types.

use std::sync::{Arc, OnceLock};

use evaluator_protocol::ProtocolVersion;

use crate::{
    conversation::{Attachment, Conversation, PerformanceMetrics, ToolCall, Turn},
    eval_set::{EvalCase, ExpectedTurn},
    json::{self, NonFinite, Object, Value},
    models::Redactor,
    pool::Document,
    report::run_file::{Digest, Digester},
};

/// Maximum number of bytes of images, in base64, that are kept with a conversation.
const IMAGES: usize = 1_000_000;

/// Key that no contract has. An evaluator that does not ignore it breaks with the next version of its contract.
pub(crate) const UNKNOWN_KEY: &str = "unknown_key";

/// The part of the document that all evaluators of a conversation share: everything after the evaluator's own settings.
#[derive(Clone, Debug)]
pub struct Turns {
    text: Arc<[u8]>,
    /// Length of the text up to the golden turns.
    recorded: usize,
    digest: OnceLock<Digest>,
}

/// The part of the document that is the same for all conversations of an evaluator: its settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    text: Arc<[u8]>,
}

impl Turns {
    /// Writes the turns of a conversation and of its golden case.
    pub fn new(conversation: &Conversation, case: Option<&EvalCase>) -> Self {
        Self::written(Writer::default(), conversation, case)
    }

    /// The same for people to read: without the values of secrets, and with attachments.
    pub(crate) fn redacted(
        conversation: &Conversation,
        case: Option<&EvalCase>,
        redactor: &Redactor,
    ) -> Self {
        let out = Writer { redactor: Some(redactor), images: IMAGES, ..Writer::default() };
        Self::written(out, conversation, case)
    }

    fn written(mut out: Writer<'_>, conversation: &Conversation, case: Option<&EvalCase>) -> Self {
        // The metrics are those of the whole conversation, the same on every turn.
        let metrics =
            conversation.performance.as_ref().map_or_else(|| "null".to_owned(), metrics_text);
        out.raw("\"invocations\":");
        out.list(&conversation.turns, |out, turn| out.turn(turn, &metrics));
        let recorded = out.text.len();
        out.raw(",\"expected_invocations\":");
        match case {
            Some(case) => out.list(&case.turns, Writer::expected),
            None => out.raw("null"),
        }
        out.unknown_key(conversation.turns.iter().any(|turn| turn.has_unknown_keys));
        out.raw("}");
        Self { text: out.text.into_bytes().into(), recorded, digest: OnceLock::new() }
    }

    /// Digest of what was recorded, without the golden turns.
    pub(crate) fn content(&self) -> Digest {
        Digester::new("content").bytes("text", &self.text[..self.recorded]).finish()
    }

    /// The document without an evaluator's settings.
    pub fn to_object(&self) -> String {
        format!("{{{}", String::from_utf8_lossy(&self.text))
    }
}

impl Settings {
    pub(crate) fn new(metric_name: &str, threshold: f64, config: &Object) -> Self {
        let mut out = Writer::default();
        out.raw("{\"protocol_version\":");
        out.string(&ProtocolVersion::CURRENT.to_string());
        out.raw(",\"metric_name\":");
        out.string(metric_name);
        out.raw(",\"threshold\":");
        out.value(&Value::Float(threshold));
        out.raw(",\"config\":");
        out.object(config);
        out.raw(",");
        Self { text: out.text.into_bytes().into() }
    }

    /// The whole document, on one line, without a line end.
    pub(crate) fn document(&self, turns: &Turns) -> Document {
        Document::new(Arc::clone(&self.text), Arc::clone(&turns.text))
    }

    /// Digest of the document. The text that evaluators share is hashed once.
    pub(crate) fn digest(&self, turns: &Turns) -> Digest {
        let shared = || Digester::new("turns").bytes("text", &turns.text).finish();
        Digester::new("document")
            .bytes("settings", &self.text)
            .bytes("turns", turns.digest.get_or_init(shared).as_ref())
            .finish()
    }
}

/// Numbers, names and nothing else: this cannot fail, but a metric that could not be written must not look measured.
fn metrics_text(metrics: &PerformanceMetrics) -> String {
    serde_json::to_string(metrics).unwrap_or_else(|_| "null".to_owned())
}

#[derive(Default)]
struct Writer<'r> {
    text: String,
    /// Removes secrets from all texts.
    redactor: Option<&'r Redactor>,
    /// Number of bytes of images that may still be written.
    images: usize,
}

impl Writer<'_> {
    /// Everything that comes before the turns.
    fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn string(&mut self, text: &str) {
        match self.redactor {
            Some(redactor) => json::write_string(&redactor.redact(text), &mut self.text),
            None => json::write_string(text, &mut self.text),
        }
    }

    fn optional_string(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.string(text),
            None => self.raw("null"),
        }
    }

    fn value(&mut self, value: &Value) {
        let redacted = self.redactor.map(|redactor| redacted(value, redactor));
        // Writing text to a string cannot fail.
        let _ = json::write(redacted.as_ref().unwrap_or(value), &mut self.text, NonFinite::Null);
    }

    fn object(&mut self, object: &Object) {
        self.raw("{");
        for (index, (key, value)) in object.iter().enumerate() {
            if index > 0 {
                self.raw(",");
            }
            self.string(key);
            self.raw(":");
            self.value(value);
        }
        self.raw("}");
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.raw("[");
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.raw(",");
            }
            write(self, item);
        }
        self.raw("]");
    }

    fn turn(&mut self, turn: &Turn, metrics: &str) {
        self.head(
            &turn.span_id,
            turn.user_text.as_deref().unwrap_or_default(),
            turn.final_text.as_deref(),
        );
        self.list(&turn.tool_calls, |out, call| {
            out.call(&call.name, &call.arguments, call.call_id.as_deref())
        });
        self.raw(",\"tool_responses\":");
        let answered: Vec<&ToolCall> =
            turn.tool_calls.iter().filter(|call| !call.result.is_null() || call.is_error).collect();
        self.list(&answered, |out, call| {
            out.response(&call.name, call.is_error, call.call_id.as_deref(), call.result.value());
        });
        self.raw("},\"performance_metrics\":");
        self.raw(metrics);
        self.raw(",\"trace_id\":");
        self.string(&turn.trace_id);
        self.raw(",\"span_id\":");
        self.string(&turn.span_id);
        self.unknown_key(turn.has_unknown_keys);
        // The contract has no place for them.
        if self.redactor.is_some() {
            self.attachments("earlier_attachments", &turn.earlier_attachments);
            self.attachments("user_attachments", &turn.user_attachments);
            self.attachments("step_attachments", &turn.step_attachments);
            self.attachments("final_attachments", &turn.final_attachments);
        }
        self.raw("}");
    }

    fn unknown_key(&mut self, is_there: bool) {
        if is_there {
            self.raw(&format!(",\"{UNKNOWN_KEY}\":{{}}"));
        }
    }

    fn attachments(&mut self, key: &str, attachments: &[Attachment]) {
        if attachments.is_empty() {
            return;
        }
        self.raw(&format!(",\"{key}\":"));
        self.list(attachments, |out, it| {
            let Attachment { kind, media_type, name, url, size, data } = it;
            out.raw("{\"kind\":");
            out.string(kind.as_str());
            let fits = data.as_deref().filter(|data| data.len() <= out.images);
            out.images -= fits.map_or(0, str::len);
            let texts = [("media_type", media_type), ("name", name), ("url", url)];
            let texts = texts.map(|(key, text)| (key, text.as_deref()));
            for (key, text) in texts.into_iter().chain([("data", fits)]) {
                if let Some(text) = text {
                    out.raw(&format!(",\"{key}\":"));
                    out.string(text);
                }
            }
            if let Some(size) = size {
                out.raw(&format!(",\"size\":{size}"));
            }
            out.raw("}");
        });
    }

    fn expected(&mut self, turn: &ExpectedTurn) {
        self.head(&turn.invocation_id, &turn.user_text(), turn.final_text("").as_deref());
        self.list(&turn.tool_calls, |out, call| {
            out.call(call.name.as_deref().unwrap_or_default(), &call.args, call.id.as_deref())
        });
        self.raw(",\"tool_responses\":");
        self.list(&turn.tool_responses, |out, response| {
            out.response(&response.name, false, response.id.as_deref(), &response.response);
        });
        self.raw("},\"performance_metrics\":null,\"trace_id\":null,\"span_id\":null}");
    }

    /// Everything of a turn up to its tool calls.
    fn head(&mut self, id: &str, user: &str, answer: Option<&str>) {
        self.raw("{\"invocation_id\":");
        self.string(id);
        self.raw(",\"user_content\":");
        self.string(user);
        self.raw(",\"final_response\":");
        self.optional_string(answer);
        self.raw(",\"intermediate_steps\":{\"tool_calls\":");
    }

    fn call(&mut self, name: &str, args: &Value, id: Option<&str>) {
        self.raw("{\"name\":");
        self.string(name);
        self.raw(",\"args\":");
        match args {
            Value::Object(args) => self.object(args),
            Value::Null => self.raw("{}"),
            // The contract has an object here whatever the tool was called with.
            other => {
                self.raw("{\"value\":");
                self.value(other);
                self.raw("}");
            }
        }
        self.raw(",\"id\":");
        self.optional_string(id);
        self.raw("}");
    }

    fn response(&mut self, name: &str, is_error: bool, id: Option<&str>, response: &Value) {
        self.raw("{\"name\":");
        self.string(name);
        self.raw(",\"output\":");
        self.string(&json::output_text(response));
        self.raw(",\"status\":");
        self.optional_string(is_error.then_some("error"));
        self.raw(",\"id\":");
        self.optional_string(id);
        self.raw(",\"response\":");
        self.value(response);
        self.raw("}");
    }
}

/// Returns an object without the values of secrets in its texts, keys and numbers.
pub(crate) fn redacted_object(object: &Object, redactor: &Redactor) -> Object {
    let members = object.iter();
    members.map(|(key, it)| (redactor.redact(key), redacted(it, redactor))).collect()
}

/// Returns a value without the values of secrets in its texts, keys and numbers. A number with the digits of a secret becomes a
/// text.
pub(crate) fn redacted(value: &Value, redactor: &Redactor) -> Value {
    match value {
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
            let mut number = String::new();
            // Writing text to a string cannot fail.
            let _ = json::write(value, &mut number, NonFinite::Null);
            let text = redactor.redact(&number);
            if text == number { value.clone() } else { Value::String(text) }
        }
        Value::String(text) => Value::String(redactor.redact(text)),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| redacted(item, redactor)).collect())
        }
        Value::Object(members) => Value::Object(redacted_object(members, redactor)),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

/// The document of the default contract, for tests of others.
#[cfg(test)]
pub(crate) fn document_of(
    metric_name: &str,
    threshold: f64,
    config: &Object,
    conversation: &Conversation,
    case: Option<&EvalCase>,
) -> Vec<u8> {
    let settings = Settings::new(metric_name, threshold, config);
    settings.document(&Turns::new(conversation, case)).text()
}

#[cfg(test)]
mod tests {
    use evaluator_protocol::{EvalInput, decode};

    use super::*;
    use crate::eval_set::{ExpectedCall, ExpectedResponse};
    use crate::trace::SpanStatus;

    fn conversation() -> Conversation {
        let call = ToolCall {
            name: "get_weather".to_owned(),
            call_id: Some("c1".to_owned()),
            arguments: json::parse_python(
                r#"{"city": "Paris", "n": 123456789012345678901234567890}"#,
            )
            .unwrap(),
            result: json::parse_python(r#"{"temp": 21.0, "sky": "☀", "inf": Infinity}"#)
                .unwrap()
                .into(),
            ..ToolCall::default()
        };
        let scalar = ToolCall {
            name: "ping".to_owned(),
            arguments: Value::Int(5),
            is_error: true,
            ..ToolCall::default()
        };
        let silent = ToolCall { name: "log".to_owned(), ..ToolCall::default() };
        Conversation {
            trace_id: "t1".into(),
            file: "t.json".into(),
            turns: vec![Turn {
                trace_id: "t1".into(),
                span_id: "s1".to_owned(),
                root_anchored: false,
                agent_name: None,
                user_text: None,
                final_text: Some("line\nbreak \"quoted\"".to_owned()),
                llm_calls: Vec::new(),
                tool_calls: vec![call, scalar, silent],
                start_ns: 0,
                end_ns: 1,
                status: SpanStatus::Unset,
                ..Turn::default()
            }],
            case_id: None,
            warnings: Vec::new(),
            errors: Vec::new(),
            operations: Vec::new(),
            dropped_copies: 0,
            labels: Default::default(),
            performance: Some(PerformanceMetrics::default()),
        }
    }

    fn text(settings: &Settings, turns: &Turns) -> String {
        String::from_utf8(settings.document(turns).text()).unwrap()
    }

    #[test]
    fn authors_read_what_the_host_writes() {
        let case = EvalCase {
            id: "c".to_owned(),
            turns: vec![ExpectedTurn {
                invocation_id: "g1".to_owned(),
                user_parts: vec!["a".to_owned(), "b".to_owned()],
                final_parts: None,
                tool_calls: vec![ExpectedCall {
                    id: None,
                    name: Some("x".to_owned()),
                    args: Value::Null,
                }],
                event_calls: Vec::new(),
                tool_responses: vec![ExpectedResponse {
                    id: None,
                    name: "x".to_owned(),
                    response: Value::Null,
                }],
                ..ExpectedTurn::default()
            }],
            ..EvalCase::default()
        };
        let config: Object = [("min".to_owned(), Value::Int(3))].into_iter().collect();
        let text =
            text(&Settings::new("check", 0.7, &config), &Turns::new(&conversation(), Some(&case)));
        assert!(!text.contains('\n'), "{text}");
        let input: EvalInput = decode(text.as_bytes()).unwrap();
        assert_eq!((input.metric_name.as_str(), input.threshold), ("check", 0.7));
        assert_eq!(input.config["min"], 3);
        let turn = &input.invocations[0];
        assert_eq!((turn.invocation_id.as_str(), turn.user_content.as_str()), ("s1", ""));
        assert_eq!(turn.final_response.as_deref(), Some("line\nbreak \"quoted\""));
        let steps = &turn.intermediate_steps;
        assert_eq!(steps.tool_calls[1].args["value"], 5);
        assert!(steps.tool_calls[2].args.is_empty());
        // A call without result or error has no response.
        assert_eq!(steps.tool_responses.len(), 2);
        assert_eq!(
            steps.tool_responses[0].output,
            r#"{"inf": Infinity, "sky": "\u2600", "temp": 21.0}"#
        );
        assert_eq!(steps.tool_responses[0].response["inf"], serde_json::Value::Null);
        assert_eq!(steps.tool_responses[1].status.as_deref(), Some("error"));
        let golden = &input.expected_invocations.as_ref().unwrap()[0];
        assert_eq!((golden.user_content.as_str(), golden.final_response.as_deref()), ("ab", None));
        assert!(text.contains("123456789012345678901234567890"), "big integers arrive whole");
    }

    #[test]
    fn fields_come_in_the_order_of_the_contract() {
        let settings = Settings::new("check", 0.5, &Object::default());
        let text = text(&settings, &Turns::new(&conversation(), None));
        let order = [
            "protocol_version",
            "metric_name",
            "threshold",
            "config",
            "invocations",
            "expected_invocations\":null}",
        ];
        let places: Vec<usize> =
            order.iter().map(|key| text.find(&format!("\"{key}")).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
    }
}
