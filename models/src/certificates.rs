//! Files with certificates to trust.

use std::path::Path;

use ureq::tls::{Certificate, PemItem, RootCerts};

/// Returns the certificates of a PEM file's content; other items are ignored.
///
/// # Errors
///
/// Reason, as a clause that follows the name of the file: it is not PEM, or holds no certificates.
pub fn parse_certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let mut certificates = Vec::new();
    for item in ureq::tls::parse_pem(pem) {
        if let PemItem::Certificate(certificate) =
            item.map_err(|error| format!("is not PEM: {error}"))?
        {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err("holds no certificates".to_owned());
    }
    Ok(certificates)
}

/// Reads the certificates to trust instead of the built-in ones.
///
/// # Errors
///
/// As for [`parse_certificates`], or the file cannot be read.
pub fn read_certificates(file: &Path) -> Result<RootCerts, String> {
    let pem = std::fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(RootCerts::new_with_certs(&parse_certificates(&pem)?))
}
