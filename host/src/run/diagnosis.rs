//! Hints about files that cannot be used: the probable kind of the file, judged by its content.

use std::{fs::File, io::Read, path::Path};

use crate::{
    json::{self, ParseErrorKind, ParseOptions, Value},
    trace::{LoadError, LoadErrorKind},
};

/// More of a file is not looked at.
const LOOKED_AT: u64 = 16 << 20;

/// Keys of the top level that are named.
const KEYS_NAMED: usize = 5;

/// First bytes of files that are packed, with what they are called and what unpacks them.
const PACKED: [(&[u8], &str, &str); 5] = [
    (b"\x1f\x8b", "gzip", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"BZh", "bzip2", "bunzip2"),
    (b"\xfd7zXZ\0", "xz", "unxz"),
    (b"PK\x03\x04", "zip", "unzip"),
];

const BINARY: &str = "the file is binary; if it is protobuf, export JSON instead";

const CONSOLE: &str = concat!(
    "this is the output of ConsoleSpanExporter, which is not a trace format; record with the exporter of ",
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/main/docs/start/traces-by-hand.md"
);

/// Content that a file was expected to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedContent {
    Traces,
    /// It holds traces, and some parts of it cannot be used, which the error names.
    UsedTraces,
    EvalSet,
}

/// Keys of the top level that distinguish files, and the message about a file in the place of another.
const KNOWN_KEYS: [(&str, Option<ExpectedContent>, &str); 5] = [
    ("resourceSpans", Some(ExpectedContent::Traces), "this is a trace file"),
    ("data", Some(ExpectedContent::Traces), "this may be a trace file"),
    ("eval_cases", Some(ExpectedContent::EvalSet), "this is an eval set; give it with --eval-set"),
    ("evaluators", None, "this is a configuration; give it with --config"),
    ("criteria", None, "this is a configuration; give it with --config"),
];

/// Returns a hint on how to correct a trace file; `None` if the error message says enough.
pub(super) fn trace_hint(error: &LoadError) -> Option<String> {
    let expected = match &error.kind {
        LoadErrorKind::NoSpans | LoadErrorKind::Unusable(_) => ExpectedContent::UsedTraces,
        _ => ExpectedContent::Traces,
    };
    hint(&error.path, expected)
}

/// Returns a hint on how to correct the file; `None` if the error message says enough.
pub(super) fn hint(path: &Path, expected: ExpectedContent) -> Option<String> {
    if path.is_dir() && expected == ExpectedContent::EvalSet {
        return Some("this is a directory; name the file in it".to_owned());
    }
    // Anything but a regular file, such as a pipe, has been read already, or may block forever.
    if !path.is_file() || expected == ExpectedContent::UsedTraces {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    hint_for(&bytes, size <= LOOKED_AT, expected)
}

fn hint_for(bytes: &[u8], whole: bool, expected: ExpectedContent) -> Option<String> {
    let hint = |text: &str| Some(text.to_owned());
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return hint(if bytes.is_empty() { "the file is empty" } else { "the file is blank" });
    }
    if let Some((_, name, tool)) = PACKED.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        // Traces are read from these, so that the error is about their content.
        if expected == ExpectedContent::Traces && matches!(*name, "gzip" | "zstd") {
            return None;
        }
        return Some(format!("the file is packed with {name}; unpack it first, e.g. with {tool}"));
    }
    if is_utf16(bytes) {
        return hint("the file is UTF-16; save it as UTF-8");
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return hint("the file starts with a byte order mark; save it as UTF-8 without one");
    }
    if let Some(offset) = bytes.iter().position(|&byte| byte == 0) {
        return Some(match bytes[..offset].iter().any(|byte| *byte < b'\t') {
            true => BINARY.to_owned(),
            false => format!("byte {offset} is NUL; the file seems to be damaged"),
        });
    }
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) if bytes.iter().take(1024).any(|byte| *byte < b'\t') => return hint(BINARY),
        // Perhaps only the last character of what was looked at is not whole.
        Err(error) if !whole && error.error_len().is_none() => return None,
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            return Some(format!(
                "line {line} column {column} is not UTF-8; save the file as UTF-8"
            ));
        }
    };
    let start = text.trim_start();
    let begins =
        |with: &str| start.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    if begins("<!doctype html") || begins("<html") {
        return hint("this is an HTML page, perhaps what a server answered instead of the file");
    }
    if begins("<") {
        return hint("this is XML or HTML, not JSON");
    }
    // Quotes in a string of JSON are escaped. The objects may be between other lines that a program printed.
    if text.contains("\"trace_id\": \"0x") && text.contains("\"parent_id\": ") {
        return hint(CONSOLE);
    }
    if whole { structure(text, expected) } else { None }
}

/// Every other byte of text in UTF-16 is zero, as long as it is ASCII.
fn is_utf16(bytes: &[u8]) -> bool {
    let zeros = |from: usize| {
        let mut some = bytes.iter().skip(from).step_by(2).take(8).peekable();
        some.peek().is_some() && some.all(|byte| *byte == 0)
    };
    let marked = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    marked || (bytes.len() >= 4 && zeros(0) != zeros(1))
}

/// Kind of the content, if it is JSON.
fn structure(text: &str, expected: ExpectedContent) -> Option<String> {
    let value = match json::parse(text, &ParseOptions::default()) {
        Ok(parsed) => parsed.value,
        Err(error) => {
            let cut = matches!(
                error.kind,
                ParseErrorKind::UnexpectedEnd | ParseErrorKind::UnterminatedString
            );
            return cut.then(|| "the file ends too early; was it written completely?".to_owned());
        }
    };
    let Value::Object(object) = &value else {
        return Some(format!("the file holds {}", value.kind()));
    };
    if let (ExpectedContent::Traces, Some(data)) = (expected, object.get("data"))
        && data.as_array().is_none()
    {
        return Some(format!("`data` is {}, not an array", data.kind()));
    }
    if let Some((_, kind, meant)) = KNOWN_KEYS.iter().find(|(key, ..)| object.contains_key(*key)) {
        // The file is of the expected kind, so the error explains it.
        return (*kind != Some(expected)).then(|| (*meant).to_owned());
    }
    let names: Vec<String> =
        object.keys().take(KEYS_NAMED).map(|key| format!("`{}`", key.escape_debug())).collect();
    if names.is_empty() {
        return Some("the file holds an object without keys".to_owned());
    }
    let more = if object.len() > KEYS_NAMED { ", ..." } else { "" };
    Some(format!("the file holds an object with the keys {}{more}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_content() {
        for (bytes, expected) in [
            (&b""[..], Some("the file is empty")),
            (b" \n", Some("the file is blank")),
            (b"\x1f\x8b\x08\0\0", None),
            (b"PK\x03\x04\x14\0", Some("packed with zip")),
            (b"\xff\xfe{\0", Some("UTF-16")),
            (b"\xfe\xff\0{", Some("UTF-16")),
            (b"{\0\"\0a\0\"\0", Some("UTF-16")),
            (b"\0{\0\"\0a\0\"", Some("UTF-16")),
            (b"\xef\xbb\xbf{}", Some("byte order mark")),
            (b"{\"data\": \0}", Some("byte 9 is NUL")),
            (b"{\"data\": []}\0\0\0\0", Some("byte 12 is NUL")),
            (b"\x0a\x05\x01\0\x02", Some("binary")),
            (b"\x0a\x85\x01\xff\x02", Some("binary")),
            (b"{\"caf\xe9\": 1}", Some("line 1 column 6 is not UTF-8; save")),
            (b"\n<!DOCTYPE HTML><html>", Some("an HTML page")),
            (b"<?xml version='1.0'?>", Some("XML or HTML")),
            (b"{\"data\": [", Some("ends too early")),
            (b"{\"data\": \"x", Some("ends too early")),
            (b"not json", None),
            (b"[1]", Some("the file holds an array")),
            (b"5", Some("the file holds an integer")),
            (b"{}", Some("an object without keys")),
            (
                b"{\n    \"context\": {\n        \"trace_id\": \"0x1\"\n    },\n    \"parent_id\": null\n}\n{",
                Some("the output of ConsoleSpanExporter"),
            ),
            (b"{\"hello\": 1, \"a`\\n\": 2}", Some("the keys `hello`, `a`\\n`")),
            (b"{\"eval_cases\": []}", Some("--eval-set")),
            (b"{\"data\": null}", Some("`data` is null, not an array")),
            (b"{\"data\": [5]}", None),
        ] {
            let hint = hint_for(bytes, true, ExpectedContent::Traces);
            match expected {
                Some(expected) => {
                    let hint = hint.unwrap_or_default();
                    assert!(
                        hint.contains(expected),
                        "{:?}: {hint}",
                        bytes.escape_ascii().to_string()
                    );
                }
                None => assert_eq!(hint, None),
            }
        }
    }
}
