//! Why a program cannot be contained: [`Refusal`].

use std::fmt;

/// Reason why a program cannot be contained as its policy demands: one sentence with the cure.
///
/// Nothing was started. A host reports it as an error of the executor, and never runs the program without the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    kind: RefusalKind,
    text: String,
}

/// Component that refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// Not Linux, or neither x86_64 nor aarch64.
    Platform,
    /// The policy demands what does not exist or would show too much.
    Policy,
    /// The program does not call [`crate::run_if_helper`] first in `main`.
    NoHelper,
    /// User namespaces are refused, or do not permit what they should.
    UserNamespaces,
    /// A new `/proc` cannot be mounted.
    Proc,
    /// The kernel lacks a system call that the level needs.
    Kernel,
    /// Landlock is missing or too old for the partial level.
    Landlock,
    /// System call filters are refused.
    Filter,
    /// The check failed for a reason that is not known; the text names the step.
    Other,
}

impl Refusal {
    pub(crate) fn new(kind: RefusalKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    pub(crate) fn policy(text: impl Into<String>) -> Self {
        Self::new(RefusalKind::Policy, text)
    }

    /// Returns the component that refused.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refusal {}
