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

/// Keys that only documents of one host have.
const DOCUMENT_KEYS: [(Contract, &[&str]); 3] = [
    (
        Contract::AgentV,
        &[
            "candidate_answer",
            "expected_outcome",
            "reference_answer",
            "expected_messages",
            "input_messages",
            "output_messages",
            "trace_summary",
        ],
    ),
    (Contract::Adk, &["actual_invocations", "eval_metric"]),
    (Contract::Agenta, &["correct_answer", "app_params"]),
];

/// Keys of AgentV that its document has only if something is given, and what to give.
const OPTIONAL_KEYS: [(&[&str], &str); 2] = [
    (&["criteria", "expected_outcome"], "give `criteria` in the `config` of its entry"),
    (
        &["reference_answer", "expected_output_text"],
        "give an eval set with an expected answer for the last turn",
    ),
];

/// What to do about an evaluator that ended because its document is not as it needs it: a key is missing, or a program of the
/// SDK says that the contract is another one. `contract` is that of its entry.
pub(crate) fn missed(contract: Option<Contract>, stderr: &str) -> Option<String> {
    let last = stderr.trim_end().lines().next_back()?;
    let missing_key = || {
        Some(last.strip_prefix("KeyError: ")?.trim_matches(['\'', '"']))
            .filter(|key| !key.is_empty())
    };
    if let Some(contract) = contract {
        let key = missing_key().filter(|_| contract == Contract::AgentV)?;
        let (_, cure) = OPTIONAL_KEYS.into_iter().find(|(keys, _)| keys.contains(&key))?;
        return Some(format!("the document has no `{key}` here: {cure}"));
    }
    if let Some((_, rest)) = last.split_once("is written against the contract `") {
        let contract: Contract = rest.split('`').next()?.parse().ok()?;
        return Some(format!("add `contract: {contract}` to its entry"));
    }
    let key = missing_key()?;
    let (contract, _) = DOCUMENT_KEYS.into_iter().find(|(_, keys)| keys.contains(&key))?;
    let host = host_of(contract);
    Some(format!("`{key}` is a key of {host}'s documents: add `contract: {contract}` to its entry"))
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
