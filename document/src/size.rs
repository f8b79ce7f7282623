//! Sizes in bytes: numbers, or text with a unit such as `512MiB`.

use evaluator_json::Value;
use serde_json::json;

use crate::{Field, Node, NodeKind};

/// Units in the order in which messages name them. A bare `M` is refused, because tools disagree on whether it counts in
/// 1000s or in 1024s.
const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1000),
    ("MB", 1000 * 1000),
    ("GB", 1000 * 1000 * 1000),
    ("TB", 1000 * 1000 * 1000 * 1000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Largest size: every system can represent it.
const MAX: u64 = i64::MAX as u64;

impl Field<'_> {
    /// Returns a size of at least `min` bytes.
    pub fn size(&self, min: u64) -> Option<u64> {
        let bytes = match &self.node.kind {
            NodeKind::Scalar(Value::String(text)) => parse(text),
            NodeKind::Scalar(Value::Int(value)) => Some(u64::try_from(*value).unwrap_or(0)),
            NodeKind::Scalar(Value::BigInt(digits)) if digits.starts_with('-') => Some(0),
            NodeKind::Scalar(Value::BigInt(_)) => Some(u64::MAX),
            _ => None,
        };
        let key = self.key;
        let problem = match bytes {
            Some(bytes) if bytes < min => format!("`{key}` must be at least {}", shown(min)),
            Some(bytes) if bytes > MAX => format!("`{key}` exceeds the maximum of 2^63 - 1 bytes"),
            Some(bytes) => return Some(bytes),
            None => format!("`{key}` must be a number of bytes, or text like `512MiB` or `64kB`"),
        };
        self.add(problem).maybe_hint(hint(self.node)).none()
    }
}

/// Returns the JSON Schema of sizes of at least `min` bytes.
pub(crate) fn schema(min: u64) -> serde_json::Value {
    const TEXT: &str = "^ *[0-9]+ *([kK][bB]|[mMgGtT][bB]|[kKmMgGtT][iI][bB]|[bB])? *$";
    let number = json!({"type": "integer", "minimum": min, "maximum": MAX});
    json!({"anyOf": [number, {"type": "string", "pattern": TEXT}]})
}

fn hint(node: &Node) -> Option<String> {
    let text = node.as_str()?.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    match unit.to_ascii_uppercase().as_str() {
        letter @ ("K" | "M" | "G" | "T") => {
            let digits = &text[..text.len() - unit.len()].trim_end();
            let thousands = if letter == "K" { "k" } else { letter };
            Some(format!("`{digits}{letter}iB` counts in 1024s, `{digits}{thousands}B` in 1000s"))
        }
        _ => Some("units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB".to_owned()),
    }
}

/// Parses digits and a unit in any case, with optional blanks between them, e.g. `64MiB`. Saturates at `u64::MAX`.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return None;
    }
    let factor = match unit.trim_start() {
        "" => 1,
        unit => UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1,
    };
    // `number` has only digits, so it fails to parse only if it is too large.
    Some(number.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(factor))
}

/// Formats a size in the largest unit of which it is a whole number, e.g. `512MiB`.
pub fn shown(bytes: u64) -> String {
    let (name, factor) = UNITS
        .iter()
        .filter(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor))
        .max_by_key(|(_, factor)| *factor)
        .unwrap_or(&UNITS[0]);
    match *factor {
        1 if bytes == 1 => "1 byte".to_owned(),
        1 => format!("{bytes} bytes"),
        factor => format!("{}{name}", bytes / factor),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_are_distinguished() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("1048576", Some(1 << 20)),
            ("512MiB", Some(512 << 20)),
            ("512 mib", Some(512 << 20)),
            (" 64kB ", Some(64_000)),
            ("2GB", Some(2_000_000_000)),
            ("7B", Some(7)),
            ("99999999999999999999", Some(u64::MAX)),
            ("99999999TiB", Some(u64::MAX)),
            ("", None),
            ("MiB", None),
            ("512M", None),
            ("1.5GiB", None),
            ("-1", None),
            ("+1", None),
            ("1 000", None),
            ("64 apples", None),
            ("٣MiB", None),
        ] {
            assert_eq!(parse(text), bytes, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_as_the_same_size(bytes in 0..=MAX) {
            let text = shown(bytes);
            let plain = text.trim_end_matches('s').trim_end_matches(" byte");
            prop_assert_eq!(parse(plain), Some(bytes), "{}", text);
        }
    }
}
