//! The JSON object of a reply.

use std::sync::LazyLock;

use evaluator_json::{ParseOptions, RepeatedKeys, Value, parse};
use regex_lite::{Captures, Regex};

use super::{Unreadable, grade::Read};

/// Number of braces that are tried as the start of an object.
const STARTS: usize = 100;

/// A word in the place of a truth value.
static PASSED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""passed"(\s*:\s*)"?([A-Za-z]+)"?"#).expect("built-in patterns are valid")
});

/// Reads the object of a reply: from the first brace to the last one, without fences. If that is not JSON, the only object
/// within it that `read` accepts.
///
/// # Errors
///
/// There is no such object, or there are several.
pub(super) fn find<T>(reply: &str, read: impl Fn(&Value) -> Read<T>) -> Result<T, Unreadable> {
    let text = reply.replace("```json\n", "").replace("```", "");
    let wide = match (text.find('{'), text.rfind('}')) {
        (Some(start), Some(end)) if start < end => &text[start..=end],
        _ => return Err(Unreadable("the reply has no JSON object".to_owned())),
    };
    let wide = PASSED.replace_all(wide, |word: &Captures<'_>| {
        format!("\"passed\"{}{}", &word[1], word[2].eq_ignore_ascii_case("true"))
    });
    let problem = match object(&wide) {
        Ok(value) => return read(&value).map_err(Unreadable),
        Err(problem) => problem,
    };
    let mut found: Option<T> = None;
    for value in objects(&wide) {
        let Ok(value) = read(&value) else { continue };
        if found.replace(value).is_some() {
            return Err(Unreadable("the reply has more than one answer".to_owned()));
        }
    }
    found.ok_or_else(|| Unreadable(format!("the reply is not JSON: {problem}")))
}

fn object(text: &str) -> Result<Value, String> {
    let options = ParseOptions {
        non_finite: false,
        repeated_keys: RepeatedKeys::Reject,
        ..ParseOptions::default()
    };
    parse(text, &options).map(|parsed| parsed.value).map_err(|error| error.to_string())
}

/// Returns the objects of a text that are not part of another one.
fn objects(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut position = 0;
    for _ in 0..STARTS {
        let Some(start) = text[position..].find('{').map(|offset| position + offset) else { break };
        let value = end(&text[start..]).map(|end| (start + end, object(&text[start..start + end])));
        position = match value {
            Some((end, Ok(value))) => {
                found.push(value);
                end
            }
            _ => start + 1,
        };
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
