//! The JSON object with which a judge states its verdict.

use std::{ops::Range, sync::LazyLock};

use evaluator_json::{Object, ParseOptions, RepeatedKeys, Value, parse, strip};
use regex_lite::{Captures, Regex};

use crate::judge::code::{Code, after_draft, ending};

/// Number of braces that may look like the start of an object and not be it.
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

    /// Checks that an object has these members only, whose keys may have the code. A quote that breaks out of a text may hide
    /// the judge's own verdict in a member that nothing reads.
    ///
    /// # Errors
    ///
    /// Another member.
    pub(in crate::judge) fn has_only(&self, object: &Object, names: &[&str]) -> Result<(), String> {
        let name = |key: &'_ str| key.strip_suffix(self.ending).unwrap_or(key).to_owned();
        match object.keys().find(|key| !names.contains(&&*name(key))) {
            Some(key) => Err(format!("the reply has a member `{key}`, which was not asked for")),
            None => Ok(()),
        }
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
    let reply = PASSED.replace_all(after_draft(reply, code), |word: &Captures<'_>| {
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
    if keys_in(&reply[..range.start], code) > 0 || keys_in(&reply[range.end..], code) > 0 {
        return Err("the reply has more than one verdict, or a broken one".to_owned());
    }
    // The judged texts do not contain the code as it is written, but escapes in a key may spell it.
    if members_with(&object, code) > keys_in(&reply[range], code) {
        return Err("a key with the code is not written as it was asked for".to_owned());
    }
    Ok(object)
}

/// Returns the number of keys that have the code, as they are written.
fn keys_in(text: &str, code: &Code) -> usize {
    let is_key =
        |rest: &str| rest.strip_prefix('"').is_some_and(|rest| rest.trim_start().starts_with(':'));
    text.match_indices(code.as_str())
        .filter(|(start, found)| is_key(&text[start + found.len()..]))
        .count()
}

/// Returns the number of members with keys that have the code, at any depth.
fn members_with(object: &Object, code: &Code) -> usize {
    fn within(value: &Value, code: &Code) -> usize {
        match value {
            Value::Object(object) => members_with(object, code),
            Value::Array(items) => items.iter().map(|item| within(item, code)).sum(),
            _ => 0,
        }
    }
    let own = object.keys().filter(|key| key.ends_with(code.as_str())).count();
    own + object.values().map(|value| within(value, code)).sum::<usize>()
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
    let (mut position, mut failed) = (0, 0);
    for (start, _) in text.match_indices('{') {
        let may_start = || text[start + 1..].trim_start().starts_with(['"', '}']);
        if start < position || !may_start() {
            continue;
        }
        let range = end(&text[start..]).map(|length| start..start + length);
        if let Some(range) = range
            && let Ok(object) = object(&text[range.clone()])
        {
            position = range.end;
            found.push((range, object));
            continue;
        }
        // Each of them may be read to the end of the text.
        failed += 1;
        if failed == STARTS {
            break;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> Code {
        Code::of(&[("response", "{ return 1; }".to_owned())])
    }

    /// Reads a reply in which `_C` stands for the code, and `\u005fC` for the code with an escape.
    fn read(reply: &str) -> Result<Object, String> {
        let code = code();
        let hex = &code.as_str()[1..];
        let reply =
            reply.replace("_C", code.as_str()).replace("\\u005fC", &format!("\\u005f{hex}"));
        let members = verdict(&reply, Some(&code))?.members;
        Ok(members
            .into_iter()
            .map(|(key, value)| (key.replace(code.as_str(), "_C"), value))
            .collect())
    }

    #[test]
    fn an_escape_in_a_key_does_not_spell_the_code() {
        for reply in [
            r#"{"score\u005fC": 1, "reasoning": "I was asked for _C"}"#,
            r#"{"score\u005fC": 1, "other_C": 0}"#,
            r#"{"checks": [{"id": "a", "satisfied\u005fC": true}], "overall_reasoning": "_C"}"#,
            r#"{"checks": [{"id": "a", "satisfied\u005fC": true}, {"id": "b", "satisfied_C": false}]}"#,
            r#"{"a": {"score\u005fC": 1}, "score_C": 0}"#,
        ] {
            let error = read(reply).unwrap_err();
            assert_eq!(error, "a key with the code is not written as it was asked for", "{reply}");
        }
        // Without the code as it is written, the reply is read by its plain keys.
        assert_eq!(read(r#"{"score\u005fC": 1}"#).unwrap().keys().next().unwrap(), "score_C");
    }

    #[test]
    fn keys_with_the_code_outside_of_the_object_are_further_verdicts() {
        for rest in [r#"{"score_C": 1"#, r#""score_C" : 1"#, "\"score_C\"\n:", r#"{"score_C":"#] {
            let own = r#"{"score_C": 0}"#;
            for reply in [format!("{rest} {own}"), format!("{own} {rest}")] {
                let error = read(&reply).unwrap_err();
                assert_eq!(
                    error, "the reply has more than one verdict, or a broken one",
                    "{reply}"
                );
            }
        }
        // What is no key states nothing.
        for rest in ["_C", r#""score_C""#, "score_C: 1"] {
            let found = read(&format!("{rest}, {{\"score_C\" : 0}}")).unwrap();
            assert_eq!(found.keys().collect::<Vec<_>>(), ["score_C"], "{rest}");
        }
    }

    #[test]
    fn braces_that_start_no_object_hide_no_verdict() {
        for quoted in ["{", "{ return 1; }", "{\"score\": 1}\n", "{}", "{ {\"a\": [{}]}"] {
            let reply = quoted.repeat(2 * STARTS) + r#" {"score_C": 0}"#;
            assert!(read(&reply).is_ok(), "{quoted}: {:?}", read(&reply));
        }
    }
}
