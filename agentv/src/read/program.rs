//! Keys of programs that judge, combine results or write prompts.

use std::path::{Path, PathBuf};

use evaluator_document::{Field, Fields, NodeKind, did_you_mean};
use evaluator_json::{Object, Value, scalar_text};

use super::{
    Reader,
    values::{first, whole},
};
use crate::{files::all, model::Program};

/// Calls of a program that may ask models and does not say how often.
const DEFAULT_CALLS: u32 = 50;

const KEYS: &str =
    "name type weight required min_score minScore negate command script cwd target provider";

pub(super) fn read(reader: &Reader<'_>, mut fields: Fields<'_>) -> Option<Program> {
    fields.refuse(
        "preprocessors",
        "`preprocessors` are not supported",
        "convert files in the program",
    );
    let command = command(&mut fields);
    let directory = fields.take("cwd").and_then(|field| directory(reader, &field));
    // The key of AgentV 5. As text it is a setting of the program, as in AgentV 4.
    let is_access = fields.peek("provider").is_some_and(|node| node.as_str().is_none());
    let access = match is_access {
        true => fields.take_either("target", "provider"),
        false => fields.take("target"),
    };
    let max_calls = access.and_then(|field| calls(&field));
    let block = fields.take("config").and_then(|field| field.object());
    let mut config = remaining(&fields);
    if let Some(block) = block {
        if reader.is_v2() {
            config.insert("config".to_owned(), Value::Object(block));
        } else {
            config.extend(block);
        }
    }
    Some(Program {
        command: command?,
        directory: directory.unwrap_or_else(|| reader.directory.to_owned()),
        index: 0,
        config: (!config.is_empty()).then_some(config),
        max_calls,
    })
}

/// Reads the program that writes a prompt. It runs in the directory of its last word, which usually is a file.
pub(super) fn of_prompt(reader: &Reader<'_>, field: &Field<'_>) -> Option<Program> {
    let mut fields = field.fields("this prompt")?;
    let command = command(&mut fields);
    let config = fields.take("config").and_then(|field| field.object());
    fields.finish();
    let mut command = command?;
    let last = command.last().map(Path::new);
    let found = last.and_then(|last| reader.places.find(&last.to_string_lossy()));
    let directory = found.as_deref().and_then(Path::parent).unwrap_or(reader.directory).to_owned();
    if let (Some(found), Some(last)) = (&found, command.last_mut()) {
        *last = found.to_string_lossy().into_owned();
    }
    Some(Program { command, directory, index: 0, config, max_calls: None })
}

/// Reads the command: words, or text for a shell.
pub(super) fn command(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let field = first(fields, &["command", "script"]);
    let field = field.or_else(|| {
        let keys = fields.entries().iter().filter_map(|(key, _)| key.as_str());
        let hint = keys.filter_map(|key| Some((key, did_you_mean(key, ["command"])?))).next();
        let hint = hint.map(|(key, hint)| format!("instead of `{key}`, {hint}"));
        fields.missing("command").maybe_hint(hint).none()
    })?;
    of_field(&field)
}

pub(super) fn of_field(field: &Field<'_>) -> Option<Vec<String>> {
    if !matches!(field.node.kind, NodeKind::Sequence(_)) {
        return field.sentence().map(|text| vec!["sh".to_owned(), "-lc".to_owned(), text]);
    }
    let words = field.non_empty_items()?;
    let words = all(words.iter().map(word))?;
    if words.first().is_some_and(|program| program.trim().is_empty()) {
        return field.add(format!("`{}` is blank", field.key)).none();
    }
    Some(words)
}

/// Returns a word of a command; numbers and booleans are words.
fn word(item: &Field<'_>) -> Option<String> {
    match &item.node.kind {
        NodeKind::Scalar(value) if !value.is_null() => scalar_text(value),
        _ => item.expected("text").none(),
    }
}

fn directory(reader: &Reader<'_>, field: &Field<'_>) -> Option<PathBuf> {
    let given = field.text()?;
    let directory = reader.directory.join(given);
    if !directory.is_dir() {
        return field.add(format!("the directory `{given}` does not exist")).none();
    }
    Some(directory)
}

/// Reads access to models: `true`, `{}` or `{max_calls: N}`. `None`: there is no access.
fn calls(field: &Field<'_>) -> Option<u32> {
    match &field.node.kind {
        NodeKind::Scalar(Value::Bool(true)) => Some(DEFAULT_CALLS),
        NodeKind::Scalar(Value::Bool(false) | Value::Null) => None,
        NodeKind::Mapping(_) => {
            let mut fields = field.fields("this access")?;
            let calls = first(&mut fields, &["max_calls", "maxCalls"]);
            fields.finish();
            calls.map_or(Some(DEFAULT_CALLS), |calls| whole(&calls, 0..=1_000_000))
        }
        _ => field.expected("true, false or {max_calls: N}").none(),
    }
}

/// Returns the keys that nothing took: they are settings of the program.
pub(super) fn remaining(fields: &Fields<'_>) -> Object {
    let mut object = Object::default();
    for (key, value) in fields.remaining() {
        let similar = |name| Some((name, did_you_mean(name, KEYS.split(' '))?));
        if let Some((name, hint)) = key.as_str().and_then(similar) {
            let message = format!("`{name}` becomes a setting of the program");
            fields.problems().warn(key.span, message).hint(hint);
        }
        match (key.as_str(), value.to_json()) {
            (Some(name), Ok(value)) => drop(object.insert(name.to_owned(), value)),
            (_, value) => {
                let span = value.err().unwrap_or(key.span);
                let problem = fields.problems().add(span, "keys of settings must be text");
                problem.hint("put it in quotes");
            }
        }
    }
    object
}
