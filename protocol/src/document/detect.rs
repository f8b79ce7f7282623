//! Detection of the contract of a document by its top-level keys.
//!
//! The contract of a document follows from its keys alone, in one pass, never from values: a document with a `null` or
//! a value of the wrong type is still detected, and the error names the field.

use std::{collections::BTreeMap, fmt};

use serde_core::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use crate::{
    Contract, DecodeError, EvalInput,
    agentv::in_snake_case,
    contract::{
        ACTUAL, AGENTEVALS, ANSWER, EVAL_METRIC, INVOCATIONS, KEYS, LACKING, MARKS,
        NEEDED_BY_OTHERS, OF_AGENTEVALS, OF_AGENTV, OF_ANOTHER, OTHERS, OUTPUT, QUESTION, RESULTS,
        Row,
    },
    decode,
    object::Object,
};

/// The set of keys of a document that distinguish contracts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys(u32);

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
            ([], []) => {
                let keys = |contract: &Contract| format!("{} ({contract})", contract.keys());
                let keys: Vec<_> = Contract::ALL.iter().map(keys).collect();
                let keys = keys.join(", nor ");
                write!(f, "the document matches no known contract: it has neither {keys}")
            }
            ([], reasons) => {
                write!(f, "the document matches no known contract: {}", reasons.join(", or "))
            }
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
    (!others.has_any(NEEDED_BY_OTHERS)).then_some(input)
}
