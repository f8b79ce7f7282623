//! The hosts that are played, each release that reads answers in its own way.

use std::fmt;

/// A host, with the release or the way of calling that decides how it reads an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Host {
    /// agentevals 0.11.0.
    Agentevals,
    /// AgentV 2.5.1: code judges.
    AgentV2,
    /// AgentV 4.42.4: code graders.
    AgentV4,
    /// AgentV 5: scripts.
    AgentV5,
    /// Google ADK 2.13, through a metric in Python that runs the program.
    Adk,
    /// Agenta 0.125.1: custom code of version 1, which runs the program.
    AgentaCode1,
    /// The same of version 2.
    AgentaCode2,
    /// The same of version 3.
    AgentaCode3,
    /// Agenta 0.125.1: a webhook, behind which a server runs the program.
    AgentaWebhook,
}

impl Host {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Agentevals,
        Self::AgentV2,
        Self::AgentV4,
        Self::AgentV5,
        Self::Adk,
        Self::AgentaCode1,
        Self::AgentaCode2,
        Self::AgentaCode3,
        Self::AgentaWebhook,
    ];

    /// The name by which `--host` knows it, e.g. `agentv-4.42.4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agentevals => "agentevals-0.11.0",
            Self::AgentV2 => "agentv-2.5.1",
            Self::AgentV4 => "agentv-4.42.4",
            Self::AgentV5 => "agentv-5",
            Self::Adk => "adk-2.13",
            Self::AgentaCode1 => "agenta-code-v1",
            Self::AgentaCode2 => "agenta-code-v2",
            Self::AgentaCode3 => "agenta-code-v3",
            Self::AgentaWebhook => "agenta-webhook",
        }
    }

    /// The system it is a form of, which is a name for all its forms, e.g. `agentv`.
    #[must_use]
    pub const fn system(self) -> &'static str {
        match self {
            Self::Agentevals => "agentevals",
            Self::AgentV2 | Self::AgentV4 | Self::AgentV5 => "agentv",
            Self::Adk => "adk",
            Self::AgentaCode1 | Self::AgentaCode2 | Self::AgentaCode3 | Self::AgentaWebhook => {
                "agenta"
            }
        }
    }

    /// What people call it, e.g. `AgentV 4.42.4`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Agentevals => "agentevals 0.11.0",
            Self::AgentV2 => "AgentV 2.5.1",
            Self::AgentV4 => "AgentV 4.42.4",
            Self::AgentV5 => "AgentV 5",
            Self::Adk => "ADK 2.13",
            Self::AgentaCode1 => "Agenta 0.125.1, custom code v1",
            Self::AgentaCode2 => "Agenta 0.125.1, custom code v2",
            Self::AgentaCode3 => "Agenta 0.125.1, custom code v3",
            Self::AgentaWebhook => "Agenta 0.125.1, webhook",
        }
    }

    /// Whether it has a score for whatever a program does: there are no errors beside scores.
    #[must_use]
    pub const fn scores_everything(self) -> bool {
        matches!(self, Self::AgentV2 | Self::AgentV4 | Self::AgentV5)
    }

    /// The hosts of that name: a [system](Self::system), or one of its [forms](Self::name).
    ///
    /// # Errors
    ///
    /// There are none.
    pub fn named(name: &str) -> Result<Vec<Self>, UnknownHost> {
        let found: Vec<Self> = Self::ALL
            .into_iter()
            .filter(|host| host.system() == name || host.name() == name)
            .collect();
        if found.is_empty() { Err(UnknownHost { name: name.to_owned() }) } else { Ok(found) }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}

/// There is no host of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownHost {
    name: String,
}

impl fmt::Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = Host::ALL.map(Host::name).join(", ");
        write!(
            f,
            "there is no host `{}`; there are agentevals, agentv, adk, agenta, and of them {forms}",
            self.name
        )
    }
}

impl std::error::Error for UnknownHost {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_names_all_its_forms() {
        assert_eq!(Host::named("agentv").unwrap(), [Host::AgentV2, Host::AgentV4, Host::AgentV5]);
        assert_eq!(Host::named("agentv-5").unwrap(), [Host::AgentV5]);
        let error = Host::named("agentw").unwrap_err().to_string();
        assert!(error.contains("`agentw`") && error.contains("agenta-webhook"), "{error}");
        for host in Host::ALL {
            assert_eq!(Host::named(host.name()).unwrap(), [host]);
        }
    }
}
