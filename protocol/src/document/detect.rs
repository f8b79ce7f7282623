//! Which contract a document is of, told by the keys at its top.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use crate::Contract;

/// The keys by which contracts are told apart, those that a document has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys(u32);

/// Key by key: its bit. Two spellings of a key have the same.
const KEYS: &[(&str, u32)] = &[
    ("metric_name", METRIC_NAME),
    ("candidate_answer", CANDIDATE_ANSWER),
    ("candidateAnswer", CANDIDATE_ANSWER),
    ("criteria", CRITERIA),
    ("output", OUTPUT),
    ("answer", ANSWER),
    ("output_text", ANSWER),
    ("outputText", ANSWER),
    ("output_path", ANSWER),
    ("outputPath", ANSWER),
    ("eval_metric", EVAL_METRIC),
    ("evalMetric", EVAL_METRIC),
    ("actual_invocations", ACTUAL),
    ("actualInvocations", ACTUAL),
    ("inputs", INPUTS),
    ("outputs", OUTPUTS),
    ("app_params", PARAMETERS),
    ("appParams", PARAMETERS),
    ("parameters", PARAMETERS),
    ("correct_answer", CORRECT_ANSWER),
    ("correctAnswer", CORRECT_ANSWER),
    ("question", QUESTION),
    ("input_text", QUESTION),
    ("inputText", QUESTION),
    ("expected_outcome", AGENTV),
    ("expectedOutcome", AGENTV),
    ("reference_answer", AGENTV),
    ("referenceAnswer", AGENTV),
    ("expected_output", AGENTV),
    ("expectedOutput", AGENTV),
    ("expected_output_text", AGENTV),
    ("expectedOutputText", AGENTV),
    ("expected_messages", AGENTV),
    ("expectedMessages", AGENTV),
    ("input_messages", AGENTV),
    ("inputMessages", AGENTV),
    ("output_messages", AGENTV),
    ("outputMessages", AGENTV),
    ("guideline_files", AGENTV),
    ("guidelineFiles", AGENTV),
    ("input_files", AGENTV),
    ("inputFiles", AGENTV),
    ("trace_summary", AGENTV),
    ("traceSummary", AGENTV),
    ("file_changes", AGENTV),
    ("fileChanges", AGENTV),
    ("workspace_path", AGENTV),
    ("workspacePath", AGENTV),
    ("results", RESULTS),
    ("invocations", INVOCATIONS),
    ("expected_invocations", INVOCATIONS),
];

const METRIC_NAME: u32 = 1;
const CANDIDATE_ANSWER: u32 = 1 << 1;
const CRITERIA: u32 = 1 << 2;
const OUTPUT: u32 = 1 << 3;
const ANSWER: u32 = 1 << 4;
const EVAL_METRIC: u32 = 1 << 5;
const ACTUAL: u32 = 1 << 6;
const INPUTS: u32 = 1 << 7;
const OUTPUTS: u32 = 1 << 8;
const PARAMETERS: u32 = 1 << 9;
const CORRECT_ANSWER: u32 = 1 << 10;
const QUESTION: u32 = 1 << 20;
/// Keys that AgentV alone writes.
const AGENTV: u32 = 1 << 21;
const RESULTS: u32 = 1 << 22;
/// Keys of agentevals that do not tell it: they are there when `metric_name` was forgotten.
const INVOCATIONS: u32 = 1 << 23;

impl Keys {
    pub(super) fn note(&mut self, key: &str) {
        if let Some((_, bit)) = KEYS.iter().find(|(known, _)| *known == key) {
            self.0 |= bit;
        }
    }

    fn has(self, all: u32) -> bool {
        self.0 & all == all
    }

    fn has_any(self, any: u32) -> bool {
        self.0 & any != 0
    }

    /// Whether a document with these keys may be one of that contract.
    fn fits(self, contract: Contract) -> bool {
        match contract {
            Contract::Agentevals => self.has(METRIC_NAME),
            Contract::AgentV => {
                self.has(CANDIDATE_ANSWER) || self.has(CRITERIA) && self.has_any(OUTPUT | ANSWER)
            }
            Contract::Adk => self.has(EVAL_METRIC | ACTUAL),
            Contract::Agenta => {
                self.has(INPUTS) && self.has_any(OUTPUT | OUTPUTS | PARAMETERS)
                    || self.has(PARAMETERS | CORRECT_ANSWER)
            }
        }
    }

    /// Whether a document with these keys, which fits no contract, is a part of one of AgentV, as they are written by hand to
    /// try a judge. What the aggregator of a composite evaluator reads has but one key, which others may have as well.
    fn is_part_of_agentv(self) -> bool {
        const OF_OTHERS: u32 = METRIC_NAME
            | INVOCATIONS
            | EVAL_METRIC
            | ACTUAL
            | INPUTS
            | OUTPUTS
            | PARAMETERS
            | CORRECT_ANSWER;
        let looks_like_it = self.has(AGENTV) || self.has(QUESTION) && self.has_any(OUTPUT | ANSWER);
        looks_like_it && !self.has_any(OF_OTHERS) || self.0 == RESULTS
    }

    /// The contract.
    pub(super) fn contract(self) -> Result<Contract, Undetected> {
        let candidates: Vec<Contract> =
            Contract::ALL.into_iter().filter(|contract| self.fits(*contract)).collect();
        match candidates[..] {
            [contract] => Ok(contract),
            [] if self.is_part_of_agentv() => Ok(Contract::AgentV),
            _ => Err(Undetected { candidates }),
        }
    }
}

/// Reads an object for its keys.
impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Top;
        impl<'de> Visitor<'de> for Top {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Keys::default();
                while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    keys.note(&key);
                    map.next_value::<IgnoredAny>()?;
                }
                Ok(keys)
            }
        }
        deserializer.deserialize_map(Top)
    }
}

/// A document is of no contract, or may be of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undetected {
    /// The contracts it may be of; none or at least two.
    pub candidates: Vec<Contract>,
}

impl fmt::Display for Undetected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.candidates.iter().map(|contract| contract.name()).collect();
        match names[..] {
            [] => f.write_str(
                "the document is of no known contract: it has neither `metric_name` (agentevals), nor `candidate_answer` \
                 or `criteria` with an answer (agentv), nor `eval_metric` with `actual_invocations` (adk), nor `inputs` \
                 with `output` or `outputs` (agenta)",
            ),
            _ => write!(
                f,
                "the document may be of several contracts: {}; choose with --contract",
                names.join(", ")
            ),
        }
    }
}

impl std::error::Error for Undetected {}
