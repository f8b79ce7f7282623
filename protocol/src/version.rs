//! Protocol versions, and the compatibility of documents of other versions.

use std::{fmt, str::FromStr};

use semver::Version;
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

use crate::object::{Field, read_text};

/// A protocol version: a semantic version, of which documents state `MAJOR.MINOR` (`1.1` is 1.1.0).
///
/// Minor versions only add fields that have defaults, so any minor version of a known major version can be read. A
/// document without a version is of version [`ProtocolVersion::CURRENT`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion(Version);

impl Field for ProtocolVersion {}

impl ProtocolVersion {
    /// The version this crate writes.
    pub const CURRENT: Self = Self::new(1, 1);

    /// Creates the version `MAJOR.MINOR`.
    pub const fn new(major: u64, minor: u64) -> Self {
        Self(Version::new(major, minor, 0))
    }

    /// Returns the number that is incremented when a field changes its meaning or is removed.
    pub const fn major(&self) -> u64 {
        self.0.major
    }

    /// Returns the number that is incremented when a field is added.
    pub const fn minor(&self) -> u64 {
        self.0.minor
    }

    /// Returns how well a reader of `self` understands a document of version `document`.
    ///
    /// ```
    /// use evaluator_protocol::{Compatibility, ProtocolVersion};
    /// let ours = ProtocolVersion::CURRENT;
    /// assert_eq!(ours.reads(&ProtocolVersion::new(1, 0)), Compatibility::Full);
    /// assert_eq!(ours.reads(&ProtocolVersion::new(1, 9)), Compatibility::IgnoresAdditions);
    /// assert_eq!(ours.reads(&ProtocolVersion::new(2, 0)), Compatibility::UnknownMajor);
    /// ```
    pub fn reads(&self, document: &Self) -> Compatibility {
        if self.major() != document.major() {
            Compatibility::UnknownMajor
        } else if document > self {
            Compatibility::IgnoresAdditions
        } else {
            Compatibility::Full
        }
    }
}

impl Default for ProtocolVersion {
    fn default() -> Self {
        Self::CURRENT
    }
}

/// Compatibility of a reader with a document's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compatibility {
    /// Everything in the document is known.
    Full,
    /// The document may contain unknown fields, which are ignored.
    IgnoresAdditions,
    /// Fields may have another meaning: warn, or refuse the document.
    UnknownMajor,
}

/// Error: a text is neither of the form `MAJOR.MINOR` nor a semantic version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionError {
    text: String,
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a protocol version; expected `MAJOR.MINOR`, e.g. `{}`",
            self.text,
            ProtocolVersion::CURRENT
        )
    }
}

impl std::error::Error for VersionError {}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Documents of the current versions have no patch level; one that is stated is kept.
        match &self.0 {
            Version { major, minor, patch: 0, pre, build }
                if pre.is_empty() && build.is_empty() =>
            {
                write!(f, "{major}.{minor}")
            }
            version => version.fmt(f),
        }
    }
}

impl FromStr for ProtocolVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let version = match text.split('.').count() {
            2 => Version::parse(&format!("{text}.0")),
            _ => Version::parse(text),
        };
        version.map(Self).map_err(|_| VersionError { text: text.chars().take(40).collect() })
    }
}

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProtocolVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a protocol version such as \"1.1\"", str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ProtocolVersion {
        text.parse().unwrap()
    }

    #[test]
    fn parses_major_and_minor() {
        assert_eq!(version("1.0"), ProtocolVersion::new(1, 0));
        assert_eq!(version("12.34"), ProtocolVersion::new(12, 34));
        assert_eq!(version("1.1.0"), version("1.1"));
    }

    #[test]
    fn writes_what_was_read() {
        for text in ["1.1", "1.0", "12.34", "1.1.3", "1.2.0-rc.1", "1.1.0+build"] {
            assert_eq!(version(text).to_string(), text);
        }
        assert_eq!(version("1.1.0").to_string(), "1.1");
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "1",
            "1.",
            ".1",
            "v1.1",
            "1.1-rc",
            "1.01",
            "-1.0",
            "1.1 ",
            "1.1.0.0",
            "99999999999999999999.0",
        ] {
            assert!(text.parse::<ProtocolVersion>().is_err(), "{text:?}");
        }
        let error = "one".parse::<ProtocolVersion>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`one` is not a protocol version; expected `MAJOR.MINOR`, e.g. `1.1`"
        );
    }

    #[test]
    fn orders_as_semantic_versions() {
        for (lower, higher) in
            [("1.9", "1.10"), ("1.1", "1.1.1"), ("1.2.0-rc.1", "1.2"), ("1.10", "2.0")]
        {
            assert!(version(lower) < version(higher), "{lower} and {higher}");
        }
    }

    #[test]
    fn reads_all_versions_with_its_major_number() {
        let reads = |text| ProtocolVersion::CURRENT.reads(&version(text));
        assert_eq!(reads("1.1.0-rc.1"), Compatibility::Full);
        assert_eq!(reads("1.1.1"), Compatibility::IgnoresAdditions);
        assert_eq!(reads("1.2.0-rc.1"), Compatibility::IgnoresAdditions);
        assert_eq!(reads("2.0.0-rc.1"), Compatibility::UnknownMajor);
    }
}
