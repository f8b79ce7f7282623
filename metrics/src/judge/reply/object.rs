//! The JSON object with which a judge states its verdict.

use std::{ops::Range, sync::LazyLock};

use evaluator_json::{Object, ParseOptions, RepeatedKeys, Value, parse, strip};
use regex_lite::{Captures, Regex};

use crate::judge::code::{Code, ending};

/// Number of braces that are tried as the start of an object.
const STARTS: usize = 500;

/// A word in the place of a truth value.
static PASSED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""passed"(\s*:\s*)"?([A-Za-z]+)"?"#).expect("built-in patterns are valid")
});

/// Object of a reply, with the ending of the keys that state the verdict.
#[derive(Debug)]
pub(in crate::judge) struct Verdict<'c> {
    /// Members of the object.
    pub(in crate::judge) members: Object,
    /// Ending of the keys that state the verdict.
    pub(in crate::judge) ending: &'c str,
}

impl Verdict<'_> {
    /// Returns the key of that name as the reply has to write it.
    pub(in crate::judge) fn key(&self, name: &str) -> String {
        format!("{name}{}", self.ending)
    }
}

/// Reads the object of a reply. If the reply has the code, that is the only object with keys that have it, whatever is around
/// it. Else the reply must be one object and nothing else, in a fence or not.
///
/// # Errors
///
/// There is no such object, there are several, it is not JSON, or a key occurs twice in it.
pub(in crate::judge) fn verdict<'c>(
    reply: &str,
    code: Option<&'c Code>,
) -> Result<Verdict<'c>, String> {
    let reply = PASSED.replace_all(reply, |word: &Captures<'_>| {
        format!("\"passed\"{}{}", &word[1], word[2].eq_ignore_ascii_case("true"))
    });
    match code.filter(|code| code.is_in(&reply)) {
        Some(code) => Ok(Verdict { members: coded(&reply, code)?, ending: code.as_str() }),
        None => Ok(Verdict { members: whole(&reply)?, ending: ending(None) }),
    }
}

/// Reads a reply that is one JSON object and nothing else, in a fence or not.
///
/// # Errors
///
/// It is not, or a key occurs twice.
pub(crate) fn whole(reply: &str) -> Result<Object, String> {
    let text = unfenced(reply);
    if !text.starts_with('{') {
        return Err("the reply is not one JSON object and nothing else".to_owned());
    }
    object(text).map_err(|problem| format!("the reply is not one JSON object: {problem}"))
}

/// Returns the text of a reply without the fence around it.
pub(super) fn unfenced(reply: &str) -> &str {
    let text = strip(reply);
    let Some(inner) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else {
        return text;
    };
    match inner.split_once('\n') {
        Some((language, inner)) if language.trim().chars().all(char::is_alphanumeric) => {
            strip(inner)
        }
        _ => strip(inner),
    }
}

/// Returns the only object with keys that have the code.
fn coded(reply: &str, code: &Code) -> Result<Object, String> {
    let mut found: Option<(Range<usize>, Object)> = None;
    for (range, object) in objects(reply) {
        if !code.is_in(&reply[range.clone()]) {
            continue;
        }
        if found.replace((range, object)).is_some() {
            return Err("the reply has more than one verdict".to_owned());
        }
    }
    let Some((range, object)) = found else {
        return Err("the object with the verdict is not JSON".to_owned());
    };
    // A key with the code outside of the object is another verdict, or a part of a broken one.
    let key = format!("{}\"", code.as_str());
    if reply[..range.start].contains(&key) || reply[range.end..].contains(&key) {
        return Err("the reply has more than one verdict, or a broken one".to_owned());
    }
    Ok(object)
}

fn object(text: &str) -> Result<Object, String> {
    let options = ParseOptions {
        non_finite: false,
        repeated_keys: RepeatedKeys::Reject,
        ..ParseOptions::default()
    };
    match parse(text, &options) {
        Ok(parsed) => match parsed.value {
            Value::Object(members) => Ok(members),
            other => Err(format!("it is {}", other.kind())),
        },
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the objects of a text that are not part of another one. Text with braces that is not JSON is skipped brace by
/// brace: it may be quoted.
fn objects(text: &str) -> Vec<(Range<usize>, Object)> {
    let mut found = Vec::new();
    let mut position = 0;
    for _ in 0..STARTS {
        let Some(start) = text[position..].find('{').map(|offset| position + offset) else { break };
        let range = end(&text[start..]).map(|length| start..start + length);
        position = start + 1;
        if let Some(range) = range
            && let Ok(object) = object(&text[range.clone()])
        {
            position = range.end;
            found.push((range, object));
        }
    }
    found
}

/// Returns the end of the object that starts here.
fn end(text: &str) -> Option<usize> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' if !in_text => depth += 1,
            b'}' if !in_text => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(position + 1);
                }
            }
            _ => {}
        }
    }
    None
}
