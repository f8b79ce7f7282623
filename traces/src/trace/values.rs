//! Ids, numbers and base64 text in the many spellings of recorders.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::json::{Value, parse_float, parse_int, strip};

/// Bytes of a trace id.
pub(super) const TRACE_ID: usize = 16;
/// Bytes of a span id.
pub(super) const SPAN_ID: usize = 8;

static STRICT: GeneralPurpose = decoder(DecodePaddingMode::RequireCanonical);
static UNPADDED: GeneralPurpose = decoder(DecodePaddingMode::RequireNone);

/// Returns a decoder that ignores bits after the last byte.
const fn decoder(padding: DecodePaddingMode) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(&STANDARD, config.with_decode_padding_mode(padding))
}

/// Returns the normalized id of `bytes` bytes: lower-case hex where it was hex or base64 of that length, else the text
/// itself, stripped and in lower case. `None` if the value is absent, blank, not a string, or all zeros.
pub(super) fn normalize(value: &Value, bytes: usize) -> Option<String> {
    let recorded = value.as_str()?;
    let stripped = strip(recorded);
    if is_plain_hex(stripped, bytes) {
        return (!is_zero(stripped)).then(|| stripped.to_owned());
    }
    let text = stripped.to_lowercase();
    if is_plain_hex(&text, bytes) {
        return (!is_zero(&text)).then_some(text);
    }
    let decoded = decode_base64(recorded).filter(|decoded| decoded.len() == bytes);
    if let Some(decoded) = decoded.filter(|decoded| decoded.iter().any(|&byte| byte != 0)) {
        return Some(hex(&decoded));
    }
    (!text.is_empty()).then_some(text)
}

/// Returns bytes as lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(if half < 10 { b'0' + half } else { b'a' + half - 10 });
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// Returns true if the text is `bytes` bytes of lower-case hex.
pub(super) fn is_plain_hex(text: &str, bytes: usize) -> bool {
    text.len() == bytes * 2 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_zero(hex: &str) -> bool {
    hex.bytes().all(|byte| byte == b'0')
}

/// Largest accepted time, in nanoseconds. Differences of such times, and their thousandfold, still fit.
const MAX_TIME: i128 = 1 << 96;

/// A number cannot be used. The message has the reason and the replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("is infinite; 0 is used")]
    Infinite,
    #[error("is out of range; 0 is used")]
    OutOfRange,
    #[error("is not an integer; its whole part or 0 is used")]
    NotAnInteger,
}

/// Reads an integer of any size: floats lose their fraction, text is parsed, everything else is 0.
pub(super) fn integer(value: &Value) -> Result<Value, Unusable> {
    match value {
        Value::Int(_) | Value::BigInt(_) => Ok(value.clone()),
        Value::Float(float) => truncate(*float),
        Value::String(text) => match parse_int(text) {
            Some(int) => Ok(int),
            None => truncate(parse_float(text).unwrap_or_default()),
        },
        // Including `true`, which is not a count.
        _ => Ok(Value::Int(0)),
    }
}

/// Reads a time or a duration; `scale` is 1 for nanoseconds, 1000 for microseconds. An absent one is 0.
pub(super) fn time(value: &Value, scale: i128) -> Result<i128, Unusable> {
    let time = integer(value)?.as_i128().filter(|time| (-MAX_TIME..=MAX_TIME).contains(time));
    time.and_then(|time| time.checked_mul(scale)).ok_or(Unusable::OutOfRange)
}

/// Reads a float: numbers and booleans are converted, text is parsed, everything else is `None`.
pub(super) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        #[expect(clippy::cast_precision_loss, reason = "a recorded double is no more precise")]
        Value::Int(int) => Some(*int as f64),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Float(float) => Some(*float),
        Value::String(text) => parse_float(text),
        _ => None,
    }
}

fn truncate(float: f64) -> Result<Value, Unusable> {
    if float.is_nan() {
        return Ok(Value::Int(0));
    }
    if float.is_infinite() {
        return Err(Unusable::Infinite);
    }
    // The format has all digits.
    Ok(Value::from_digits(&format!("{:.0}", float.trunc())).unwrap_or(Value::Int(0)))
}

/// Decodes standard base64 with padding and no other characters.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    STRICT.decode(text).ok()
}

/// Returns the text of recorded bytes: decoded if they are UTF-8, else the base64 as recorded.
///
/// Characters outside of the alphabet are skipped, as in Python.
pub(super) fn base64_text(recorded: String) -> String {
    let end = recorded.find('=').unwrap_or(recorded.len());
    let padding = recorded[end..].bytes().filter(|&byte| byte == b'=').count();
    let mut digits = recorded[..end].to_owned();
    digits.retain(|digit| digit.is_ascii_alphanumeric() || matches!(digit, '+' | '/'));
    let needed = (4 - digits.len() % 4) % 4;
    if padding < needed {
        return recorded;
    }
    let decoded = UNPADDED.decode(digits).ok();
    decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseOptions, parse, to_python};

    #[test]
    fn recorded_ids() {
        let mut cases = 0;
        for line in include_str!("../../../json/tests/data/text_rules.jsonl").lines() {
            let case = parse(line, &ParseOptions::default()).expect("valid").value;
            if case.get("fn").and_then(Value::as_str) != Some("normalize_id") {
                continue;
            }
            let [id, Value::Int(bytes)] = case.get("in").and_then(Value::as_array).expect("a pair")
            else {
                panic!("{line}");
            };
            let bytes = usize::try_from(*bytes).expect("a length");
            assert_eq!(
                normalize(id, bytes).as_deref(),
                case.get("out").and_then(Value::as_str),
                "{line}"
            );
            cases += 1;
        }
        assert!(cases > 30, "only {cases} cases");
    }

    #[test]
    fn recorded_integers() {
        let mut cases = 0;
        for line in include_str!("../../../json/tests/data/text_rules.jsonl").lines() {
            let case = parse(line, &ParseOptions::default()).expect("valid").value;
            if case.get("fn").and_then(Value::as_str) != Some("int") {
                continue;
            }
            let result = integer(case.get("in").expect("an input")).expect("finite");
            assert_eq!(
                to_python(&result),
                to_python(case.get("out").expect("an output")),
                "{line}"
            );
            cases += 1;
        }
        assert!(cases > 20, "only {cases} cases");
    }

    #[test]
    fn times_are_bounded() {
        assert_eq!(time(&Value::from("1.5e3"), 1), Ok(1500));
        assert_eq!(time(&Value::Int(-5), 1000), Ok(-5000));
        assert_eq!(time(&Value::Null, 1), Ok(0));
        assert_eq!(time(&Value::from("inf"), 1), Err(Unusable::Infinite));
        assert_eq!(time(&Value::Float(f64::NEG_INFINITY), 1), Err(Unusable::Infinite));
        assert_eq!(time(&Value::Float(1e30), 1), Err(Unusable::OutOfRange));
        assert_eq!(time(&Value::from("9".repeat(99)), 1), Err(Unusable::OutOfRange));
        assert_eq!(time(&Value::from(i128::MIN), 1), Err(Unusable::OutOfRange));
    }

    #[test]
    fn strict() {
        assert_eq!(decode_base64("aGVsbG8="), Some(b"hello".to_vec()));
        assert_eq!(decode_base64("/+8A"), Some(vec![0xff, 0xef, 0]));
        assert_eq!(decode_base64(""), Some(vec![]));
        assert_eq!(decode_base64("/x=="), Some(vec![0xff]));
        for bad in
            ["aGVsbG8", "aGVsb===", "aGVs bG8=", "aGVsbG8=\n", "a===", "aG=s", "a-b_", "é==="]
        {
            assert_eq!(decode_base64(bad), None, "{bad:?}");
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
            ("QR", "QR"),
            ("QR==", "A"),
            ("QUJDR===", "QUJDR==="),
            ("aGVsbG8===", "hello"),
            ("", ""),
        ] {
            assert_eq!(base64_text(recorded.to_owned()), expected, "{recorded:?}");
        }
    }
}
