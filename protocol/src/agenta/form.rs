//! The ways in which Agenta calls evaluators.

use std::fmt;

/// A way in which Agenta calls an evaluator. Each has a document of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// Custom code of interface v1: `app_params`, `inputs`, `output`, `correct_answer`.
    CodeV1,
    /// Custom code of interface v2 or v3: `inputs`, `outputs`, `trace`.
    Code,
    /// A webhook: `inputs`, `output`, which is always text.
    Webhook,
    /// A remote workflow: `inputs`, `parameters`, `outputs`, `trace`, `testcase`.
    Remote,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::CodeV1, Self::Code, Self::Webhook, Self::Remote];

    /// The form whose document has these keys at its top: what no other form has decides.
    pub(super) fn of(has: impl Fn(&str) -> bool) -> Option<Self> {
        if has("app_params") || has("correct_answer") {
            Some(Self::CodeV1)
        } else if has("output") {
            // With parameters beside it, somebody on the way added them.
            Some(Self::Webhook)
        } else if has("parameters") {
            Some(Self::Remote)
        } else if has("outputs") {
            Some(Self::Code)
        } else {
            None
        }
    }

    /// What it calls the output of the app.
    #[must_use]
    pub fn output_key(self) -> &'static str {
        match self {
            Self::CodeV1 | Self::Webhook => "output",
            Self::Code | Self::Remote => "outputs",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CodeV1 => "custom code v1",
            Self::Code => "custom code v2 or v3",
            Self::Webhook => "webhook",
            Self::Remote => "remote workflow",
        })
    }
}
