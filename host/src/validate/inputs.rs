//! Documents with which evaluators are tested.

use evaluator_protocol::ProtocolVersion;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Threshold in all documents.
pub(super) const THRESHOLD: f64 = 0.5;

/// Documents of every kind that a host may send, without settings.
const INPUTS: &str = include_str!("inputs.json");

/// A document with which an evaluator is tested.
#[derive(Deserialize)]
pub(super) struct Input {
    /// Name in messages.
    pub(super) name: String,
    document: Map<String, Value>,
}

impl Input {
    /// Returns the number of turns.
    pub(super) fn turns(&self) -> usize {
        self.document["invocations"].as_array().map_or(0, Vec::len)
    }

    /// Returns the text of the document.
    pub(super) fn text(&self) -> String {
        Value::Object(self.document.clone()).to_string()
    }
}

/// Returns the documents for an evaluator.
///
/// # Errors
///
/// The file with the documents is not JSON, which a test prevents.
pub(super) fn all(evaluator: &str) -> Result<Vec<Input>, String> {
    let mut inputs: Vec<Input> =
        serde_json::from_str(INPUTS).map_err(|error| format!("inputs.json: {error}"))?;
    for input in &mut inputs {
        let settings = [
            ("protocol_version", Value::from(ProtocolVersion::CURRENT.to_string())),
            ("metric_name", evaluator.into()),
            ("threshold", THRESHOLD.into()),
            ("config", Value::Object(Map::new())),
        ];
        input.document.extend(settings.map(|(key, value)| (key.to_owned(), value)));
    }
    Ok(inputs)
}

#[cfg(test)]
mod tests {
    use evaluator_protocol::EvalInput;

    use super::*;

    #[test]
    fn they_are_documents_of_the_contract() {
        let inputs = all("polite").unwrap();
        assert_eq!(inputs.iter().map(Input::turns).collect::<Vec<_>>(), [1, 3, 0, 2, 1]);
        for input in inputs {
            let read = EvalInput::from_json(input.text().as_bytes()).unwrap();
            assert_eq!(read.invocations.len(), input.turns(), "{}", input.name);
            assert_eq!(read.metric_name, "polite");
        }
    }
}
