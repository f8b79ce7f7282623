//! Languages that a manifest may name.

use std::fmt;

/// The language of an evaluator.
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
    /// All of them, by the word that manifests have for them.
    pub(super) const NAMED: [(&'static str, Self); 4] = [
        ("python", Self::Python),
        ("javascript", Self::JavaScript),
        ("typescript", Self::TypeScript),
        ("rust", Self::Rust),
    ];

    /// The word for it in a manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Rust => "rust",
        }
    }

    /// The extension of an entrypoint, with its dot. Only one for each: other hosts take no others from a source.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Python => ".py",
            Self::JavaScript => ".js",
            Self::TypeScript => ".ts",
            Self::Rust => ".rs",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
