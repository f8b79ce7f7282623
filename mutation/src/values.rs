//! Edits of values and texts that several operators share.

use std::ops::Range;

use evaluator_json::{Object, Value, object};

/// Maximum number of edits of one place.
pub(crate) const MOST_VARIANTS: usize = 10;

/// Returns the result of a tool that failed.
pub(crate) fn timeout() -> Value {
    object([("error", Value::String("timeout".to_owned()))])
}

/// Returns the leaf of a value with this index, depth first: numbers, texts and truth values.
pub(crate) fn leaf(value: &mut Value, index: usize) -> Option<&mut Value> {
    fn find<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
        match value {
            Value::Null => None,
            Value::Array(items) => items.iter_mut().find_map(|item| find(item, left)),
            Value::Object(members) => members.values_mut().find_map(|item| find(item, left)),
            leaf if *left == 0 => Some(leaf),
            _ => {
                *left -= 1;
                None
            }
        }
    }
    let mut left = index;
    find(value, &mut left)
}

/// Returns the number of leaves of a value.
pub(crate) fn leaves(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(members) => members.values().map(leaves).sum(),
        _ => 1,
    }
}

/// Returns another value than this leaf: the next number or day, a longer text, the other truth value.
pub(crate) fn changed(leaf: &Value) -> Value {
    match leaf {
        Value::Bool(value) => Value::Bool(!value),
        Value::Int(number) => match number.checked_add(1) {
            Some(next) => Value::Int(next),
            None => Value::Int(0),
        },
        Value::BigInt(digits) => Value::from_digits(&format!("{digits}0")).unwrap_or(Value::Int(0)),
        // The next number may be the same one.
        Value::Float(number) if number + 1.0 == *number || !number.is_finite() => Value::Float(0.0),
        Value::Float(number) => Value::Float(number + 1.0),
        Value::String(text) => match next_day(text) {
            Some(next) => Value::String(next),
            None => Value::String(format!("{text}x")),
        },
        other => other.clone(),
    }
}

/// Returns a text that begins with a date, a day later; `None` if it does not.
pub(crate) fn next_day(text: &str) -> Option<String> {
    let date = text.get(..10)?;
    let is_date = date.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let is_longer_number = text[10..].starts_with(|next: char| next.is_ascii_digit());
    if !is_date || is_longer_number {
        return None;
    }
    let part = |range: Range<usize>| date[range].parse::<u32>().ok();
    let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let (year, month, day) = match (month, day) {
        (12, 31) => ((year + 1) % 10_000, 1, 1),
        (_, last) if last == days => (year, month + 1, 1),
        _ if (1..days).contains(&day) => (year, month, day + 1),
        _ => return None,
    };
    Some(format!("{year:04}-{month:02}-{day:02}{}", &text[10..]))
}

/// Returns the positions of the dates and numbers of a text.
pub(crate) fn numbers(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_part = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let mut found = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        if !is_part(start) {
            start += 1;
            continue;
        }
        let mut end = start;
        if next_day(&text[start..]).is_some() {
            end += 10;
        } else {
            while is_part(end) {
                end += 1;
            }
        }
        found.push(start..end);
        start = end;
    }
    found
}

/// Returns a text whose date or number at this position is the next one.
pub(crate) fn with_next_number(text: &str, position: &Range<usize>) -> String {
    let number = &text[position.clone()];
    let next = next_day(number).unwrap_or_else(|| {
        let mut digits: Vec<u8> = number.bytes().collect();
        let mut carries = true;
        for digit in digits.iter_mut().rev() {
            if !carries {
                break;
            }
            carries = *digit == b'9';
            *digit = if carries { b'0' } else { *digit + 1 };
        }
        let next: String = digits.into_iter().map(char::from).collect();
        if carries { format!("1{next}") } else { next }
    });
    format!("{}{next}{}", &text[..position.start], &text[position.end..])
}

/// Changes every object inside of a value.
pub(crate) fn each_object(value: &mut Value, change: &impl Fn(&mut Object)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, change)),
        Value::Object(members) => {
            members.values_mut().for_each(|item| each_object(item, change));
            change(members);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_or_day_keeps_the_form() {
        for (text, changed) in [
            ("costs 9 euros", Some("costs 10 euros")),
            ("on 2026-12-31.", Some("on 2027-01-01.")),
            ("on 2024-02-28", Some("on 2024-02-29")),
            ("on 2023-02-28", Some("on 2023-03-01")),
            ("007", Some("008")),
            ("3.50", Some("4.50")),
            ("2026-13-01", Some("2027-13-01")),
            ("none", None),
            ("", None),
        ] {
            let first = numbers(text).into_iter().next();
            assert_eq!(first.map(|it| with_next_number(text, &it)).as_deref(), changed, "{text}");
        }
        assert_eq!(numbers("7 of 12 on 2026-01-02 ½"), [0..1, 5..7, 11..21]);
    }

    #[test]
    fn every_leaf_is_changed_to_another_one() {
        let text = r#"{"a": [1, {"b": "x"}], "c": null, "d": true, "e": 1e300, "f": 123456789012345678901234567890, "g": NaN}"#;
        let value = evaluator_json::parse_python(text).unwrap();
        assert_eq!(leaves(&value), 6);
        for index in 0..6 {
            let mut changed_value = value.clone();
            let leaf = leaf(&mut changed_value, index).unwrap();
            *leaf = changed(leaf);
            let [before, after] = [&value, &changed_value].map(evaluator_json::to_python);
            assert_ne!(before, after, "{index}");
        }
        assert!(leaf(&mut value.clone(), 6).is_none());
    }
}
