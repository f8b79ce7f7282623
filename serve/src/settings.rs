//! Settings of a server.

use std::{net::SocketAddr, str::FromStr, time::Duration};

use super::{ServeError, Token};

/// Limits and access rules of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Maximum number of documents that are evaluated or waiting; further ones are refused. 64 by default.
    pub places: usize,
    /// Maximum number of connections; further ones wait to be accepted. 512 by default.
    pub connections: usize,
    /// Maximum size of a request body in bytes; 10 MiB by default.
    pub body_limit: usize,
    /// Time limit for receiving the head of a request, and for its body; also the time for which a connection may be idle,
    /// and for which a client may accept nothing of the response. 10 s by default.
    pub read_timeout: Duration,
    /// Time for requests in progress to finish on shutdown; 10 s by default.
    pub grace: Duration,
    /// Host names that requests may use if no token is configured, in addition to IP addresses and names that cannot be
    /// public (`localhost`, names without a dot, names that end in `.localhost` or `.internal`); none by default.
    pub hosts: Vec<String>,
    /// Path below which everything is served as well, e.g. `/api`, for proxies that keep a prefix; none by default.
    pub base_path: Option<BasePath>,
    /// Token that requests must have; none by default, which is allowed on loopback addresses only.
    pub token: Option<Token>,
    /// Whether requests may also come by HTTP/2 without TLS, e.g. to be refused; shutdown does not wait for them. `false` by default.
    pub http2: bool,
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
            http2: false,
        }
    }
}

impl Settings {
    /// Checks that a server with these settings may listen on the address.
    ///
    /// # Errors
    ///
    /// [`ServeError::Open`] if other machines can reach the address and no token is configured.
    pub fn allow(&self, address: SocketAddr) -> Result<(), ServeError> {
        // `::ffff:127.0.0.1` is a loopback address, too.
        if self.token.is_some() || address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        Err(ServeError::Open { address })
    }
}

/// First segments of the server's own paths, which a base path must not hide.
const OWN: [&str; 6] = ["evaluators", "healthz", "invoke", "metrics", "openapi.json", "readyz"];

/// Prefix of paths, e.g. `/api`: starts with a slash and does not end with one.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub struct BasePath(String);

impl BasePath {
    /// Returns the path, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Error of a text that is not a base path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BasePathError {
    /// The text is not a path of plain segments.
    #[error("write a path like /api or /tools/evaluators")]
    Form,
    /// The path starts like one of the server's own paths.
    #[error("the server has its own paths at /{0}; start with another name, e.g. /api/{0}")]
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
