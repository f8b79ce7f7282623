//! Languages with a built-in runtime: their names and the extensions of their files.

use std::{fmt, path::Path};

use super::paths::has_extension;

/// Language of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Language {
    /// All languages.
    pub const ALL: &'static [Self] =
        &[Self::Python, Self::JavaScript, Self::TypeScript, Self::Rust];

    /// Returns the display name, the name in manifests, and the extensions of files, the usual one first.
    const fn row(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::Python => ("Python", "python", &[".py"]),
            Self::JavaScript => ("JavaScript", "javascript", &[".js", ".mjs", ".cjs"]),
            Self::TypeScript => ("TypeScript", "typescript", &[".ts", ".mts", ".cts"]),
            Self::Rust => ("Rust", "rust", &[".rs"]),
        }
    }

    /// Returns the display name, e.g. `JavaScript`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the name in manifests, e.g. `javascript`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Returns the extensions of its files with their dots, the usual one first.
    #[must_use]
    pub const fn extensions(self) -> &'static [&'static str] {
        self.row().2
    }

    /// Returns the usual extension with its dot. Other hosts accept only these in a source.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        self.extensions()[0]
    }

    /// Returns the language of a file by its extension, whatever its case.
    #[must_use]
    pub fn of(file: &Path) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| has_extension(file, language.extensions()))
    }

    /// Returns true for languages that Node.js runs.
    #[must_use]
    pub fn is_for_node(self) -> bool {
        matches!(self, Self::JavaScript | Self::TypeScript)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
