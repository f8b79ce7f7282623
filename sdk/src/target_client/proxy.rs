//! Address and token of the host's proxy, from the environment or the caller.

use std::{
    ffi::OsString,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::error::TargetError;

/// Variables of the address and the token, by generation of hosts. The newer generation is first: a host that sets its own
/// may pass on those of another host that started it.
const GENERATIONS: [(&str, &str); 2] = [
    ("AGENTV_PROVIDER_PROXY_URL", "AGENTV_PROVIDER_PROXY_TOKEN"),
    ("AGENTV_TARGET_PROXY_URL", "AGENTV_TARGET_PROXY_TOKEN"),
];

/// The error of an argument that needs a target where the host offers none.
pub(super) const NOT_CONFIGURED: &str = "target not configured: neither AGENTV_PROVIDER_PROXY_URL nor \
     AGENTV_TARGET_PROXY_URL is set (give the evaluator's entry a `provider:` or `target:` block, or take \
     `Option<TargetClient>` to do without)";

/// A proxy on this machine.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    /// Addresses to try, in this order. Never empty.
    pub(super) addresses: Vec<SocketAddr>,
    /// Value of the `Host` header: host and port as they were given.
    pub(super) host: String,
    /// Only visible ASCII characters, so that it fits into a header line.
    pub(super) token: String,
}

impl Proxy {
    /// Reads the variables; `None` if they name no proxy.
    pub(super) fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Self>, TargetError> {
        let text = |name: &'static str| match variable(name) {
            Some(value) if value.is_empty() => Ok(None),
            Some(value) => value
                .into_string()
                .map(Some)
                .map_err(|_| TargetError::settings(name, "is not Unicode text")),
            None => Ok(None),
        };
        for (url_name, token_name) in GENERATIONS {
            let Some(url) = text(url_name)? else { continue };
            let Some(token) = text(token_name)? else {
                let reason = format!(
                    "is not set, though {url_name} is; both come from the host (configure a host that withholds secrets \
                     to pass this one on)"
                );
                return Err(TargetError::settings(token_name, reason));
            };
            return Self::new((url_name, &url), (token_name, &token)).map(Some);
        }
        Ok(None)
    }

    /// Checks both, each given with the name that messages use.
    pub(super) fn new(
        (url_name, url): (&'static str, &str),
        (token_name, token): (&'static str, &str),
    ) -> Result<Self, TargetError> {
        let (addresses, host) =
            address(url.trim()).map_err(|reason| TargetError::settings(url_name, reason))?;
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            // The token itself is in no message.
            let reason = "is empty or has characters that no token has";
            return Err(TargetError::settings(token_name, reason));
        }
        Ok(Self { addresses, host, token: token.to_owned() })
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Returns the addresses of a URL such as `http://127.0.0.1:4100`, and its host and port.
///
/// Only loopback addresses are accepted, and no name is looked up: `localhost` has fixed addresses.
/// The token and the conversation therefore do not leave this machine.
fn address(url: &str) -> Result<(Vec<SocketAddr>, String), String> {
    let form = "expected the form `http://127.0.0.1:PORT`";
    let Some(rest) =
        url.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).map(|_| &url[7..])
    else {
        return Err(format!("is not an http URL; {form}"));
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.contains(['/', '?', '#', '@', '\\'])
        || !authority.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Err(format!("has more than a host and a port; {form}"));
    }
    // The port follows the last colon, unless that is part of an IPv6 address in brackets.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            let port = port.parse::<u16>().ok().filter(|port| digits && *port > 0);
            (host, port.ok_or_else(|| format!("has no valid port; {form}"))?)
        }
        _ => (authority, 80),
    };
    let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let hosts: Vec<IpAddr> = if host.eq_ignore_ascii_case("localhost") {
        vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
    } else {
        let ip = match v6 {
            Some(v6) => v6.parse::<Ipv6Addr>().ok().map(IpAddr::from),
            None => host.parse::<Ipv4Addr>().ok().map(IpAddr::from),
        };
        ip.filter(IpAddr::is_loopback).into_iter().collect()
    };
    if hosts.is_empty() {
        return Err(format!(
            "`{host}` is not this machine: the token is sent to loopback addresses only; {form}"
        ));
    }
    let addresses = hosts.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
    Ok((addresses, authority.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn settings(variables: &[(&str, &str)]) -> Result<Option<Proxy>, String> {
        let value = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into())
        };
        Proxy::from_variables(value).map_err(|error| error.to_string())
    }

    #[test]
    fn each_generation_has_its_variables_and_the_newer_one_goes_first() {
        let old = [
            ("AGENTV_TARGET_PROXY_URL", "http://127.0.0.1:1"),
            ("AGENTV_TARGET_PROXY_TOKEN", "old"),
        ];
        let new = [
            ("AGENTV_PROVIDER_PROXY_URL", "http://127.0.0.1:2"),
            ("AGENTV_PROVIDER_PROXY_TOKEN", "new"),
        ];
        let found = |variables: &[_]| settings(variables).unwrap().unwrap();
        assert_eq!(found(&old).token, "old");
        assert_eq!(found(&new).token, "new");
        let both = found(&[old, new].concat());
        assert_eq!((both.token.as_str(), both.host.as_str()), ("new", "127.0.0.1:2"));
        assert!(!format!("{both:?}").contains("new"));
    }

    #[test]
    fn no_url_is_no_proxy_and_a_url_alone_is_an_error() {
        assert_eq!(settings(&[]), Ok(None));
        assert_eq!(settings(&[("AGENTV_TARGET_PROXY_TOKEN", TOKEN)]), Ok(None));
        assert_eq!(settings(&[("AGENTV_TARGET_PROXY_URL", "")]), Ok(None));
        for token in [None, Some(("AGENTV_TARGET_PROXY_TOKEN", ""))] {
            let url = ("AGENTV_TARGET_PROXY_URL", "http://127.0.0.1:1");
            // A token of the other generation does not count.
            let other = ("AGENTV_PROVIDER_PROXY_TOKEN", TOKEN);
            let variables: Vec<_> = [url, other].into_iter().chain(token).collect();
            let message = settings(&variables).unwrap_err();
            let expected =
                "AGENTV_TARGET_PROXY_TOKEN: is not set, though AGENTV_TARGET_PROXY_URL is";
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn text_that_is_none_is_an_error() {
        use std::os::unix::ffi::OsStringExt;

        let value = |_: &str| Some(OsString::from_vec(vec![0xff]));
        let message = Proxy::from_variables(value).unwrap_err().to_string();
        assert_eq!(message, "AGENTV_PROVIDER_PROXY_URL: is not Unicode text");
    }

    #[test]
    fn this_machine_is_accepted_in_every_spelling() {
        let ports =
            |url| address(url).unwrap().0.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(ports("http://127.0.0.1:4100"), ["127.0.0.1:4100"]);
        assert_eq!(ports("HTTP://127.9.8.7:4100/"), ["127.9.8.7:4100"]);
        assert_eq!(ports("http://[::1]:4100"), ["[::1]:4100"]);
        assert_eq!(ports("http://[::1]"), ["[::1]:80"]);
        assert_eq!(ports("http://LocalHost"), ["127.0.0.1:80", "[::1]:80"]);
    }

    #[test]
    fn nothing_else_is() {
        for (url, reason) in [
            ("", "not an http URL"),
            ("http:/", "not an http URL"),
            ("https://127.0.0.1:1", "not an http URL"),
            ("127.0.0.1:1", "not an http URL"),
            ("ünïcödé", "not an http URL"),
            ("http://", "not this machine"),
            ("http://example.com:1", "not this machine"),
            ("http://localhost.example.com:1", "not this machine"),
            ("http://10.0.0.1:1", "not this machine"),
            ("http://0.0.0.0:1", "not this machine"),
            ("http://[::]:1", "not this machine"),
            ("http://[::ffff:127.0.0.1]:1", "not this machine"),
            ("http://::1", "not this machine"),
            ("http://2130706433:1", "not this machine"),
            ("http://127.0.0.1@example.com:1", "more than"),
            ("http://example.com#@127.0.0.1:1", "more than"),
            ("http://127.0.0.1:1/path", "more than"),
            ("http://127.0.0.1:1?x", "more than"),
            ("http://127.0.0.1:1\r\nX: y", "more than"),
            ("http://127.0.0.1:", "valid port"),
            ("http://127.0.0.1:0", "valid port"),
            ("http://127.0.0.1:+1", "valid port"),
            ("http://127.0.0.1:65536", "valid port"),
        ] {
            let message = address(url).unwrap_err();
            assert!(message.contains(reason), "{url}: {message}");
        }
    }

    #[test]
    fn tokens_that_would_end_the_header_are_refused_and_not_repeated() {
        for token in ["", " ", "a\r\nX: y", "a b", "ä", "a\0"] {
            let error = Proxy::new(("url", "http://127.0.0.1:1"), ("token", token)).unwrap_err();
            let expected = "token: is empty or has characters that no token has";
            assert_eq!(error.to_string(), expected);
        }
    }
}
