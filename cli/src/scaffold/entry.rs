//! The entry of a new evaluator, and its place in a configuration that exists already.

use evaluator_host::document::{Node, NodeKind, read_yaml};
use serde_json::Value;

/// An entry of `evaluators`: its keys in order. A mapping or list among the values is written in one line.
#[derive(Clone, Debug)]
pub struct Entry(pub(super) Vec<(&'static str, Value)>);

impl Entry {
    /// Returns the name of the evaluator.
    pub fn name(&self) -> &str {
        let name = self.0.iter().find(|(key, _)| *key == "name");
        name.and_then(|(_, name)| name.as_str()).unwrap_or_default()
    }

    /// Formats the entry as an item of a list in YAML, the dash behind `indent`.
    pub fn to_yaml(&self, indent: &str) -> String {
        let line = |(index, (key, value)): (usize, &(&str, Value))| {
            let mark = if index == 0 { '-' } else { ' ' };
            format!("{indent}{mark} {key}: {}\n", flow(value))
        };
        self.0.iter().enumerate().map(line).collect()
    }

    /// Formats the entry in one line: as JSON, or as YAML.
    fn to_line(&self, is_json: bool) -> String {
        let member = |(key, value): &(&str, Value)| match is_json {
            true => format!("\"{key}\": {value}"),
            false => format!("{key}: {}", flow(value)),
        };
        format!("{{{}}}", self.0.iter().map(member).collect::<Vec<_>>().join(", "))
    }

    /// Returns the text of a configuration with this entry behind its others. Everything else in the text stays as it is, comments
    /// and layout included. `None` if the place of the entry cannot be found.
    ///
    /// The caller checks that the result is a configuration with one more evaluator: only common layouts are known here.
    pub fn added_to(&self, text: &str, is_json: bool) -> Option<String> {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let with_ends = |lines: String| lines.replace('\n', line_end);
        let Some(root) = read_yaml(text).ok()? else {
            let missing_end = if text.is_empty() || text.ends_with('\n') { "" } else { line_end };
            let lines = format!("evaluators:\n{}", self.to_yaml("  "));
            return Some(format!("{text}{missing_end}{}", with_ends(lines)));
        };
        let list = root.get("evaluators")?;
        let NodeKind::Sequence(items) = &list.kind else { return None };
        let (at, added) = match items.last() {
            Some(last) if text[..last.span.end].ends_with('}') && !has_dash(text, last) => {
                let before = line_before(text, last.span.start);
                let is_first = before.trim().is_empty();
                let separator = if is_first { format!(",\n{before}") } else { ", ".to_owned() };
                (last.span.end, with_ends(separator) + &self.to_line(is_json))
            }
            Some(last) => {
                let indent = line_before(text, last.span.start).trim_end().strip_suffix('-')?;
                if !indent.trim().is_empty() {
                    return None;
                }
                let end = end_of_item(text, last.span.start, indent.len());
                let missing_end = if text[..end].ends_with('\n') { "" } else { line_end };
                (end, missing_end.to_owned() + &with_ends(self.to_yaml(indent)))
            }
            None => (list.span.start + 1, self.to_line(is_json)),
        };
        Some(format!("{}{added}{}", &text[..at], &text[at..]))
    }
}

/// Returns the text of a line before a position.
fn line_before(text: &str, position: usize) -> &str {
    let start = text[..position].rfind('\n').map_or(0, |end| end + 1);
    &text[start..position]
}

/// Returns true if an item is behind a dash in its line.
fn has_dash(text: &str, item: &Node) -> bool {
    line_before(text, item.span.start).trim() == "-"
}

/// Returns the position behind the last line of a list's item: all lines that are indented more than its dash belong to it.
fn end_of_item(text: &str, start: usize, dash: usize) -> usize {
    let mut end = start;
    let mut position = start;
    for line in text[start..].split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let is_first = position == start;
        position += line.len();
        match line.trim().is_empty() {
            true => {}
            false if is_first || indent > dash => end = position,
            false => break,
        }
    }
    end
}

/// Formats a value as YAML in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{}: {}", scalar(key), flow(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Formats text as a YAML scalar, quoted if it could be read as anything else.
pub(crate) fn scalar(text: &str) -> String {
    let inner = text.trim_start_matches("../");
    let plain = inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'))
        && inner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !["yes", "no", "on", "off", "true", "false", "null"]
            .contains(&text.to_ascii_lowercase().as_str());
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Entry {
        Entry(vec![("name", json!("new")), ("type", json!("code")), ("path", json!("new/new.py"))])
    }

    #[test]
    fn an_entry_is_added_behind_the_others_and_nothing_else_changes() {
        let item = "- name: new\n    type: code\n    path: new/new.py\n";
        for (before, after) in [
            ("evaluators:\n  - name: a\n    type: code # it\n", ""),
            ("evaluators:\n  - {name: a,\n     type: code}\n", ""),
            (
                "# first\nevaluators:\n  - name: a\n    # of a\n    prompt: |\n      # text\n\n      more\n",
                "",
            ),
            ("evaluators:\n  - x: [1,\n      2]\n", "\n# about the judge\njudge: {samples: 1}\n"),
            ("evaluators:\n  - config:\n      - 1\n", "  # - name: b\n\nretries: 1\n"),
        ] {
            let text = entry().added_to(&format!("{before}{after}"), false).unwrap();
            assert_eq!(text, format!("{before}  {item}{after}"));
        }
    }

    #[test]
    fn the_layout_of_the_list_is_kept() {
        for (text, expected) in [
            ("", "evaluators:\n  - name: new\n    type: code\n    path: new/new.py\n"),
            (
                "# only",
                "# only\nevaluators:\n  - name: new\n    type: code\n    path: new/new.py\n",
            ),
            (
                "evaluators:\n- name: a\nretries: 1\n",
                "evaluators:\n- name: a\n- name: new\n  type: code\n  path: new/new.py\nretries: 1\n",
            ),
            (
                "evaluators:\r\n  - name: a",
                "evaluators:\r\n  - name: a\r\n  - name: new\r\n    type: code\r\n    path: new/new.py\r\n",
            ),
            ("evaluators: []\n", "evaluators: [{name: new, type: code, path: new/new.py}]\n"),
            (
                "evaluators: [{name: a}] # all\n",
                "evaluators: [{name: a}, {name: new, type: code, path: new/new.py}] # all\n",
            ),
            (
                "evaluators: [\n  {name: a}\n]\n",
                "evaluators: [\n  {name: a},\n  {name: new, type: code, path: new/new.py}\n]\n",
            ),
        ] {
            assert_eq!(entry().added_to(text, false).as_deref(), Some(expected));
        }
        assert_eq!(
            entry().added_to("{\"evaluators\": [\n  {\"name\": \"a\"}\n]}", true).unwrap(),
            "{\"evaluators\": [\n  {\"name\": \"a\"},\n  {\"name\": \"new\", \"type\": \"code\", \"path\": \"new/new.py\"}\n]}"
        );
    }

    #[test]
    fn a_text_without_a_list_of_evaluators_is_left_alone() {
        for text in [
            "a: [",
            "evaluators: 1",
            "other: 1",
            "[]",
            "evaluators:\n",
            "evaluators:\n  -\n    name: a\n",
        ] {
            assert_eq!(entry().added_to(text, false), None, "{text}");
        }
    }

    #[test]
    fn text_is_quoted_where_it_must_be() {
        for (text, yaml) in [
            ("a/b_c-d.py", "a/b_c-d.py"),
            ("../a/b.py", "../a/b.py"),
            ("my files/x.py", "'my files/x.py'"),
            ("-x/y", "'-x/y'"),
            ("it's: \"#\"/x", "'it''s: \"#\"/x'"),
            ("on", "'on'"),
            ("..", "'..'"),
        ] {
            assert_eq!(scalar(text), yaml);
        }
    }
}
