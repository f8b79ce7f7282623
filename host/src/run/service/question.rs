//! From the body of a request to the document that the evaluator is given.

use evaluator_protocol::{
    Contract, DecodeError, Document as Any, EvalInput, EvalResult, JsonObject, ReadError, Reply,
    agenta,
};

use super::offer::Defaults;
use crate::{
    json::{self, NonFinite, Object, ParseOptions, Value},
    pool::Document,
};

/// A document for an evaluator of the default contract.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) document: Document,
    /// Number of turns in it.
    pub(super) turns: usize,
    /// How it is to be answered.
    pub(super) reply: Reply,
    /// What the evaluator does not get to see.
    pub(super) dropped: Vec<String>,
    /// What is told where there is nothing to judge, and so no evaluator to ask.
    pub(super) unjudged: Option<EvalResult>,
}

impl Question {
    /// Reads a document of any contract and completes it.
    pub(super) fn read(name: &str, body: &[u8], defaults: &Defaults) -> Result<Self, ReadError> {
        match Any::read(body)? {
            Any::Agentevals(input) => Ok(Self {
                turns: input.invocations.len(),
                document: Document::from(
                    completed(body, Contract::Agentevals, defaults).as_slice(),
                ),
                reply: Reply::Agentevals,
                dropped: Vec::new(),
                unjudged: None,
            }),
            Any::Agenta(input) => {
                let said = input.parameters().is_some_and(says_threshold);
                let parameters = parameters(input.parameters(), &defaults.config);
                let input = input.with_parameters(parameters).map_err(ReadError::Decode)?;
                Self::convert(name, Any::Agenta(Box::new(input)), said, defaults)
            }
            Any::Adk(input) => {
                let said = matches!(input.reply(), Reply::Adk { threshold: Some(_), .. });
                Self::convert(name, Any::Adk(input), said, defaults)
            }
            other => Self::convert(name, other, false, defaults),
        }
    }

    fn convert(
        name: &str,
        document: Any,
        says_threshold: bool,
        defaults: &Defaults,
    ) -> Result<Self, ReadError> {
        let mut reply = document.reply();
        let unjudged = document.unjudged();
        let converted = document.to_eval_input(name).map_err(ReadError::Decode)?;
        let mut input = converted.input;
        for (key, value) in &defaults.config {
            // Where the correct answer is was said before.
            if key != CORRECT_ANSWER_KEY || !matches!(reply, Reply::Agenta { .. }) {
                input.config.entry(key.as_str()).or_insert_with(|| value.into());
            }
        }
        if let Some(own) = defaults.threshold.filter(|_| !says_threshold) {
            input.threshold = own;
            match &mut reply {
                Reply::Agenta { threshold, .. } => *threshold = own,
                Reply::Adk { threshold, .. } => *threshold = Some(own),
                _ => {}
            }
        }
        let turns = input.invocations.len();
        Ok(Self { document: text(&input)?, turns, reply, dropped: converted.dropped, unjudged })
    }
}

/// The parameter of Agenta that names the input with the correct answer.
const CORRECT_ANSWER_KEY: &str = "correct_answer_key";

/// The parameters of a document of Agenta, completed. Its threshold is seen to elsewhere, since none of them may be 0.
fn parameters(given: Option<&JsonObject>, config: &Object) -> JsonObject {
    let mut parameters = given.cloned().unwrap_or_default();
    for (key, value) in config.iter().filter(|(key, _)| *key != "threshold") {
        parameters.entry(key.as_str()).or_insert_with(|| value.into());
    }
    parameters
}

fn says_threshold(parameters: &JsonObject) -> bool {
    let given = parameters.get("threshold");
    // What counts as none is as good as absent.
    given.is_some_and(|given| {
        agenta::threshold(Some(given)) != Ok(agenta::DEFAULT_THRESHOLD)
            || given.as_f64() == Some(0.5)
    })
}

fn text(input: &EvalInput) -> Result<Document, ReadError> {
    let text = serde_json::to_vec(input).map_err(|error| {
        ReadError::Decode(DecodeError::shape("", format!("it cannot be passed on: {error}")))
    })?;
    Ok(Document::from(text.as_slice()))
}

/// The text of a document with what it does not say. One that is not what it should be is for the evaluator to refuse.
pub(super) fn completed(body: &[u8], contract: Contract, defaults: &Defaults) -> Vec<u8> {
    let unchanged = || body.to_vec();
    if defaults.config.is_empty() && defaults.threshold.is_none() {
        return unchanged();
    }
    let options = ParseOptions { non_finite: false, ..ParseOptions::default() };
    let Ok(text) = str::from_utf8(body) else { return unchanged() };
    let Ok(json::Parsed { value: Value::Object(mut document), .. }) = json::parse(text, &options)
    else {
        return unchanged();
    };
    if complete(&mut document, contract, defaults).is_none() {
        return unchanged();
    }
    json::to_string(&Value::Object(document), NonFinite::Null).into_bytes()
}

/// `None` when there is something where the settings should be that has no room for them.
fn complete(document: &mut Object, contract: Contract, defaults: &Defaults) -> Option<()> {
    match contract {
        Contract::Agenta => {
            let parameters = object(document, &["parameters"])?;
            add(parameters, &defaults.config);
            if let Some(threshold) = defaults.threshold.filter(|threshold| *threshold > 0.0) {
                add_threshold(parameters, threshold);
            }
        }
        Contract::Adk => {
            let metric = object(document, &["eval_metric", "evalMetric"])?;
            let says = metric.get("threshold").is_some_and(|given| !given.is_null());
            let criterion = object(metric, &["criterion"])?;
            add(criterion, &defaults.config);
            if let Some(threshold) = defaults.threshold.filter(|_| !says) {
                add_threshold(criterion, threshold);
            }
        }
        // The threshold of AgentV is its own, and no part of the document.
        Contract::AgentV => add(object(document, &["config"])?, &defaults.config),
        _ => {
            add(object(document, &["config"])?, &defaults.config);
            if let Some(threshold) = defaults.threshold {
                add_threshold(document, threshold);
            }
        }
    }
    Some(())
}

/// The object under the first of these keys that is there, made where none is.
fn object<'a>(parent: &'a mut Object, keys: &[&'static str]) -> Option<&'a mut Object> {
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

fn add(target: &mut Object, config: &Object) {
    for (key, value) in config {
        if !target.contains_key(key) {
            target.insert(key.clone(), value.clone());
        }
    }
}

fn add_threshold(target: &mut Object, threshold: f64) {
    let given = target.get("threshold");
    if given.is_none_or(Value::is_null) {
        target.insert("threshold".to_owned(), Value::Float(threshold));
    }
}
