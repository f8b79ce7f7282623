//! Base64, strict where it could be something else and lenient where it cannot.

/// Decodes standard base64 with padding and nothing else in it.
pub(super) fn decode_strict(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    decode_digits(digits.bytes().map(digit))
}

/// The text that recorded bytes hold: decoded where they are UTF-8, else the base64 as it was recorded.
///
/// Characters that base64 does not have are skipped, as Python does.
pub(super) fn text(recorded: String) -> String {
    let end = recorded.find('=').unwrap_or(recorded.len());
    let padding = recorded[end..].bytes().filter(|&byte| byte == b'=').count();
    let digits: Vec<u8> = recorded[..end].bytes().filter_map(digit).collect();
    let needed = (4 - digits.len() % 4) % 4;
    if padding < needed {
        return recorded;
    }
    let decoded = decode_digits(digits.into_iter().map(Some));
    decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(recorded)
}

fn decode_digits(digits: impl Iterator<Item = Option<u8>>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for digit in digits {
        bits = bits << 6 | u32::from(digit?);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    // A single left-over digit is not even one byte.
    (count < 6).then_some(out)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict() {
        assert_eq!(decode_strict("aGVsbG8="), Some(b"hello".to_vec()));
        assert_eq!(decode_strict("/+8A"), Some(vec![0xff, 0xef, 0]));
        assert_eq!(decode_strict(""), Some(vec![]));
        for bad in ["aGVsbG8", "aGVs bG8=", "aGVsbG8=\n", "a===", "aG=s", "a-b_", "é==="] {
            assert_eq!(decode_strict(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn lenient() {
        for (recorded, expected) in [
            ("aGVsbG8=", "hello"),
            ("aGVs\nbG8 =", "hello"),
            ("aGVsbG8", "aGVsbG8"),
            ("!!notb64", "!!notb64"),
            ("/w==", "/w=="),
            ("", ""),
        ] {
            assert_eq!(text(recorded.to_owned()), expected, "{recorded:?}");
        }
    }
}
