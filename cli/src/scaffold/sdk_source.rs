//! Where a new package finds the SDK.

use std::path::Path;

/// Where a new Rust package takes `evaluator-sdk` from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdkSource {
    /// A folder on this machine.
    Path(String),
    /// The registry, from this version on.
    Version(String),
}

impl SdkSource {
    /// The SDK beside this program's sources, when it was built in a checkout that is still there; else the version this
    /// program belongs to.
    #[must_use]
    pub fn of_this_build() -> Self {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(|root| root.join("sdk"));
        match beside.as_deref().and_then(Path::to_str) {
            Some(sdk) if Path::new(sdk).join("Cargo.toml").is_file() => Self::Path(sdk.to_owned()),
            _ => Self::of_the_registry(),
        }
    }

    /// The version this program belongs to.
    #[must_use]
    pub fn of_the_registry() -> Self {
        Self::Version(env!("CARGO_PKG_VERSION").to_owned())
    }

    /// The key and value of a dependency table, e.g. `version = "0.1.0"`.
    pub(crate) fn to_toml(&self) -> String {
        match self {
            Self::Path(path) => format!("path = {}", toml_string(path)),
            Self::Version(version) => format!("version = {}", toml_string(version)),
        }
    }
}

/// A basic string of TOML.
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_ascii_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)));
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_build_has_its_sdk_beside_it() {
        let SdkSource::Path(path) = SdkSource::of_this_build() else {
            panic!("built in a checkout")
        };
        assert!(Path::new(&path).ends_with("sdk"));
    }

    #[test]
    fn paths_are_quoted_for_toml() {
        for (path, toml) in [
            ("/home/ada/sdk", r#"path = "/home/ada/sdk""#),
            (r"C:\ada\sdk", r#"path = "C:\\ada\\sdk""#),
            ("/a \"b\"\n", r#"path = "/a \"b\"\u000A""#),
        ] {
            assert_eq!(SdkSource::Path(path.to_owned()).to_toml(), toml);
        }
    }
}
