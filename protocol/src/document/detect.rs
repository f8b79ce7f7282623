//! Detection of the contract of a document by its top-level keys.
//!
//! The contract of a document follows from its keys alone, in one pass, never from values: a document with a `null` or
//! a value of the wrong type is still detected, and the error names the field.

use std::{collections::BTreeMap, fmt};

use serde_core::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use crate::{Contract, DecodeError, EvalInput, agentv::in_snake_case, decode, object::Object};

/// The set of keys of a document that distinguish contracts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys(u32);

/// The bit of each key. Keys of the same meaning share one. Hosts other than agentevals also write keys in camelCase.
const KEYS: &[(&str, u32)] = &[
    ("metric_name", METRIC_NAME),
    ("invocations", INVOCATIONS),
    ("expected_invocations", INVOCATIONS),
    ("candidate_answer", CANDIDATE_ANSWER),
    ("criteria", CRITERIA),
    ("output", OUTPUT),
    ("answer", ANSWER),
    ("output_text", ANSWER),
    ("output_path", ANSWER),
    ("question", QUESTION),
    ("input_text", QUESTION),
    ("expected_outcome", OF_AGENTV),
    ("reference_answer", OF_AGENTV),
    ("expected_output", OF_AGENTV),
    ("expected_output_text", OF_AGENTV),
    ("expected_messages", OF_AGENTV),
    ("input_messages", OF_AGENTV),
    ("output_messages", OF_AGENTV),
    ("guideline_files", OF_AGENTV),
    ("input_files", OF_AGENTV),
    ("trace_summary", OF_AGENTV),
    ("file_changes", OF_AGENTV),
    ("workspace_path", OF_AGENTV),
    ("results", RESULTS),
    ("eval_metric", EVAL_METRIC),
    ("actual_invocations", ACTUAL),
    ("inputs", INPUTS),
    ("outputs", OUTPUTS),
    ("app_params", PARAMETERS),
    ("parameters", PARAMETERS),
    ("correct_answer", CORRECT_ANSWER),
    ("protocol_version", OF_AGENTEVALS),
    ("threshold", OF_AGENTEVALS),
    ("config", OF_AGENTEVALS),
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
const INVOCATIONS: u32 = 1 << 11;
const QUESTION: u32 = 1 << 12;
const RESULTS: u32 = 1 << 13;
/// Keys that only AgentV writes.
const OF_AGENTV: u32 = 1 << 14;
/// Keys that suggest agentevals if no other key decides.
const OF_AGENTEVALS: u32 = 1 << 15;
/// Keys of agentevals, which are never in camelCase.
const AGENTEVALS: u32 = METRIC_NAME | INVOCATIONS | OF_AGENTEVALS;
/// Keys that decide nothing.
const OTHERS: u32 = 1 << 16;

/// A contract, keys that a document has, of which all and (unless 0) any are needed, and a text.
type Row = (Contract, u32, u32, &'static str);

/// The keys by which documents match a contract; the first row of a contract counts.
const MARKS: &[Row] = &[
    (Contract::Agentevals, METRIC_NAME, 0, "`metric_name`"),
    (Contract::AgentV, CANDIDATE_ANSWER, 0, "`candidate_answer`"),
    (Contract::AgentV, CRITERIA, OUTPUT | ANSWER, "`criteria` with an answer"),
    (Contract::Adk, EVAL_METRIC | ACTUAL, 0, "`eval_metric` with `actual_invocations`"),
    (Contract::Agenta, INPUTS | OUTPUT, 0, "`inputs` with `output`"),
    (Contract::Agenta, INPUTS | OUTPUTS, 0, "`inputs` with `outputs`"),
    (Contract::Agenta, INPUTS | PARAMETERS, 0, "`inputs` with `parameters`"),
    (Contract::Agenta, PARAMETERS | CORRECT_ANSWER, 0, "`app_params` with `correct_answer`"),
];

/// What documents with these keys lack to match a contract. The decoder reports missing fields of the default contract.
const LACKING: &[Row] = &[
    (
        Contract::AgentV,
        CRITERIA,
        0,
        "an answer (`output`, `answer`, `output_text` or `output_path`)",
    ),
    (Contract::AgentV, 0, OUTPUT | ANSWER, "`criteria`"),
    (Contract::AgentV, 0, QUESTION | OF_AGENTV, "`candidate_answer`"),
    (Contract::Adk, EVAL_METRIC, 0, "`actual_invocations`"),
    (Contract::Adk, ACTUAL, 0, "`eval_metric`"),
    (Contract::Agenta, INPUTS, 0, "`output` or `outputs`"),
    (Contract::Agenta, 0, OUTPUT | OUTPUTS | PARAMETERS | CORRECT_ANSWER, "`inputs`"),
];

impl Keys {
    /// Reads the keys of a document.
    pub(super) fn of(document: &[u8]) -> Result<Self, DecodeError> {
        let members: BTreeMap<String, IgnoredAny> = decode(document)?;
        let mut keys = Self::default();
        members.keys().for_each(|key| keys.insert(key));
        Ok(keys)
    }

    fn insert(&mut self, key: &str) {
        let bit = |key: &str| Some(KEYS.iter().find(|(known, _)| *known == key)?.1);
        let camel = || bit(&in_snake_case(key)).filter(|bit| bit & AGENTEVALS == 0);
        self.0 |= bit(key).or_else(camel).unwrap_or(OTHERS);
    }

    fn has(self, all: u32) -> bool {
        self.0 & all == all
    }

    fn has_any(self, any: u32) -> bool {
        self.0 & any != 0
    }

    /// Returns true if a document with these keys, which match no contract, is an incomplete document of AgentV, as people
    /// write them to try a judge. The document of a composite evaluator's aggregator has a single key, which is not specific
    /// to AgentV.
    fn is_part_of_agentv(self) -> bool {
        const OF_ANOTHER: u32 = METRIC_NAME
            | INVOCATIONS
            | EVAL_METRIC
            | ACTUAL
            | INPUTS
            | OUTPUTS
            | PARAMETERS
            | CORRECT_ANSWER;
        let resembles = self.has(OF_AGENTV) || self.has(QUESTION) && self.has_any(OUTPUT | ANSWER);
        resembles && !self.has_any(OF_ANOTHER) || self.0 & !OTHERS == RESULTS
    }

    /// Returns the text of the first row of each contract that these keys match.
    fn find(self, rows: &[Row]) -> Vec<(Contract, &'static str)> {
        let mut found: Vec<(Contract, &str)> = Vec::new();
        for &(contract, all, any, text) in rows {
            let matches = self.has(all) && (any == 0 || self.has_any(any));
            if matches && found.last().is_none_or(|(last, _)| *last != contract) {
                found.push((contract, text));
            }
        }
        found
    }

    /// Returns the contract that documents with these keys match.
    pub(super) fn contract(self) -> Result<Contract, Undetected> {
        let candidates = self.find(MARKS);
        match candidates[..] {
            [(contract, _)] => return Ok(contract),
            [_, _, ..] => {
                let (candidates, marks): (_, Vec<&str>) = candidates.into_iter().unzip();
                let reasons = marks.into_iter().map(str::to_owned).collect();
                return Err(Undetected { candidates, reasons });
            }
            [] if self.is_part_of_agentv() => return Ok(Contract::AgentV),
            [] => {}
        }
        let nearly = self.find(LACKING);
        // Decoding it as a document of the default contract gives the best error.
        let unmarked = nearly.is_empty() && (self.0 == 0 || self.has(OF_AGENTEVALS));
        let of_adk = self.has_any(EVAL_METRIC | ACTUAL);
        if self.has(INVOCATIONS) && !of_adk || unmarked {
            return Ok(Contract::Agentevals);
        }
        let reasons = nearly
            .into_iter()
            .map(|(contract, lacking)| format!("for {contract} it lacks {lacking}"))
            .collect();
        Err(Undetected { candidates: Vec::new(), reasons })
    }
}

/// Error: a document matches no contract, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undetected {
    /// The contracts it matches; none or at least two.
    pub candidates: Vec<Contract>,
    /// If there are candidates: the keys by which the document matches each of them. Otherwise: the keys that it lacks to
    /// match the contracts that it resembles.
    reasons: Vec<String>,
}

impl fmt::Display for Undetected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.candidates[..], &self.reasons[..]) {
            ([], []) => f.write_str(
                "the document matches no known contract: it has neither `metric_name` (agentevals), nor `candidate_answer` \
                 or `criteria` with an answer (agentv), nor `eval_metric` with `actual_invocations` (adk), nor `inputs` \
                 with `output` or `outputs` (agenta)",
            ),
            ([], reasons) => write!(
                f,
                "the document matches no known contract: {}",
                reasons.join(", or ")
            ),
            (candidates, marks) => {
                let names: Vec<&str> = candidates.iter().map(|contract| contract.name()).collect();
                write!(
                    f,
                    "the document may be of several contracts: {}; choose with --contract (it has {})",
                    names.join(", "),
                    marks.join(", and ")
                )
            }
        }
    }
}

impl std::error::Error for Undetected {}

/// Decodes a document of agentevals in the pass that detects its contract, because these documents come by the thousand.
/// Returns `None` if it may be a document of another contract or has an error.
pub(super) fn read_agentevals(document: &[u8]) -> Option<EvalInput> {
    /// Reads the document and the keys it has besides.
    struct WithKeys(Keys);

    impl<'de> Visitor<'de> for WithKeys {
        type Value = (EvalInput, Keys);

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<Self::Value, A::Error> {
            let input = EvalInput::visit(map, &mut |key| self.0.insert(key))?;
            Ok((input, self.0))
        }
    }

    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let (input, others) = deserializer.deserialize_map(WithKeys(Keys::default())).ok()?;
    deserializer.end().ok()?;
    // Each other contract needs one of these.
    const OF_OTHERS: u32 = CANDIDATE_ANSWER | CRITERIA | EVAL_METRIC | INPUTS | PARAMETERS;
    (!others.has_any(OF_OTHERS)).then_some(input)
}
