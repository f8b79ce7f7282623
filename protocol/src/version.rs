//! Protocol versions, and the compatibility of documents of other versions.

use std::{fmt, str::FromStr};

use serde_core::{Deserialize, Deserializer, Serialize, Serializer};

use crate::object::read_text;

/// A protocol version, `MAJOR.MINOR`.
///
/// Minor versions only add fields that have defaults, so any minor version of a known major version can be read. A
/// document without a version is of version [`ProtocolVersion::CURRENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion {
    /// Incremented when a field changes its meaning or is removed.
    pub major: u64,
    /// Incremented when a field is added.
    pub minor: u64,
}

impl ProtocolVersion {
    /// The version this crate writes.
    pub const CURRENT: Self = Self { major: 1, minor: 1 };

    /// Returns how well a reader of `self` understands a document of version `document`.
    ///
    /// ```
    /// use evaluator_protocol::{Compatibility, ProtocolVersion};
    /// let ours = ProtocolVersion::CURRENT;
    /// assert_eq!(ours.reads(ProtocolVersion { major: 1, minor: 0 }), Compatibility::Full);
    /// assert_eq!(ours.reads(ProtocolVersion { major: 1, minor: 9 }), Compatibility::IgnoresAdditions);
    /// assert_eq!(ours.reads(ProtocolVersion { major: 2, minor: 0 }), Compatibility::UnknownMajor);
    /// ```
    #[must_use]
    pub fn reads(self, document: Self) -> Compatibility {
        if self.major != document.major {
            Compatibility::UnknownMajor
        } else if document.minor > self.minor {
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
pub enum Compatibility {
    /// Everything in the document is known.
    Full,
    /// The document may contain unknown fields, which are ignored.
    IgnoresAdditions,
    /// Fields may have another meaning: warn, or refuse the document.
    UnknownMajor,
}

/// Error: a text is not of the form `MAJOR.MINOR`.
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
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for ProtocolVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let number = |digits: &str| {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let is_padded = digits.len() > 1 && digits.starts_with('0');
            digits.parse().ok().filter(|_| is_plain && !is_padded)
        };
        text.split_once('.')
            .and_then(|(major, minor)| Some(Self { major: number(major)?, minor: number(minor)? }))
            .ok_or_else(|| VersionError { text: text.chars().take(40).collect() })
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

    #[test]
    fn parses_major_and_minor() {
        assert_eq!("1.0".parse(), Ok(ProtocolVersion { major: 1, minor: 0 }));
        assert_eq!("12.34".parse(), Ok(ProtocolVersion { major: 12, minor: 34 }));
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "1",
            "1.",
            ".1",
            "1.1.0",
            "v1.1",
            "1.1-rc",
            "1.01",
            "-1.0",
            "1.1 ",
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
    fn orders_numerically() {
        assert!("1.10".parse::<ProtocolVersion>().unwrap() > "1.9".parse().unwrap());
    }
}
