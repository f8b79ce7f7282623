//! The hosts there are.

use std::fmt;

use evaluator_protocol::Contract;

/// A host that evaluators are exported for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// agentevals: a Python file, since its configuration takes no others than `.py`, `.js` and `.ts`.
    Agentevals,
    /// AgentV: an entry for each of its generations.
    AgentV,
    /// Google's ADK: a Python module and an `EvalConfig`.
    Adk,
    /// Agenta: custom code for each of its interfaces, and the settings of a webhook.
    Agenta,
    /// promptfoo: a Python assertion.
    Promptfoo,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Agentevals, Self::AgentV, Self::Adk, Self::Agenta, Self::Promptfoo];

    /// The name that `--for` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agentevals => "agentevals",
            Self::AgentV => "agentv",
            Self::Adk => "adk",
            Self::Agenta => "agenta",
            Self::Promptfoo => "promptfoo",
        }
    }

    /// Whose documents it sends.
    #[must_use]
    pub const fn contract(self) -> Contract {
        match self {
            Self::Agentevals => Contract::Agentevals,
            // promptfoo's assertions get arguments, of which our file makes a document of AgentV.
            Self::AgentV | Self::Promptfoo => Contract::AgentV,
            Self::Adk => Contract::Adk,
            Self::Agenta => Contract::Agenta,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
