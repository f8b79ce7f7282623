//! Bearer tokens, and the error of a server that would need one.

use std::{io, net::SocketAddr};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Bearer token of a server. Only its hash is stored.
#[derive(Clone, derive_more::Debug)]
#[debug("Token")]
pub struct Token {
    hash: [u8; 32],
}

/// Error of a text that cannot be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the token is empty or has characters that a header cannot have; use letters, digits and punctuation"
)]
pub struct BadToken;

impl Token {
    /// Creates a token; white space around it is removed.
    ///
    /// # Errors
    ///
    /// [`BadToken`] if the text is empty, or a header cannot contain it.
    pub fn new(text: &str) -> Result<Self, BadToken> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadToken);
        }
        Ok(Self { hash: hash(text.as_bytes()) })
    }

    /// Returns true if the value of an `Authorization` header has this token. Compares hashes in constant time, so that the
    /// duration reveals neither the token nor its length.
    pub fn is_borne_by(&self, authorization: &[u8]) -> bool {
        let Some((scheme, given)) = authorization.split_at_checked(BEARER.len()) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(BEARER)
            && bool::from(hash(given.trim_ascii()).ct_eq(&self.hash))
    }
}

const BEARER: &[u8] = b"Bearer ";

fn hash(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// Error of starting a server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Other machines can reach the address, and no token is configured.
    #[error("{address} can be reached from other machines, and no bearer token is configured")]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Error of the system.
        error: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_it() {
        let token = Token::new("  s3cret-token\n").unwrap();
        for good in ["Bearer s3cret-token", "bearer s3cret-token", "BEARER   s3cret-token "] {
            assert!(token.is_borne_by(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "Bearer",
            "Bearer ",
            "s3cret-token",
            "Basic s3cret-token",
            "Bearer s3cret-toke",
            "Bearer s3cret-token2",
            "Bearer s3cret token",
            "Bearers3cret-token",
            "Bearer S3cret-token",
        ] {
            assert!(!token.is_borne_by(bad.as_bytes()), "{bad}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn what_no_header_can_hold_is_no_token() {
        for text in ["", " \n", "a b", "é"] {
            assert_eq!(Token::new(text).unwrap_err(), BadToken, "{text:?}");
        }
    }
}
