//! Admission of requests: by token, or without one, only requests that no web page can have sent.
//!
//! A page in a browser reaches every server on the machine of its reader. Browsers name the origin of such a request in
//! `Origin`. A page whose owner lets its name resolve to this machine (DNS rebinding) is, for the browser, of the same origin,
//! and may read the response; such a request is recognized by the name in `Host` only.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::Response,
};

use super::{BasePath, Settings, fault::Fault};

/// Paths without access control.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// Refuses requests without the token of the server, or, if it has none, those of web pages. A middleware for axum.
pub async fn admit(
    State(settings): State<Arc<Settings>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let base = settings.base_path.as_ref().map_or("", BasePath::as_str);
    let below = path.strip_prefix(base).unwrap_or(path);
    let refusal = match &settings.token {
        _ if OPEN.contains(&path) || OPEN.contains(&below) => None,
        Some(token) => {
            let given = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
            let message = match given {
                None => "a token is required: send it as `Authorization: Bearer TOKEN`",
                Some(_) => "the token is wrong",
            };
            (!given.is_some_and(|given| token.is_borne_by(given)))
                .then(|| Fault::new(StatusCode::UNAUTHORIZED, "unauthorized", message))
        }
        None => page_refusal(request.uri(), request.headers(), &settings.hosts),
    };
    match refusal {
        Some(fault) => fault.refuse(request).await,
        None => next.run(request).await,
    }
}

/// Returns the refusal of a request that may come from a web page. `hosts` are names of the server.
fn page_refusal(uri: &Uri, headers: &HeaderMap, hosts: &[String]) -> Option<Fault> {
    let refuse = |message| Some(Fault::new(StatusCode::FORBIDDEN, "web_page", message));
    if headers.contains_key(header::ORIGIN) {
        return refuse("requests of web pages are refused if no token is configured".to_owned());
    }
    let named = headers.get_all(header::HOST).iter().map(HeaderValue::as_bytes);
    let named = named.chain(uri.authority().map(|authority| authority.as_str().as_bytes()));
    let foreign = named.into_iter().find(|authority| !is_ours(authority, hosts))?;
    refuse(format!(
        "`{}` is not a name of this server; use localhost or its address, or allow the name (--allow-host)",
        String::from_utf8_lossy(foreign)
    ))
}

/// Domains that have no public names.
const PRIVATE: [&str; 2] = [".localhost", ".internal"];

/// Returns true if the authority of a URL cannot be a name that a web page lets resolve to this machine: it is an address, a
/// name that cannot be public, or a known name.
fn is_ours(authority: &[u8], hosts: &[String]) -> bool {
    let Ok(authority) = Authority::try_from(authority) else {
        // An empty `Host` names no server.
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
