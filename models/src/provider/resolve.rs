//! Addresses of servers.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use ureq::{
    config::Config,
    http::Uri,
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::NextTimeout,
    },
};

use crate::clock::lock;

/// Time for which addresses of a name are used again.
const LIFETIME: Duration = Duration::from_secs(10);

/// Looks a name up once for all requests of some seconds. The resolver of ureq looks it up on a new thread for each request,
/// literal addresses as well.
#[derive(Debug, Default)]
pub(super) struct CachingResolver {
    own: DefaultResolver,
    known: Mutex<Option<Known>>,
}

/// Addresses of the last name. A server has one name, and perhaps that of a proxy.
#[derive(Debug)]
struct Known {
    server: String,
    addresses: ResolvedSocketAddrs,
    since: Instant,
}

impl Resolver for CachingResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let server = format!(
            "{}://{}",
            uri.scheme_str().unwrap_or_default(),
            uri.authority().map_or("", |authority| authority.as_str())
        );
        if let Some(known) = &*lock(&self.known)
            && known.server == server
            && known.since.elapsed() < LIFETIME
        {
            return Ok(known.addresses.clone());
        }
        let addresses = self.own.resolve(uri, config, timeout)?;
        let since = Instant::now();
        *lock(&self.known) = Some(Known { server, addresses: addresses.clone(), since });
        Ok(addresses)
    }
}
