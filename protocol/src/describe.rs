//! Descriptions of evaluators: the output of `--describe`, the manifest `evaluator.yaml`, and evaluators as values.

use std::fmt;

use serde_json::Value;

use crate::{
    ProtocolVersion,
    object::{object, open_enum},
};

object! {
    /// Description of an evaluator program, as `--describe` prints it.
    pub struct Description: sparse {
        /// Name of the toolkit the program was written with, e.g. `evaluator-sdk`.
        sdk: String = required,
        /// Version of the toolkit.
        sdk_version: String = required,
        /// The newest protocol version the program reads and the one it writes.
        protocol_version: ProtocolVersion = required,
        /// Capabilities beyond one document in, one out.
        capabilities: Vec<Capability>,
        /// The evaluators of the program.
        evaluators: Vec<EvaluatorDescription> = required,
    }
}

impl Description {
    /// Creates a description without evaluators.
    pub fn new(sdk: impl Into<String>, sdk_version: impl Into<String>) -> Self {
        Self { sdk: sdk.into(), sdk_version: sdk_version.into(), ..Self::blank() }
    }

    /// Returns the description as one line of JSON, with its line feed.
    ///
    /// # Errors
    ///
    /// A schema cannot be written as JSON.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// Returns true if the program has the streaming form.
    pub fn streams(&self) -> bool {
        self.capabilities.contains(&Capability::Stream)
    }

    /// Returns true if the streaming form numbers the answers to numbered lines.
    pub fn numbers(&self) -> bool {
        self.streams() && self.capabilities.contains(&Capability::Numbered)
    }

    /// Returns true if the streaming form takes a target proxy for each numbered line.
    pub fn takes_targets(&self) -> bool {
        self.numbers() && self.capabilities.contains(&Capability::Target)
    }
}

open_enum! {
    /// A capability of a program beyond one document in, one out.
    Capability {
        /// Answers each line with a line, with `--stream`.
        Stream = "stream",
        /// Answers numbered lines by numbered lines, see [`Number`](crate::Number).
        Numbered = "numbered",
        /// Takes the address and the token of a target proxy for each numbered line, see
        /// [`TargetAccess`](crate::TargetAccess).
        Target = "target",
    }
}

object! {
    /// Description of one evaluator of a program.
    pub struct EvaluatorDescription: sparse {
        /// Name.
        name: String = required,
        /// What it scores, as text; empty without documentation.
        description: String,
        /// The contract it is written against, e.g. `agentevals`.
        contract: String = required,
        /// Whether it refuses documents of an unknown major protocol version.
        strict: bool,
        /// JSON Schema of its config; `None` if it takes none or the program was built without schemas.
        config_schema: Option<Value>,
    }
}

impl EvaluatorDescription {
    /// Creates a description with a name and a contract.
    pub fn new(name: impl Into<String>, contract: impl Into<String>) -> Self {
        Self { name: name.into(), contract: contract.into(), ..Self::blank() }
    }
}

object! {
    /// The manifest of an evaluator: `evaluator.yaml` in its directory.
    #[derive(Default, Eq)]
    pub struct Manifest: sparse {
        /// Name, as used in `name:` of a configuration.
        name: String = required,
        /// What it scores.
        description: String,
        /// Language: `rust`, `python`, `javascript` or `typescript`.
        language: String,
        /// File that is run, relative to the manifest.
        entrypoint: String = required,
        /// Search terms.
        tags: Vec<String>,
        /// Author.
        author: String,
    }
}

/// An evaluator that is linked into the program that runs it, and needs no process.
///
/// Evaluators written with the SDK implement it (`name::EVALUATOR`).
pub trait LinkedEvaluator: fmt::Debug + Send + Sync {
    /// Returns the name that configurations use.
    fn name(&self) -> &str;

    /// Returns what it scores, as text; empty without documentation.
    fn description(&self) -> String;

    /// Evaluates one document, and returns the line its program would print for it in the streaming form, a
    /// [`Frame`](crate::Frame).
    ///
    /// A panic of the evaluator is an error in that line. The host reports panics that get past this method.
    fn answer(&self, document: &[u8]) -> Vec<u8>;
}
