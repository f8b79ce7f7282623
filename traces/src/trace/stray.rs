//! Spans in members of a trace file that are not read.
//!
//! Such a member is misspelt (`ResourceSpans`), or belongs to another format than the rest of the file. Its spans would
//! be missing from the run without a word. Members without spans may be anything.

use super::{
    left_out::Part,
    pool::{Pool, Side},
};
use crate::json::{Object, ScanError, Scanner, Source, Value};

/// Containers inside one another that are looked into: more than a document has around its spans.
const DEPTH: usize = 16;
/// Keys of a span in the spellings of all formats: first those of its id, from `MARKS` on others that it has. Links and
/// exemplars have an id only.
const KEYS: [&str; 10] = [
    "spanId",
    "span_id",
    "spanID",
    "SpanId",
    "SpanID",
    "name",
    "operationName",
    "startTime",
    "startTimeUnixNano",
    "start_time_unix_nano",
];
const MARKS: usize = 5;

/// Which of the keys of a span an object has.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    id: bool,
    mark: bool,
}

impl Seen {
    fn add(&mut self, key: usize) {
        *(if key < MARKS { &mut self.id } else { &mut self.mark }) = true;
    }

    fn is_span(self) -> bool {
        self.id && self.mark
    }
}

/// Notes the members of an object whose spans are not read. Those that are read have been taken out.
pub(super) fn leave_out(object: &Object, pool: &mut Pool) {
    for (key, value) in object {
        // Of a span that stands alone.
        if key != "attributes" && holds_span(value, DEPTH) {
            let reason = format!("`{key}` holds spans and is not read");
            pool.leave_out(Side::Spans, Part::List, &reason);
        }
    }
}

fn holds_span(value: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match value {
        Value::Array(items) => items.iter().any(|item| holds_span(item, depth)),
        Value::Object(object) => {
            is_span(object) || object.values().any(|member| holds_span(member, depth))
        }
        _ => false,
    }
}

/// Returns true for an object with the keys of a span.
pub(super) fn is_span(object: &Object) -> bool {
    let mut seen = Seen::default();
    for (number, key) in KEYS.iter().enumerate() {
        if object.contains_key(*key) {
            seen.add(number);
        }
    }
    seen.is_span()
}

/// Passes the value that starts here. Returns true if it holds a span, as [`leave_out`] decides.
pub(super) fn skip<S: Source>(scanner: &mut Scanner<S>) -> Result<bool, ScanError> {
    skip_to(scanner, DEPTH)
}

fn skip_to<S: Source>(scanner: &mut Scanner<S>, depth: usize) -> Result<bool, ScanError> {
    let mut found = false;
    match (scanner.peek()?, depth.checked_sub(1)) {
        (Some(b'['), Some(depth)) => {
            let mut more = scanner.open_array()?;
            while more {
                found |= skip_to(scanner, depth)?;
                more = scanner.next_item()?;
            }
        }
        (Some(b'{'), Some(depth)) => {
            let mut seen = Seen::default();
            let mut more = scanner.open_object()?;
            while more {
                if let Some(key) = scanner.key(&KEYS)? {
                    seen.add(key);
                }
                found |= skip_to(scanner, depth)?;
                more = scanner.next_member()?;
            }
            found |= seen.is_span();
        }
        _ => scanner.skip_value()?,
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Checked, ParseOptions, parse};

    #[test]
    fn both_ways_find_the_same() {
        let nested = |levels: usize| {
            format!("{}{{\"spanId\": 1, \"name\": 2}}{}", "[".repeat(levels), "]".repeat(levels))
        };
        for (text, expected) in [
            (r#"{"spanId": "1", "name": "x"}"#.to_owned(), true),
            (r#"[1, {"a": [{"x": {}, "spanID": null, "startTime": 0}]}]"#.to_owned(), true),
            (r#"{"links": [{"traceId": "1", "spanId": "2"}]}"#.to_owned(), false),
            (
                r#"[{"spanId": "1", "timeUnixNano": "1", "asDouble": 1}, {"name": "x"}]"#
                    .to_owned(),
                false,
            ),
            (r#"{"spanId": {"name": "x"}}"#.to_owned(), false),
            ("5".to_owned(), false),
            (nested(DEPTH - 1), true),
            (nested(DEPTH), false),
        ] {
            let value = parse(&text, &ParseOptions::default()).unwrap().value;
            assert_eq!(holds_span(&value, DEPTH), expected, "{text}");
            let mut scanner = Scanner::new(Checked::new(text.as_bytes(), 7));
            assert_eq!(skip(&mut scanner).unwrap(), expected, "{text}");
            assert_eq!(scanner.offset(), text.len());
        }
    }
}
