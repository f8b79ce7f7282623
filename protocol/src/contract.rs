//! The supported contracts.

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
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agentevals => "agentevals",
            Self::AgentV => "agentv",
            Self::Adk => "adk",
            Self::Agenta => "agenta",
        }
    }

    /// Returns the names of all contracts, separated by commas.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.iter().map(|contract| contract.name()).collect::<Vec<_>>().join(", ")
    }
}

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
