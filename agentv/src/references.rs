//! References in eval files: `${{ NAME }}` to variables of the environment, `{{ name }}` to the variables of a test.

use evaluator_document::{Node, NodeKind, Span};
use evaluator_json::{NonFinite, Value, to_string};

use crate::json_text;

/// Replaces `${{ NAME }}` in every text of a tree. Variables that are not set are empty and reported to `unset`, with the
/// position of the text. A text that is nothing but one reference becomes a boolean or a number if the value looks like one.
pub(crate) fn environment(
    node: &mut Node,
    variable: &dyn Fn(&str) -> Option<String>,
    unset: &dyn Fn(Span, &str),
) {
    each_text(node, &mut |text, span| {
        let variable = |name: &str| {
            variable(name).unwrap_or_else(|| {
                unset(span, name);
                String::new()
            })
        };
        if let Some(name) = whole_reference(text) {
            return Some(typed(variable(name)));
        }
        let value = |name: &str| is_name(name).then(|| variable(name));
        replaced(text, ("${{", "}}"), &|_, name| value(name.trim())).map(Value::String)
    });
}

/// Replaces `{{ name }}` in every text of a tree by the variables of a test, with dotted paths. Unknown names stay. A text
/// that is nothing but one reference becomes the value itself.
pub(crate) fn variables(node: &mut Node, variables: &Value) {
    each_text(node, &mut |text, _| {
        let whole = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        if let Some(value) = whole.and_then(|path| at(variables, path.trim())) {
            return Some(value.clone());
        }
        // A `{{` behind a `$` is a reference to the environment.
        let value = |before: &str, path: &str| {
            let found = (!before.ends_with('$')).then(|| at(variables, path.trim()))?;
            found.map(shown)
        };
        replaced(text, ("{{", "}}"), &value).map(Value::String)
    });
}

/// Returns the name in a text that is exactly `${{ NAME }}`.
pub(crate) fn whole_reference(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${{")?.strip_suffix("}}")?.trim();
    is_name(name).then_some(name)
}

/// Replaces names between marks by values, in one pass; those without a value stay. The function gets the text between the
/// last name and this one, too. `None` if nothing was replaced.
pub(crate) fn replaced(
    text: &str,
    (open, close): (&str, &str),
    value: &dyn Fn(&str, &str) -> Option<String>,
) -> Option<String> {
    let (mut result, mut rest, mut found) = (String::new(), text, false);
    while let Some((before, behind)) = rest.split_once(open) {
        result.push_str(before);
        let reference = behind.split_once(close);
        match reference.and_then(|(name, after)| Some((value(before, name)?, after))) {
            Some((value, after)) => {
                result.push_str(&value);
                rest = after;
                found = true;
            }
            // Of `{{{a}}}` the inner braces are marks.
            None => {
                let (first, _) = open.split_at(1);
                result.push_str(first);
                rest = rest.get(before.len() + first.len()..).unwrap_or_default();
            }
        }
    }
    result.push_str(rest);
    found.then_some(result)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn each_text(node: &mut Node, replace: &mut dyn FnMut(&str, Span) -> Option<Value>) {
    match &mut node.kind {
        NodeKind::Scalar(Value::String(text)) => {
            if let Some(value) = replace(text, node.span) {
                node.kind = kind(&value, node.span);
            }
        }
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter_mut().for_each(|item| each_text(item, replace)),
        NodeKind::Mapping(entries) => {
            entries.iter_mut().for_each(|(_, value)| each_text(value, replace));
        }
    }
}

/// Returns a value as a part of a tree: all of it is where the reference is.
fn kind(value: &Value, span: Span) -> NodeKind {
    let node = |value: &Value| Node { span, kind: kind(value, span) };
    match value {
        Value::Array(items) => NodeKind::Sequence(items.iter().map(node).collect()),
        Value::Object(object) => {
            let key =
                |key: &String| Node { span, kind: NodeKind::Scalar(Value::String(key.clone())) };
            NodeKind::Mapping(object.iter().map(|(name, value)| (key(name), node(value))).collect())
        }
        scalar => NodeKind::Scalar(scalar.clone()),
    }
}

/// Converts the value of a variable: `true`, `-1.5`, but not `1e3`, `0x1` or `007`.
fn typed(text: String) -> Value {
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(a, b)| (a, Some(b)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = is_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(is_digits);
    match &*text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if !is_number => Value::String(text),
        _ if fraction.is_some() => text.parse().map_or(Value::Null, Value::Float),
        _ => Value::from_digits(&text).unwrap_or_default(),
    }
}

/// Returns the value at a dotted path.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() { None } else { json_text::at(value, path.split('.')) }
}

/// Returns a value as a part of a text.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => to_string(other, NonFinite::Null),
    }
}

#[cfg(test)]
mod tests {
    use evaluator_document::read_yaml;

    use super::*;

    fn after(text: &str, change: impl FnOnce(&mut Node)) -> String {
        let mut node = read_yaml(text).unwrap().unwrap();
        change(&mut node);
        to_string(&node.to_json().unwrap(), NonFinite::Null)
    }

    #[test]
    fn variables_of_the_environment_are_typed_if_they_stand_alone() {
        let value = |name: &str| match name {
            "YES" => Some("true".to_owned()),
            "N" => Some("-1.5".to_owned()),
            "E" => Some("1e3".to_owned()),
            "Z" => Some("007".to_owned()),
            _ => None,
        };
        let text = "[\"${{ YES }}\", \"${{N}}\", \"${{ E }}\", \"${{ Z }}\", \"a ${{ N }} b ${{ NO }}\", \"${{ a b }}\"]";
        assert_eq!(
            after(text, |node| environment(node, &value, &|_, name| assert_eq!(name, "NO"))),
            r#"[true,-1.5,"1e3","007","a -1.5 b ","${{ a b }}"]"#
        );
    }

    #[test]
    fn variables_of_a_test_have_paths_and_unknown_ones_stay() {
        let vars = evaluator_json::parse_python(r#"{"a": {"b": [1, 2]}, "t": "x"}"#).unwrap();
        let text = "[\"{{ a }}\", \"{{ a.b.1 }}\", \"{{t}} {{ a.b }} {{ none }}\", \"${{ t }}\"]";
        assert_eq!(
            after(text, |node| variables(node, &vars)),
            r#"[{"b":[1,2]},2,"x [1,2] {{ none }}","${{ t }}"]"#
        );
    }
}
