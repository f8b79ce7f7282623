//! The supported contracts, and the keys by which their documents are detected.

use std::{fmt, str::FromStr};

/// A contract: the documents of one host, and the form of the answers it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Contract {
    /// agentevals: [`EvalInput`](crate::EvalInput) in, [`EvalResult`](crate::EvalResult) out. The default.
    Agentevals,
    /// AgentV, code judges of every generation: see [`agentv`](crate::agentv).
    AgentV,
    /// Custom metrics of Google's Agent Development Kit: see [`adk`](crate::adk).
    Adk,
    /// Agenta, in each of its ways to call evaluators: see [`agenta`](crate::agenta).
    Agenta,
}

impl Contract {
    /// All contracts.
    pub const ALL: &'static [Self] = &[Self::Agentevals, Self::AgentV, Self::Adk, Self::Agenta];

    /// Returns the name that `#[evaluator(contract = ..)]` and `--contract` use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agentevals => "agentevals",
            Self::AgentV => "agentv",
            Self::Adk => "adk",
            Self::Agenta => "agenta",
        }
    }

    /// Returns the keys of its documents, for messages.
    pub(crate) const fn keys(self) -> &'static str {
        match self {
            Self::Agentevals => "`metric_name`",
            Self::AgentV => "`candidate_answer` or `criteria` with an answer",
            Self::Adk => "`eval_metric` with `actual_invocations`",
            Self::Agenta => "`inputs` with `output` or `outputs`",
        }
    }

    /// Returns the names of all contracts, separated by commas.
    pub fn names() -> String {
        Self::ALL.iter().map(|contract| contract.name()).collect::<Vec<_>>().join(", ")
    }
}

/// The bit of each key. Keys of the same meaning share one. Hosts other than agentevals also write keys in camelCase.
pub(crate) const KEYS: &[(&str, u32)] = &[
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
pub(crate) const OUTPUT: u32 = 1 << 3;
pub(crate) const ANSWER: u32 = 1 << 4;
pub(crate) const EVAL_METRIC: u32 = 1 << 5;
pub(crate) const ACTUAL: u32 = 1 << 6;
const INPUTS: u32 = 1 << 7;
const OUTPUTS: u32 = 1 << 8;
const PARAMETERS: u32 = 1 << 9;
const CORRECT_ANSWER: u32 = 1 << 10;
pub(crate) const INVOCATIONS: u32 = 1 << 11;
pub(crate) const QUESTION: u32 = 1 << 12;
pub(crate) const RESULTS: u32 = 1 << 13;
/// Keys that only AgentV writes.
pub(crate) const OF_AGENTV: u32 = 1 << 14;
/// Keys that suggest agentevals if no other key decides.
pub(crate) const OF_AGENTEVALS: u32 = 1 << 15;
/// Keys of agentevals, which are never in camelCase.
pub(crate) const AGENTEVALS: u32 = METRIC_NAME | INVOCATIONS | OF_AGENTEVALS;
/// Keys of contracts other than AgentV.
pub(crate) const OF_ANOTHER: u32 = METRIC_NAME
    | INVOCATIONS
    | EVAL_METRIC
    | ACTUAL
    | INPUTS
    | OUTPUTS
    | PARAMETERS
    | CORRECT_ANSWER;
/// Keys of which a document of each contract but agentevals has one.
pub(crate) const NEEDED_BY_OTHERS: u32 =
    CANDIDATE_ANSWER | CRITERIA | EVAL_METRIC | INPUTS | PARAMETERS;
/// Keys that decide nothing.
pub(crate) const OTHERS: u32 = 1 << 16;

/// A contract, keys that a document has, of which all and (unless 0) any are needed, and a text.
pub(crate) type Row = (Contract, u32, u32, &'static str);

/// The keys by which documents match a contract; the first row of a contract counts.
pub(crate) const MARKS: &[Row] = &[
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
pub(crate) const LACKING: &[Row] = &[
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

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: a contract with this name does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownContract {
    name: String,
}

impl fmt::Display for UnknownContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no contract `{}`; there are {}", self.name, Contract::names())
    }
}

impl std::error::Error for UnknownContract {}

impl FromStr for Contract {
    type Err = UnknownContract;

    fn from_str(name: &str) -> Result<Self, UnknownContract> {
        let known = Self::ALL.iter().copied().find(|contract| contract.name() == name);
        known.ok_or_else(|| UnknownContract { name: name.to_owned() })
    }
}
