//! Tokens of evaluations.

use std::io;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Bytes of each half of a token.
const HALF: usize = 16;

/// Gives tokens, and knows those that it gave without keeping them: half of a token is random, the other half is a digest of it
/// with a secret.
#[derive(derive_more::Debug)]
#[debug("Tokens")]
pub(super) struct Tokens {
    secret: [u8; 32],
}

impl Tokens {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { secret: random()? })
    }

    /// Returns a new token, 64 hexadecimal digits.
    pub(super) fn issue(&self) -> io::Result<String> {
        let name = hex(&random::<HALF>()?);
        let digest = self.digest(&name);
        Ok(name + &digest)
    }

    /// Returns true for a token that was given, whether its evaluation goes on or not.
    pub(super) fn has_issued(&self, token: &[u8]) -> bool {
        let Ok(token) = std::str::from_utf8(token) else { return false };
        let Some((name, digest)) = token.split_at_checked(2 * HALF) else { return false };
        self.digest(name).as_bytes().ct_eq(digest.as_bytes()).into()
    }

    fn digest(&self, name: &str) -> String {
        let digest = Sha256::new().chain_update(self.secret).chain_update(name).finalize();
        hex(&digest[..HALF])
    }
}

/// Returns 32 random bytes as hexadecimal digits.
pub(super) fn random_name() -> io::Result<String> {
    random::<32>().map(|bytes| hex(&bytes))
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_known_by_those_who_gave_them() {
        let (tokens, others) = (Tokens::new().unwrap(), Tokens::new().unwrap());
        let token = tokens.issue().unwrap();
        assert!(tokens.has_issued(token.as_bytes()) && !others.has_issued(token.as_bytes()));
        assert_ne!(token, tokens.issue().unwrap());
        let changed = token.replace(&token[63..], if token.ends_with('0') { "1" } else { "0" });
        let long = format!("{token}0");
        for other in [&changed, &long, &token[..63], &token[..32], "", "\u{e9}"] {
            assert!(!tokens.has_issued(other.as_bytes()), "{other}");
        }
    }
}
