//! Recognizes answers of other hosts where no contract is named.

use evaluator_protocol::Contract;

use crate::json::Value;

/// Keys that only answers of one host have.
const KEYS: [(Contract, &[&str]); 3] = [
    (Contract::AgentV, &["hits", "misses", "assertions", "checks", "reasoning", "pass"]),
    (
        Contract::Adk,
        &[
            "overall_score",
            "overall_eval_status",
            "per_invocation_results",
            "overallScore",
            "overallEvalStatus",
            "perInvocationResults",
        ],
    ),
    (Contract::Agenta, &["success"]),
];

/// Keys that only results of the default contract have.
const OWN: [&str; 2] = ["status", "per_invocation_scores"];

/// The contract of an answer that only its host understands, and what shows it. What no host has is of none.
pub(crate) fn foreign(document: &Value) -> Option<(Contract, String)> {
    let object = match document {
        Value::Object(object) => object,
        Value::Int(_) | Value::Float(_) => {
            return Some((Contract::Agenta, "a bare number".to_owned()));
        }
        Value::Bool(_) => return Some((Contract::Agenta, "true or false alone".to_owned())),
        _ => return None,
    };
    if OWN.iter().any(|key| object.contains_key(*key)) {
        return None;
    }
    KEYS.into_iter().find_map(|(contract, keys)| {
        let found: Vec<String> = keys
            .iter()
            .filter(|key| object.contains_key(**key))
            .map(|key| format!("`{key}`"))
            .collect();
        (!found.is_empty()).then(|| (contract, found.join(", ")))
    })
}

/// The name of a contract's host, as people write it.
pub(crate) fn host_of(contract: Contract) -> &'static str {
    match contract {
        Contract::AgentV => "AgentV",
        Contract::Adk => "Google ADK",
        Contract::Agenta => "Agenta",
        _ => "agentevals",
    }
}
