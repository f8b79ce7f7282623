//! Settings of a server.

use std::{fmt, net::SocketAddr, str::FromStr, time::Duration};

use super::{ServeError, Token};

/// What a server allows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Documents that are worked on, or wait to be, at a time; what comes beyond is refused. 64 by default.
    pub places: usize,
    /// Connections at a time; those beyond wait to be accepted. 512 by default.
    pub connections: usize,
    /// Bytes that the body of a request may have; 10 MiB by default.
    pub body_limit: usize,
    /// How long the head of a request may take, and how long its body; also how long a connection may be idle, and how long
    /// whoever asked may take nothing of the response. 10 s by default.
    pub read_timeout: Duration,
    /// How long what was begun may take to end when the server is to stop; 10 s by default.
    pub grace: Duration,
    /// Names by which requests may ask for this server where there is no token, beside addresses and names that nobody can have
    /// in public (`localhost`, those without a dot, those that end with `.localhost` or `.internal`); none by default.
    pub hosts: Vec<String>,
    /// A path below which everything is served as well, like `/api`; none by default. For proxies that keep a prefix.
    pub base_path: Option<BasePath>,
    /// What requests have to bear; nothing by default, which is allowed on this machine only.
    pub token: Option<Token>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            places: 64,
            connections: 512,
            body_limit: 10 << 20,
            read_timeout: Duration::from_secs(10),
            grace: Duration::from_secs(10),
            hosts: Vec::new(),
            base_path: None,
            token: None,
        }
    }
}

impl Settings {
    /// Whether a server may listen there with these settings.
    ///
    /// # Errors
    ///
    /// [`ServeError::Open`]: others than this machine could ask, and nobody would be asked who they are.
    pub fn allow(&self, address: SocketAddr) -> Result<(), ServeError> {
        // `::ffff:127.0.0.1` is this machine, too.
        if self.token.is_some() || address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        Err(ServeError::Open { address })
    }
}

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
    fn without_a_token_only_this_machine_is_served() {
        let open = Settings::default();
        let closed = Settings { token: Token::new("t").ok(), ..Settings::default() };
        for (address, is_here) in [
            ("127.0.0.1:0", true),
            ("127.9.9.9:80", true),
            ("[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("0.0.0.0:80", false),
            ("[::]:80", false),
            ("10.0.0.1:80", false),
            ("[::ffff:10.0.0.1]:80", false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(open.allow(address).is_ok(), is_here, "{address}");
            assert!(closed.allow(address).is_ok());
        }
    }

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
