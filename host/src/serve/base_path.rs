//! A path below which a server offers everything once more.

use std::{fmt, str::FromStr};

/// First segments of the server's own paths, which a base path would hide.
const OWN: [&str; 6] = ["evaluators", "healthz", "invoke", "metrics", "openapi.json", "readyz"];

/// A prefix of paths like `/api`: begins with a slash and ends without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// The path, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is no base path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BasePathError {
    /// It is no path of plain segments.
    #[error("write a path like /api or /tools/evaluators")]
    Form,
    /// It begins as one of the server's own paths does.
    #[error("the server has paths of its own at /{0}; begin with another name, e.g. /api/{0}")]
    Taken(&'static str),
}

impl FromStr for BasePath {
    type Err = BasePathError;

    fn from_str(text: &str) -> Result<Self, BasePathError> {
        let path = text.trim_end_matches('/');
        let is_segment = |segment: &str| {
            let is_plain =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
            !segment.is_empty()
                && segment.chars().all(is_plain)
                && !segment.chars().all(|c| c == '.')
        };
        let mut segments = path.strip_prefix('/').ok_or(BasePathError::Form)?.split('/');
        if !segments.clone().all(is_segment) {
            return Err(BasePathError::Form);
        }
        let first = segments.next().unwrap_or_default();
        match OWN.into_iter().find(|own| *own == first) {
            Some(own) => Err(BasePathError::Taken(own)),
            None => Ok(Self(path.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_are_taken_without_a_slash_at_their_end() {
        for (text, path) in
            [("/api", "/api"), ("/tools/evaluators/", "/tools/evaluators"), ("/v1.2", "/v1.2")]
        {
            assert_eq!(text.parse::<BasePath>().unwrap().as_str(), path);
        }
        for text in ["", "/", "api", "/a b", "/a//b", "/../x", "/{name}", "/a/*", "/a?b", "/%41"] {
            assert_eq!(text.parse::<BasePath>(), Err(BasePathError::Form), "{text}");
        }
    }

    #[test]
    fn paths_of_the_server_itself_are_refused() {
        for own in OWN {
            for text in [format!("/{own}"), format!("/{own}/"), format!("/{own}/more")] {
                assert_eq!(text.parse::<BasePath>(), Err(BasePathError::Taken(own)), "{text}");
            }
        }
        assert!("/metrics-2".parse::<BasePath>().is_ok());
    }
}
