//! Lines that know whether they are whole.
//!
//! A line is a JSON object whose first member is the CRC-32 of everything that follows that member's comma, up to the line
//! end. That finds every single changed byte and every run of up to four, and lines that were cut off.

/// How a line begins.
const START: &[u8] = b"{\"crc32\":\"";

/// Digits of a checksum.
const DIGITS: usize = 8;

/// The bytes before what is checked.
pub(super) const PREFIX: usize = START.len() + DIGITS + 2;

/// The line of a JSON object that has members, with its line end. `object` is its compact text.
pub(super) fn sealed(object: &str) -> String {
    let rest = object.strip_prefix('{').unwrap_or(object);
    let sum = crc32fast::hash(rest.as_bytes());
    format!("{{\"crc32\":\"{sum:08x}\",{rest}\n")
}

/// What a line says after its checksum. `line` is without its line end.
///
/// # Errors
///
/// Why it is not what was written.
pub(super) fn opened(line: &[u8]) -> Result<&[u8], &'static str> {
    if !may_start(line) {
        return Err("it is not a line of a journal");
    }
    let Some((prefix, rest)) = line.split_at_checked(PREFIX) else { return Err("it is cut off") };
    let (digits, end) = prefix[START.len()..].split_at(DIGITS);
    if end != b"\"," || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return Err("it is not a line of a journal");
    }
    let sum = digits.iter().fold(0_u32, |sum, digit| {
        let value = if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
        sum << 4 | u32::from(value)
    });
    if sum == crc32fast::hash(rest) { Ok(rest) } else { Err("its checksum does not match") }
}

/// Whether a line that begins like this may be one, or the start of one that was cut off.
pub(super) fn may_start(bytes: &[u8]) -> bool {
    let known = bytes.len().min(START.len());
    bytes[..known] == START[..known]
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn a_line_is_json_and_its_checksum_is_the_common_one() {
        let line = sealed(r#"{"a":1}"#);
        // python3 -c 'import zlib; print("%08x" % zlib.crc32(b"\"a\":1}"))'
        assert_eq!(line, "{\"crc32\":\"94da56a3\",\"a\":1}\n");
        assert_eq!(opened(line.trim_end().as_bytes()), Ok(&b"\"a\":1}"[..]));
        assert!(crate::json::parse_python(&line).is_some());
    }

    proptest! {
        #[test]
        fn whatever_happens_to_a_byte_is_seen(text in vec(any::<char>(), 0..40), at in any::<prop::sample::Index>(), bits in 1_u8..) {
            let text: String = text.into_iter().collect();
            let object = format!("{{\"text\":{}}}", serde_json::Value::from(text));
            let line = sealed(&object);
            let mut bytes = line.trim_end_matches('\n').as_bytes().to_vec();
            prop_assert!(opened(&bytes).is_ok());
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
            prop_assert!(opened(&bytes).is_err());
            bytes[at] ^= bits;
            bytes.truncate(at);
            prop_assert!(opened(&bytes).is_err());
        }
    }
}
