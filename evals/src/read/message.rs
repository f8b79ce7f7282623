//! Messages of the input and of the gold answer, with their short forms.

use std::path::Path;

use evaluator_document::{Field, Node, NodeKind};
use evaluator_json::{Object, Value};

use super::{Reader, values::json};
use crate::{
    files::all,
    json_text::pretty,
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
    let NodeKind::Mapping(entries) = &node.kind else { return None };
    entries
        .iter()
        .find(|(key, _)| key.as_str() == Some("role"))
        .map(|(_, role)| role.as_str().unwrap_or_default())
}

fn list(reader: &Reader<'_>, field: &Field<'_>) -> Option<Vec<Message>> {
    let items = field.items()?;
    if items.is_empty() {
        return field.add(format!("`{}` is empty", field.key)).none();
    }
    all(items.iter().map(|item| message(reader, item)))
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
    let content = field.named().into_iter().find(|(key, _)| *key == "content");
    let parts = match content {
        None => Vec::new(),
        Some((_, node)) if node.is_null() => Vec::new(),
        Some((_, node)) => {
            parts(reader, &node.field("content", field.problems), role == "assistant")?
        }
    };
    Some(Message { value, parts })
}

/// Returns a message with this content.
fn of_content(reader: &Reader<'_>, role: &str, field: &Field<'_>) -> Option<Message> {
    let parts = parts(reader, field, role == "assistant")?;
    let members =
        [("role".to_owned(), Value::String(role.to_owned())), ("content".to_owned(), json(field)?)];
    Some(Message { value: Value::Object(Object::from_iter(members)), parts })
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
    let NodeKind::Mapping(entries) = &node.kind else { return false };
    let kind = entries.iter().find(|(key, _)| key.as_str() == Some("type"));
    matches!(kind.and_then(|(_, kind)| kind.as_str()), Some("text" | "file" | "image"))
}

/// Reads a block. `None` inside of `Some` is an image, of which judges see nothing.
fn block(reader: &Reader<'_>, field: &Field<'_>) -> Option<Option<Part>> {
    if !is_block(field.node) {
        return field.add("a block of content needs `type`: text, file or image").none();
    }
    let named = field.named();
    let text = |keys: [&str; 2]| {
        let found = keys.iter().find_map(|key| named.iter().find(|(name, _)| name == key));
        found.map(|(name, node)| node.field(name, field.problems))
    };
    match named.iter().find(|(name, _)| *name == "type").and_then(|(_, node)| node.as_str()) {
        Some("text") => match text(["value", "text"]) {
            Some(value) => super::values::any_text(&value).map(|text| Some(Part::Text(text))),
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
        Ok(text) => Some(Part::File { given: given.to_owned(), path, text }),
        Err(reason) => field.add(format!("cannot read `{given}`: {reason}")).none(),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Puts files in front of the first message of the user.
fn with_files(reader: &Reader<'_>, files: &Field<'_>, messages: &mut Vec<Message>) -> Option<()> {
    let read = all(files.items()?.iter().map(|item| file(reader, item)))?;
    let block = |part: &Part| {
        let given = match part {
            Part::File { given, .. } => given,
            Part::Text(text) => text,
        };
        let member = |key: &str, text: &str| (key.to_owned(), Value::String(text.to_owned()));
        Value::Object(Object::from_iter([member("type", "file"), member("value", given)]))
    };
    let mut blocks: Vec<Value> = read.iter().map(block).collect();
    let first = messages.iter_mut().find(|message| message.role() == "user");
    if let Some(first) = first {
        let Value::Object(members) = &mut first.value else { return Some(()) };
        match members.get("content") {
            Some(Value::Array(items)) => blocks.extend(items.iter().cloned()),
            Some(content) => {
                let text = content.as_str().map_or_else(|| pretty(content), str::to_owned);
                let members = [("type", "text".to_owned()), ("value", text)];
                let members = members.map(|(key, text)| (key.to_owned(), Value::String(text)));
                blocks.push(Value::Object(Object::from_iter(members)));
            }
            None => {}
        }
        members.insert("content".to_owned(), Value::Array(blocks));
        first.parts.splice(0..0, read);
        return Some(());
    }
    let members = [
        ("role".to_owned(), Value::String("user".to_owned())),
        ("content".to_owned(), Value::Array(blocks)),
    ];
    messages.push(Message { value: Value::Object(Object::from_iter(members)), parts: read });
    Some(())
}
