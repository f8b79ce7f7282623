//! Who may ask.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A token that requests have to bear. Only its hash is kept.
#[derive(Clone)]
pub struct Token {
    hash: [u8; 32],
}

/// A text that is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadToken {
    /// There is nothing in it.
    #[error("the token is empty")]
    Empty,
    /// A header could not hold it.
    #[error(
        "the token has characters that no header can have; use letters, digits and punctuation"
    )]
    Unprintable,
}

impl Token {
    /// A token; blanks and line ends around it do not count.
    ///
    /// # Errors
    ///
    /// [`BadToken`]: no request could bear it.
    pub fn new(text: &str) -> Result<Self, BadToken> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadToken::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadToken::Unprintable);
        }
        Ok(Self { hash: hash(text.as_bytes()) })
    }

    /// Whether the value of an `Authorization` header bears it. Hashes are compared, and all of them: how long that takes
    /// says nothing of the token, not even its length.
    #[must_use]
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

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
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
        for (text, expected) in [
            ("", BadToken::Empty),
            (" \n", BadToken::Empty),
            ("a b", BadToken::Unprintable),
            ("é", BadToken::Unprintable),
        ] {
            assert_eq!(Token::new(text).unwrap_err(), expected, "{text:?}");
        }
    }
}
