//! Messages of the input and of the gold answer, with their short forms.

use std::path::{Component, Path, PathBuf};

use evaluator_document::{Field, Node, NodeKind};
use evaluator_json::Value;

use super::{Reader, values::json};
use crate::{
    files::{all, any_text},
    json_text::{object, pretty},
    model::{Message, Part},
};

const ROLES: [&str; 4] = ["user", "assistant", "system", "tool"];

/// Reads `input`, with the files of `input_files` in front of it.
pub(super) fn input(
    reader: &Reader<'_>,
    field: Option<&Field<'_>>,
    files: Option<&Field<'_>>,
) -> Option<Vec<Message>> {
    let mut messages = match field {
        None => Vec::new(),
        Some(field) => match (&field.node.kind, role(field.node)) {
            (NodeKind::Sequence(_), _) => list(reader, field)?,
            (NodeKind::Mapping(_), Some(_)) => vec![message(reader, field)?],
            (NodeKind::Scalar(Value::String(text)), _) if text.trim().is_empty() => {
                return field.add(format!("`{}` is empty", field.key)).none();
            }
            (NodeKind::Scalar(Value::String(_)) | NodeKind::Mapping(_), _) => {
                vec![of_content(reader, "user", field)?]
            }
            _ => return field.expected("text, a message or a list of messages").none(),
        },
    };
    if let Some(files) = files {
        with_files(reader, files, &mut messages)?;
    }
    Some(messages)
}

/// Reads `expected_output`.
pub(super) fn expected(reader: &Reader<'_>, field: &Field<'_>) -> Option<Vec<Message>> {
    match &field.node.kind {
        NodeKind::Sequence(items) if items.first().is_some_and(|item| role(item).is_some()) => {
            list(reader, field)
        }
        NodeKind::Sequence(items) if items.is_empty() => Some(Vec::new()),
        NodeKind::Mapping(_) if role(field.node).is_some() => Some(vec![message(reader, field)?]),
        _ => Some(vec![of_content(reader, "assistant", field)?]),
    }
}

/// Returns the role of a value that is a message.
fn role(node: &Node) -> Option<&str> {
    node.get("role").map(|role| role.as_str().unwrap_or_default())
}

fn list(reader: &Reader<'_>, field: &Field<'_>) -> Option<Vec<Message>> {
    all(field.non_empty_items()?.iter().map(|item| message(reader, item)))
}

fn message(reader: &Reader<'_>, field: &Field<'_>) -> Option<Message> {
    let Some(role) = role(field.node) else {
        return field
            .add(format!("an item of `{}` is not a message with `role`", field.key))
            .none();
    };
    if !ROLES.contains(&role) {
        let message = format!("`role` must be one of {}, not `{role}`", ROLES.join(", "));
        return field.add(message).maybe_hint(evaluator_document::did_you_mean(role, ROLES)).none();
    }
    let value = json(field)?;
    let parts = match field.node.get("content").filter(|node| !node.is_null()) {
        None => Vec::new(),
        Some(node) => parts(reader, &node.field("content", field.problems), role == "assistant")?,
    };
    Some(Message { value, parts })
}

/// Returns a message with this content.
fn of_content(reader: &Reader<'_>, role: &str, field: &Field<'_>) -> Option<Message> {
    let parts = parts(reader, field, role == "assistant")?;
    Some(Message { value: object([("role", role.into()), ("content", json(field)?)]), parts })
}

/// Reads content: text, an object, or blocks. That of an answer may be any list.
fn parts(reader: &Reader<'_>, field: &Field<'_>, is_answer: bool) -> Option<Vec<Part>> {
    match &field.node.kind {
        NodeKind::Scalar(Value::String(text)) => Some(vec![Part::Text(text.clone())]),
        NodeKind::Sequence(items) if !is_answer || items.first().is_some_and(is_block) => {
            let blocks = all(field.items()?.iter().map(|item| block(reader, item)))?;
            Some(blocks.into_iter().flatten().collect())
        }
        _ => Some(vec![Part::Text(pretty(&json(field)?))]),
    }
}

fn is_block(node: &Node) -> bool {
    let kind = node.get("type").and_then(Node::as_str);
    matches!(kind, Some("text" | "file" | "image"))
}

/// Reads a block. `None` inside of `Some` is an image, of which judges see nothing.
fn block(reader: &Reader<'_>, field: &Field<'_>) -> Option<Option<Part>> {
    if !is_block(field.node) {
        return field.add("a block of content needs `type`: text, file or image").none();
    }
    let text = |keys: [&'static str; 2]| {
        let mut found = keys.into_iter().filter_map(|key| Some((key, field.node.get(key)?)));
        found.next().map(|(name, node)| node.field(name, field.problems))
    };
    match field.node.get("type").and_then(Node::as_str) {
        Some("text") => match text(["value", "text"]) {
            Some(value) => any_text(&value).map(|text| Some(Part::Text(text))),
            None => field.add("a text block needs `value`").none(),
        },
        Some("file") => match text(["value", "path"]) {
            Some(value) => file(reader, &value).map(Some),
            None => field.add("a file block needs `value`, the path").none(),
        },
        _ => {
            field.problems.warn(field.node.span, "judges and programs do not see this image");
            Some(None)
        }
    }
}

/// Reads a file that a message names.
fn file(reader: &Reader<'_>, field: &Field<'_>) -> Option<Part> {
    let given = field.text()?;
    let Some(path) = reader.places.find(given).filter(|path| path.is_file()) else {
        return field.add(format!("the file `{given}` does not exist")).none();
    };
    match read(&path) {
        Ok(text) => Some(Part::File { given: given.to_owned(), path: plain(&path), text }),
        Err(reason) => field.add(format!("cannot read `{given}`: {reason}")).none(),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok(text.replace("\r\n", "\n"))
}

/// Returns the absolute path without `.` and `..`, as long as it leads to the same file.
fn plain(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            component => plain.push(component),
        }
    }
    let is_same = || Some(plain.canonicalize().ok()? == absolute.canonicalize().ok()?);
    if is_same() == Some(true) { plain } else { absolute }
}

/// Puts files in front of the first message of the user.
fn with_files(reader: &Reader<'_>, files: &Field<'_>, messages: &mut Vec<Message>) -> Option<()> {
    let read = all(files.items()?.iter().map(|item| file(reader, item)))?;
    let block = |kind: &str, value: &str| object([("type", kind.into()), ("value", value.into())]);
    let mut blocks: Vec<Value> = read
        .iter()
        .filter_map(|part| match part {
            Part::File { given, .. } => Some(block("file", given)),
            Part::Text(_) => None,
        })
        .collect();
    let at = messages.iter().position(|message| message.role() == "user").unwrap_or_else(|| {
        messages.push(Message { value: object([("role", "user".into())]), parts: Vec::new() });
        messages.len() - 1
    });
    let message = messages.get_mut(at)?;
    if let Value::Object(given) = &mut message.value {
        match given.get("content") {
            Some(Value::Array(items)) => blocks.extend(items.iter().cloned()),
            Some(Value::String(text)) => blocks.push(block("text", text)),
            Some(content) => blocks.push(block("text", &pretty(content))),
            None => {}
        }
        given.insert("content".to_owned(), Value::Array(blocks));
    }
    message.parts.splice(0..0, read);
    Some(())
}
