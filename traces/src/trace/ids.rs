//! One form for trace and span ids, whatever wrote them.

use super::bytes;
use crate::{json::Value, json::strip};

/// Bytes of a trace id.
pub(super) const TRACE: usize = 16;
/// Bytes of a span id.
pub(super) const SPAN: usize = 8;

/// The normalized id of `bytes` bytes: lower-case hex where it was hex or base64 of that length, else the text itself,
/// stripped and in lower case. `None` when absent, blank, not a string, or all zeros.
pub(super) fn normalize(value: &Value, bytes: usize) -> Option<String> {
    let recorded = value.as_str()?;
    let stripped = strip(recorded);
    if is_plain_hex(stripped, bytes) {
        return (!is_zero(stripped)).then(|| stripped.to_owned());
    }
    let text = stripped.to_lowercase();
    if text.len() == bytes * 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return (!is_zero(&text)).then_some(text);
    }
    let decoded = bytes::decode_strict(recorded).filter(|decoded| decoded.len() == bytes);
    if let Some(decoded) = decoded.filter(|decoded| decoded.iter().any(|&byte| byte != 0)) {
        return Some(hex(&decoded));
    }
    (!text.is_empty()).then_some(text)
}

/// Bytes as an id is written.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(if half < 10 { b'0' + half } else { b'a' + half - 10 });
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// Whether the text is `bytes` bytes as an id is written; if so it needs no change but perhaps a check for zero.
pub(super) fn is_plain_hex(text: &str, bytes: usize) -> bool {
    text.len() == bytes * 2 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_zero(hex: &str) -> bool {
    hex.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseOptions, parse};

    #[test]
    fn recorded_cases() {
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
}
