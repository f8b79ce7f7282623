//! Documents that a host sends itself, of any contract.

use evaluator_protocol::{Contract, Document, ReadError, Reply, detect};

use super::{
    HOSTS, foreign_contract,
    question::{Defaults, Question, add, add_threshold, object},
};
use crate::json::{self, NonFinite, ParseOptions, Value};

impl Question {
    /// Reads a document of any contract for the evaluator `name`, and adds the settings that it does not contain.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: the contract is not known, or a field cannot be read.
    pub fn read(name: &str, body: &[u8], defaults: &Defaults) -> Result<Self, ReadError> {
        match Document::read(body)? {
            Document::Agentevals(input) => Ok(Self {
                turns: input.invocations.len(),
                document: complete(body, Contract::Agentevals, defaults),
                contract: Contract::Agentevals,
                reply: Reply::Agentevals,
                dropped: Vec::new(),
                unjudged: None,
            }),
            document => match foreign_contract(document.contract()) {
                Some(foreign) => (foreign.question)(document, name, defaults),
                None => Self::convert(document, name, defaults, false),
            }
            .map_err(ReadError::Decode),
        }
    }
}

/// Returns true if a caller that sent `beginning` to `path` reads errors as plain text only. `contract` is the one of the
/// document, if it is known.
pub fn wants_plain_text(path: &str, contract: Option<Contract>, beginning: &[u8]) -> bool {
    let contract = contract.or_else(|| detect(beginning).ok());
    let mut foreign = HOSTS.iter().filter_map(|host| host.foreign);
    foreign.any(|foreign| (foreign.wants_plain_text)(path, contract, beginning))
}

/// Returns the text of a document with the settings that it does not contain. A malformed document is returned unchanged: the
/// evaluator refuses it.
pub fn complete(body: &[u8], contract: Contract, defaults: &Defaults) -> Vec<u8> {
    completed(body, contract, defaults).unwrap_or_else(|| body.to_vec())
}

fn completed(body: &[u8], contract: Contract, defaults: &Defaults) -> Option<Vec<u8>> {
    if defaults.config.is_empty() && defaults.threshold.is_none() {
        return None;
    }
    let options = ParseOptions { non_finite: false, ..ParseOptions::default() };
    let Value::Object(mut document) = json::parse(str::from_utf8(body).ok()?, &options).ok()?.value
    else {
        return None;
    };
    match foreign_contract(contract) {
        Some(foreign) => (foreign.add_defaults)(&mut document, defaults)?,
        None => {
            add(object(&mut document, &["config"])?, &defaults.config);
            add_threshold(&mut document, defaults.threshold);
        }
    }
    Some(json::to_string(&Value::Object(document), NonFinite::Null).into_bytes())
}
