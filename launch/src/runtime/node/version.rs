//! Which Node.js there is, and what it can do.

use std::{path::Path, time::Duration};

use crate::{
    process::{Cancellation, CommandSpec},
    runtime::tool::{self, Stream},
};

/// A version of Node.js, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u32,
    minor: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeStripping {
    Always,
    Flag,
    Never,
}

impl Version {
    /// Whether it can keep what it has compiled of modules, those of ECMAScript included. It could since 22.1, not for all of them.
    pub(super) fn caches_modules(self) -> bool {
        matches!((self.major, self.minor), (24.., _) | (23, 4..) | (22, 12..))
    }

    /// Whether what it keeps includes TypeScript without its types.
    pub(super) fn caches_stripped_types(self) -> bool {
        matches!((self.major, self.minor), (24.., _) | (23, 11..))
    }

    /// Reads what `node --version` prints, e.g. `v20.11.1`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().strip_prefix('v')?.split('.');
        Some(Self { major: numbers.next()?.parse().ok()?, minor: numbers.next()?.parse().ok()? })
    }

    /// Type stripping came behind a flag with 22.6; the flag became the default with 23.6 and, in the older line, 22.18.
    pub(super) fn type_stripping(self) -> TypeStripping {
        match (self.major, self.minor) {
            (24.., _) | (23, 6..) | (22, 18..) => TypeStripping::Always,
            (23, _) | (22, 6..) => TypeStripping::Flag,
            _ => TypeStripping::Never,
        }
    }
}

pub(super) fn ask(node: &Path, cancellation: &Cancellation) -> Result<Version, String> {
    let mut answer = String::new();
    let outcome = tool::run(
        &CommandSpec::new(node).arg("--version"),
        Duration::from_secs(20),
        cancellation,
        &mut |stream, line| {
            if stream == Stream::Stdout && answer.is_empty() {
                line.clone_into(&mut answer);
            }
        },
    );
    let trouble = match outcome {
        Ok(_) => match Version::parse(&answer) {
            Some(version) => return Ok(version),
            None => format!("it printed `{answer}`"),
        },
        Err(error) => error.to_string(),
    };
    Err(format!(
        "`{} --version` does not tell its version: {trouble}; reinstall Node.js",
        node.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_decides_how_types_are_stripped() {
        let of = |text| Version::parse(text).unwrap().type_stripping();
        assert_eq!(of("v18.19.0"), TypeStripping::Never);
        assert_eq!(of("v20.20.2\n"), TypeStripping::Never);
        assert_eq!(of("v22.5.1"), TypeStripping::Never);
        assert_eq!(of("v22.6.0"), TypeStripping::Flag);
        assert_eq!(of("v22.17.9"), TypeStripping::Flag);
        assert_eq!(of("v22.18.0"), TypeStripping::Always);
        assert_eq!(of("v23.5.0"), TypeStripping::Flag);
        assert_eq!(of("v23.6.0"), TypeStripping::Always);
        assert_eq!(of("v24.0.0-nightly2025"), TypeStripping::Always);
        assert_eq!(Version::parse("1.2.3"), None);
        assert_eq!(Version::parse(""), None);
    }

    #[test]
    fn the_version_decides_what_is_kept() {
        let of = |text| {
            let version = Version::parse(text).unwrap();
            (version.caches_modules(), version.caches_stripped_types())
        };
        for old in ["v18.20.8", "v20.20.2", "v22.1.0", "v22.11.0", "v23.3.0"] {
            assert_eq!(of(old), (false, false), "{old}");
        }
        for newer in ["v22.12.0", "v22.23.3", "v23.4.0", "v23.10.0"] {
            assert_eq!(of(newer), (true, false), "{newer}");
        }
        for newest in ["v23.11.1", "v24.0.0"] {
            assert_eq!(of(newest), (true, true), "{newest}");
        }
    }
}
