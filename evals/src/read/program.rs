//! Keys of programs that judge, combine results or write prompts.

use std::path::{Path, PathBuf};

use evaluator_document::{Field, Fields, NodeKind, did_you_mean};
use evaluator_json::{Object, Value, scalar_text};

use super::{
    Reader,
    values::{first, whole},
};
use crate::model::Program;

/// Calls of a program that may ask models and does not say how often.
const DEFAULT_CALLS: u32 = 50;

const KEYS: [&str; 11] = [
    "name",
    "type",
    "weight",
    "required",
    "min_score",
    "minScore",
    "negate",
    "command",
    "script",
    "cwd",
    "target",
];

pub(super) fn read(reader: &Reader<'_>, mut fields: Fields<'_>) -> Option<Program> {
    fields.refuse(
        "preprocessors",
        "`preprocessors` are not supported",
        "convert files in the program",
    );
    let command = command(&mut fields);
    let directory = fields.take("cwd").map(|field| directory(reader, &field));
    let target = fields.take("target").map(|field| access(&field));
    let block = fields.take("config").map(|field| field.object());
    let config = remaining(&fields);
    let mut config = config?;
    if let Some(block) = block {
        let block = block?;
        if reader.is_v2() {
            config.insert("config".to_owned(), Value::Object(block));
        } else {
            config.extend(block);
        }
    }
    Some(Program {
        command: command?,
        directory: directory.unwrap_or_else(|| Some(reader.directory.to_owned()))?,
        config: (!config.is_empty()).then_some(config),
        max_calls: target.unwrap_or(Some(None))?,
    })
}

/// Reads the program that writes a prompt. It runs in the directory of its last word, which usually is a file.
pub(super) fn of_prompt(reader: &Reader<'_>, field: &Field<'_>) -> Option<Program> {
    let mut fields = field.fields("this prompt")?;
    let command = command(&mut fields);
    let config = fields.take("config").map(|field| field.object());
    fields.finish();
    let (command, config) = (command?, config.map_or(Some(None), |config| config.map(Some))?);
    let last = command.last().map(Path::new);
    let found = last.and_then(|last| reader.places.find(&last.to_string_lossy()));
    let directory = found.as_deref().and_then(Path::parent).unwrap_or(reader.directory).to_owned();
    let mut command = command;
    if let (Some(found), Some(last)) = (&found, command.last_mut()) {
        *last = found.to_string_lossy().into_owned();
    }
    Some(Program { command, directory, config, max_calls: None })
}

/// Reads the command: words, or text for a shell.
pub(super) fn command(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let field = first(fields, &["command", "script"]);
    let field = field.or_else(|| fields.missing("command").none())?;
    of_field(&field)
}

pub(super) fn of_field(field: &Field<'_>) -> Option<Vec<String>> {
    if !matches!(field.node.kind, NodeKind::Sequence(_)) {
        return field.sentence().map(|text| vec!["sh".to_owned(), "-lc".to_owned(), text]);
    }
    let words = field.items()?;
    if words.is_empty() {
        return field.add(format!("`{}` is empty", field.key)).none();
    }
    let words: Vec<_> = words.iter().map(word).collect();
    let words: Vec<String> = words.into_iter().collect::<Option<_>>()?;
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

/// Reads access to models: `true`, `{}` or `{max_calls: N}`.
#[expect(clippy::option_option, reason = "absent, wrong, or read")]
fn access(field: &Field<'_>) -> Option<Option<u32>> {
    match &field.node.kind {
        NodeKind::Scalar(Value::Bool(true)) => Some(Some(DEFAULT_CALLS)),
        NodeKind::Scalar(Value::Bool(false) | Value::Null) => Some(None),
        NodeKind::Mapping(_) => {
            let mut fields = field.fields("this access")?;
            let calls = first(&mut fields, &["max_calls", "maxCalls"]);
            fields.finish();
            calls.map_or(Some(DEFAULT_CALLS), |calls| whole(&calls, 0..=1_000_000)).map(Some)
        }
        _ => field.expected("true, false or {max_calls: N}").none(),
    }
}

/// Returns the keys that nothing took: they are settings of the program.
pub(super) fn remaining(fields: &Fields<'_>) -> Option<Object> {
    let mut object = Object::default();
    for (key, value) in fields.remaining() {
        let Some(name) = key.as_str() else {
            fields
                .problems()
                .add(key.span, "keys of settings must be text")
                .hint("put it in quotes");
            return None;
        };
        if let Some(hint) = did_you_mean(name, KEYS) {
            let message = format!("`{name}` becomes a setting of the program");
            fields.problems().warn(key.span, message).hint(hint);
        }
        match value.to_json() {
            Ok(value) => object.insert(name.to_owned(), value),
            Err(span) => {
                fields
                    .problems()
                    .add(span, "keys of settings must be text")
                    .hint("put it in quotes");
                return None;
            }
        };
    }
    Some(object)
}
