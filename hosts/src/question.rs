//! Documents that a host sends itself: completed by the settings of the evaluator's entry, converted to the default contract.

use evaluator_protocol::{Answer, Contract, DecodeError, Document, EvalResult, Reply};

use crate::json::{Object, Value};

/// Settings of an entry, for documents that do not contain them.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// Keys of `config`.
    pub config: Object,
    /// Score from which on an evaluation passes.
    pub threshold: Option<f64>,
}

impl Defaults {
    /// Returns the settings of an entry.
    pub fn new(config: Object, threshold: Option<f64>) -> Self {
        Self { config, threshold }
    }
}

/// A document for an evaluator of the default contract.
#[derive(Debug)]
pub struct Question {
    /// Text of the document.
    pub document: Vec<u8>,
    /// Number of its turns.
    pub turns: usize,
    /// Contract of the document before its conversion.
    pub contract: Contract,
    /// Form of the answer.
    pub reply: Reply,
    /// Paths in the document that the evaluator does not receive.
    pub dropped: Vec<String>,
    /// Result if there is nothing to judge; no evaluator is asked then.
    pub unjudged: Option<EvalResult>,
}

impl Question {
    /// Converts a document of another contract. `has_threshold` is true if the document contains a threshold.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: a field cannot be converted.
    pub(super) fn convert(
        document: Document,
        name: &str,
        defaults: &Defaults,
        has_threshold: bool,
    ) -> Result<Self, DecodeError> {
        let (contract, mut reply) = (document.contract(), document.reply());
        let unjudged = document.unjudged();
        let converted = document.to_eval_input(name)?;
        let mut input = converted.input;
        for (key, value) in &defaults.config {
            input.config.entry(key.as_str()).or_insert_with(|| value.into());
        }
        if let Some(default) = defaults.threshold.filter(|_| !has_threshold) {
            input.threshold = default;
            match &mut reply {
                Reply::Agenta { threshold, .. } => *threshold = default,
                Reply::Adk { threshold, .. } => *threshold = Some(default),
                _ => {}
            }
        }
        let turns = input.invocations.len();
        let document = serde_json::to_vec(&input)
            .map_err(|error| DecodeError::shape("", format!("it cannot be passed on: {error}")))?;
        Ok(Self { document, turns, contract, reply, dropped: converted.dropped, unjudged })
    }
}

/// Writes an answer as JSON.
pub(super) fn to_json(answer: &Answer) -> Result<String, String> {
    serde_json::to_string(answer)
        .map_err(|error| format!("the answer cannot be written as JSON: {error}"))
}

/// Returns the object under the first of these keys that exists, creating it if none does.
pub(super) fn object<'a>(parent: &'a mut Object, keys: &[&'static str]) -> Option<&'a mut Object> {
    let key = keys.iter().find(|key| parent.contains_key(**key)).or_else(|| keys.first())?;
    let value = parent.entry((*key).to_owned()).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Object::default());
    }
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Adds the keys that are missing.
pub(super) fn add(target: &mut Object, config: &Object) {
    for (key, value) in config {
        if !target.contains_key(key) {
            target.insert(key.clone(), value.clone());
        }
    }
}

/// Adds a threshold to an object without one.
pub(super) fn add_threshold(target: &mut Object, threshold: Option<f64>) {
    if let Some(threshold) = threshold
        && target.get("threshold").is_none_or(Value::is_null)
    {
        target.insert("threshold".to_owned(), Value::Float(threshold));
    }
}
