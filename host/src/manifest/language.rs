//! Languages of evaluators in manifests.

use std::fmt;

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
    /// All languages with their names in manifests.
    pub(super) const NAMED: [(&'static str, Self); 4] = [
        ("python", Self::Python),
        ("javascript", Self::JavaScript),
        ("typescript", Self::TypeScript),
        ("rust", Self::Rust),
    ];

    /// Returns the name in manifests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMED[self as usize].0
    }

    /// Returns the extension of an entrypoint, with its dot. Other hosts accept only these in a source.
    #[must_use]
    pub fn extension(self) -> &'static str {
        [".py", ".js", ".ts", ".rs"][self as usize]
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn names_are_in_the_order_of_the_languages() {
        for (name, language) in Language::NAMED {
            assert_eq!(language.as_str(), name);
        }
    }
}
