//! Sizes: bytes, or text with a unit such as `512MiB`.

use super::{
    fields::Problems,
    yaml::{Node, NodeKind},
};
use crate::json::Value;

/// Units in the order in which messages name them. Those of a thousand and those of 1024 are told apart; a bare `M` is
/// not taken, because tools do not agree on which of the two it is.
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

/// The largest size that every system has a number for.
const MAX: u64 = i64::MAX as u64;

/// Reads a size of at least `min` bytes.
pub(super) fn read(key: &str, node: &Node, min: u64, problems: &mut Problems<'_>) -> Option<u64> {
    let bytes = match &node.kind {
        NodeKind::Scalar(Value::String(text)) => parse(text),
        NodeKind::Scalar(Value::Int(value)) => Some(u64::try_from(*value).unwrap_or(0)),
        // Beyond 64 bits in either direction.
        NodeKind::Scalar(Value::BigInt(digits)) => {
            Some(if digits.starts_with('-') { 0 } else { u64::MAX })
        }
        _ => None,
    };
    let problem = match bytes {
        Some(bytes) if bytes < min => format!("`{key}` must be at least {}", shown(min)),
        Some(bytes) if bytes > MAX => format!("`{key}` is more than there can be"),
        Some(bytes) => return Some(bytes),
        None => format!("`{key}` must be a number of bytes, or text like `512MiB` or `64kB`"),
    };
    problems.add(node.span, problem, hint(node));
    None
}

fn hint(node: &Node) -> Option<String> {
    let text = node.as_str()?.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    // `512M`, `2g`: one of the two that begin like this is meant.
    match unit.to_ascii_uppercase().as_str() {
        letter @ ("K" | "M" | "G" | "T") => {
            let digits = &text[..text.len() - unit.len()].trim_end();
            let thousands = if letter == "K" { "k" } else { letter };
            Some(format!("`{digits}{letter}iB` counts in 1024s, `{digits}{thousands}B` in 1000s"))
        }
        _ => Some("units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB".to_owned()),
    }
}

/// Digits and a unit, if need be with blanks between them; units in any case. What cannot be counted in 64 bits is the
/// largest number of those.
fn parse(text: &str) -> Option<u64> {
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
    // Only digits are left, so what cannot be read is too large.
    Some(number.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(factor))
}

/// A size as a person would write it: in the largest unit it is a whole number of.
pub(crate) fn shown(bytes: u64) -> String {
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
    fn units_are_told_apart() {
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
