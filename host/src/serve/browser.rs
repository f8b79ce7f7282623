//! Web pages, which must not drive a server that asks for no token.
//!
//! A page in a browser reaches whatever listens on the machine of its reader. Browsers say from where such a request comes,
//! in `Origin`. If the owner of the page has its name point to this machine (DNS rebinding), the page asks nobody but itself, as
//! far as the browser knows, and what it reads is not kept from it: then only the name in `Host` is odd.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority};

use super::fault::Fault;

/// Why a request may not be that of this machine's user. `hosts` are names of the server.
pub(super) fn refusal(uri: &Uri, headers: &HeaderMap, hosts: &[String]) -> Option<Fault> {
    let refuse = |message| Some(Fault::new(StatusCode::FORBIDDEN, "web_page", message));
    if headers.contains_key(header::ORIGIN) {
        return refuse("requests of web pages are refused where there is no token".to_owned());
    }
    let named = headers.get_all(header::HOST).iter().map(HeaderValue::as_bytes);
    let named = named.chain(uri.authority().map(|authority| authority.as_str().as_bytes()));
    let foreign = named.into_iter().find(|authority| !is_ours(authority, hosts))?;
    refuse(format!(
        "`{}` is no name of this server; use localhost or its address, or have it know that name (--allow-host)",
        String::from_utf8_lossy(foreign)
    ))
}

/// Names below these nobody can have in public.
const PRIVATE: [&str; 2] = [".localhost", ".internal"];

/// Whether nobody else can have an authority of a URL point here: an address, a name that the public cannot have, or one that is
/// known.
fn is_ours(authority: &[u8], hosts: &[String]) -> bool {
    let Ok(authority) = Authority::try_from(authority) else {
        // Nobody is meant.
        return authority.is_empty();
    };
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    address.parse::<IpAddr>().is_ok()
        || !name.contains('.')
        || PRIVATE.iter().any(|domain| name.ends_with(domain))
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_known_names_are_ours() {
        let hosts = ["Judge.example".to_owned()];
        for (authority, expected) in [
            ("127.0.0.1", true),
            ("127.0.0.1:8700", true),
            ("[::1]:8700", true),
            ("192.168.0.7", true),
            ("localhost:8700", true),
            ("LOCALHOST", true),
            ("judge.example:80", true),
            ("host.docker.internal:8700", true),
            ("a.localhost.", true),
            ("", true),
            ("evil.example", false),
            ("evil.example:8700", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("127.0.0.1@evil.example", false),
            ("127.0.0.1 evil.example", false),
            ("not.alocalhost", false),
            ("1.2.3.4.5", false),
        ] {
            assert_eq!(is_ours(authority.as_bytes(), &hosts), expected, "{authority}");
        }
    }
}
