//! What a program says of itself when it is run with `--describe`.

use serde::{Deserialize, Serialize};

use crate::ProtocolVersion;

/// What is in an evaluator program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// Name of the toolkit the program was written with, e.g. `evaluator-sdk`.
    pub sdk: String,
    /// Its version.
    pub sdk_version: String,
    /// The newest protocol version the program reads and the one it writes.
    pub protocol_version: ProtocolVersion,
    /// What the program can do beyond one document in, one out.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// The evaluators in it.
    pub evaluators: Vec<EvaluatorDescription>,
}

impl Description {
    /// A description without evaluators.
    pub fn new(sdk: impl Into<String>, sdk_version: impl Into<String>) -> Self {
        Self {
            sdk: sdk.into(),
            sdk_version: sdk_version.into(),
            protocol_version: ProtocolVersion::CURRENT,
            capabilities: Vec::new(),
            evaluators: Vec::new(),
        }
    }

    /// The description as one line of JSON, with its line feed.
    ///
    /// # Errors
    ///
    /// When a schema cannot be written as JSON.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// Whether the program has the streaming form.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.capabilities.contains(&Capability::Stream)
    }

    /// Whether its streaming form numbers the answers to numbered lines.
    #[must_use]
    pub fn numbers(&self) -> bool {
        self.streams() && self.capabilities.contains(&Capability::Numbered)
    }
}

/// Something a program can do beyond one document in, one out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capability {
    /// It answers one line per line with `--stream`.
    Stream,
    /// It answers numbered lines by numbered lines, see [`Number`](crate::Number).
    Numbered,
    /// Something a newer program can do.
    #[serde(untagged)]
    Other(String),
}

/// One evaluator of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvaluatorDescription {
    /// Name.
    pub name: String,
    /// What it scores, in its author's words; empty when the author said nothing.
    #[serde(default)]
    pub description: String,
    /// The contract it is written against, e.g. `agentevals`.
    pub contract: String,
    /// Whether it refuses documents of an unknown major protocol version.
    #[serde(default)]
    pub strict: bool,
    /// JSON Schema of its config; `None` when it takes none or the program was built without schemas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<serde_json::Value>,
}

impl EvaluatorDescription {
    /// A description with a name and a contract.
    pub fn new(name: impl Into<String>, contract: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            contract: contract.into(),
            strict: false,
            config_schema: None,
        }
    }
}
