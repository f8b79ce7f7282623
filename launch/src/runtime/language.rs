//! Languages with a built-in runtime: their names, the extensions of their files, and how their scripts load code.

use std::path::Path;

use super::paths::has_extension;

/// Language of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, derive_more::Display)]
#[display("{}", self.as_str())]
#[non_exhaustive]
pub enum Language {
    /// Python.
    Python,
    /// JavaScript.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// Rust.
    Rust,
}

/// Rules by which the code that a script loads is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    Python,
    JavaScript,
    Shell,
    Other,
}

/// Display name, name in manifests, extensions of files (the usual one first), and rules; `None` for a compiled language.
type Row = (&'static str, &'static str, &'static [&'static str], Option<Rules>);

impl Language {
    /// All languages.
    pub const ALL: &'static [Self] =
        &[Self::Python, Self::JavaScript, Self::TypeScript, Self::Rust];

    const fn row(self) -> Row {
        let script = Some(Rules::JavaScript);
        match self {
            Self::Python => ("Python", "python", &[".py"], Some(Rules::Python)),
            Self::JavaScript => ("JavaScript", "javascript", &[".js", ".mjs", ".cjs"], script),
            Self::TypeScript => ("TypeScript", "typescript", &[".ts", ".mts", ".cts"], script),
            Self::Rust => ("Rust", "rust", &[".rs"], None),
        }
    }

    /// Returns the display name, e.g. `JavaScript`.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the name in manifests, e.g. `javascript`.
    pub const fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Returns the extensions of its files with their dots, the usual one first.
    pub const fn extensions(self) -> &'static [&'static str] {
        self.row().2
    }

    /// Returns the usual extension with its dot. Other hosts accept only these in a source.
    pub const fn extension(self) -> &'static str {
        self.extensions()[0]
    }

    /// Returns the rules for its scripts; `None` for a compiled language.
    pub(super) const fn rules(self) -> Option<Rules> {
        self.row().3
    }

    /// Returns the language of a file by its extension, whatever its case.
    pub fn of(file: &Path) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| has_extension(file, language.extensions()))
    }

    /// Returns true for languages that Node.js runs.
    pub fn is_for_node(self) -> bool {
        self.rules() == Some(Rules::JavaScript)
    }
}
