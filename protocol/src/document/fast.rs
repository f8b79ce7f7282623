//! Documents of agentevals, which are told and read in one pass: they are the ones that come by the thousand.

use serde::{Deserialize, Deserializer, de::IgnoredAny};

use crate::{
    EvalInput, InvocationData, JsonObject, ProtocolVersion,
    agentevals::{half, yes},
    lenient,
};

/// The document of agentevals, with one key of each way to be a document of another contract.
#[derive(Deserialize)]
struct Marked {
    #[serde(default)]
    protocol_version: ProtocolVersion,
    metric_name: String,
    #[serde(default = "half", deserialize_with = "lenient::float")]
    threshold: f64,
    #[serde(default)]
    config: JsonObject,
    #[serde(default)]
    invocations: Vec<InvocationData>,
    #[serde(default)]
    expected_invocations: Option<Vec<InvocationData>>,
    #[serde(default = "yes")]
    tool_calls_known: bool,
    #[serde(default, alias = "candidateAnswer")]
    candidate_answer: IsThere,
    #[serde(default)]
    criteria: IsThere,
    #[serde(default, alias = "evalMetric")]
    eval_metric: IsThere,
    #[serde(default)]
    inputs: IsThere,
    #[serde(default, alias = "appParams", alias = "parameters")]
    app_params: IsThere,
}

/// Whether a key is there, whatever its value.
#[derive(Default)]
struct IsThere(bool);

impl<'de> Deserialize<'de> for IsThere {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(true))
    }
}

/// The document, if it is a good one of agentevals and cannot be anything else.
pub(super) fn read(document: &[u8]) -> Option<EvalInput> {
    // serde would also read a struct from an array of its fields; no document is one.
    if document.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let marked: Marked = serde_json::from_slice(document).ok()?;
    let others = [
        marked.candidate_answer,
        marked.criteria,
        marked.eval_metric,
        marked.inputs,
        marked.app_params,
    ];
    if others.iter().any(|IsThere(is_there)| *is_there) {
        return None;
    }
    Some(EvalInput {
        protocol_version: marked.protocol_version,
        metric_name: marked.metric_name,
        threshold: marked.threshold,
        config: marked.config,
        invocations: marked.invocations,
        expected_invocations: marked.expected_invocations,
        tool_calls_known: marked.tool_calls_known,
    })
}
