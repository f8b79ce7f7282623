//! Who is trusted, and who we are.

use std::sync::Arc;

use tokio_rustls::rustls::{
    self, ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// Settings of TLS, whichever protocol runs over it.
#[derive(Debug)]
pub(super) struct Tls {
    /// Authorities; the public ones when there are none here.
    pub(super) roots: Vec<Certificate<'static>>,
    pub(super) client: Option<(Vec<Certificate<'static>>, PrivateKey<'static>)>,
}

impl Tls {
    pub(super) fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
        let mut certificates = Vec::new();
        for item in parse_pem(pem) {
            if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            Err("it holds no certificate".to_owned())
        } else {
            Ok(certificates)
        }
    }

    pub(super) fn key(pem: &[u8]) -> Result<PrivateKey<'static>, String> {
        PrivateKey::from_pem(pem).map_err(|error| error.to_string())
    }

    /// The settings for HTTP.
    pub(super) fn for_http(&self) -> TlsConfig {
        let roots = match &self.roots[..] {
            [] => RootCerts::WebPki,
            roots => RootCerts::new_with_certs(roots),
        };
        let client = self.client.as_ref();
        let client = client.map(|(chain, key)| ClientCert::new_with_certs(chain, key.to_owned()));
        TlsConfig::builder().root_certs(roots).client_cert(client).build()
    }

    /// The settings for gRPC.
    pub(super) fn for_grpc(&self) -> Result<ClientConfig, rustls::Error> {
        let mut store = RootCertStore::empty();
        if self.roots.is_empty() {
            store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for root in &self.roots {
            store.add(der(root))?;
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(store);
        let mut config = match &self.client {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let key = PrivateKeyDer::try_from(key.der().to_vec())
                    .map_err(|reason| rustls::Error::General(reason.to_owned()))?;
                builder.with_client_auth_cert(chain.iter().map(der).collect(), key)?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

fn der(certificate: &Certificate<'_>) -> CertificateDer<'static> {
    CertificateDer::from(certificate.der().to_vec())
}
