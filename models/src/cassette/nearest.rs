//! Message about a request that is not recorded: the nearest record and its differences.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use super::record::{Identity, Record, RecordId, StoredMessage, path, without_text};
use crate::{ErrorKind, Message, ModelError, request::sha};

/// Records that are compared: a run of a changed prompt has a miss for every request.
const COMPARED: usize = 300;

/// Characters of a parameter that are shown.
const SHOWN: usize = 80;

/// Differences that are shown.
const MOST: usize = 3;

/// Returns the error of a request that is not recorded.
pub(super) fn miss(
    path: &Path,
    records: &BTreeMap<RecordId, Record>,
    identity: &Identity<'_>,
) -> ModelError {
    let request = identity.request;
    let location =
        if request.location.is_empty() { String::new() } else { format!("{}: ", request.location) };
    let mut message = format!(
        "{location}sample {} of request {} is not in {}",
        request.sample,
        &identity.key[..12],
        path.display()
    );
    let of_metric = |record: &&Record| record.metric == request.metric;
    // Records of the same metric are nearer than all others.
    let rank = |record: &&Record| {
        let (differences, common) = differences(record, identity);
        (!of_metric(record), differences.len(), std::cmp::Reverse(common), record.sample)
    };
    // Another sample of a request is no nearer than the same one.
    let same_sample = |record: &&Record| record.sample == request.sample;
    let similar = records.values().filter(same_sample).take(COMPARED);
    let first = (identity.key.clone(), 0)..=(identity.key.clone(), u32::MAX);
    let same = records.range(first).next().map(|(_, record)| record);
    let nearest = same
        .or_else(|| similar.min_by_key(rank))
        .or_else(|| records.values().take(COMPARED).min_by_key(rank));
    match nearest {
        None => message.push_str("; the cassette is empty"),
        Some(nearest) => {
            let (mut differences, _) = differences(nearest, identity);
            differences.truncate(MOST);
            message.push_str("; nearest record: ");
            if differences.is_empty() {
                let samples = records.keys().filter(|(key, _)| *key == identity.key).count();
                message.push_str(&format!("the same request with {samples} recorded samples"));
            } else {
                message.push_str(&differences.join(", "));
            }
        }
    }
    message.push_str("; run once with `--judge-mode auto` to record it");
    ModelError::new(ErrorKind::NotInCassette, message)
}

/// Returns the beginning of a parameter, which may be a whole conversation.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// Returns the differences from a record to the request, and the number of bytes that messages have in common.
fn differences(record: &Record, identity: &Identity<'_>) -> (Vec<String>, usize) {
    let mut found = Vec::new();
    let names = [
        ("provider", &*record.provider, identity.provider),
        ("model", &*record.model, identity.model),
    ];
    let paths = (record.path.as_deref(), path(identity.request));
    if paths.0 != paths.1 {
        let [old, new] = [paths.0, paths.1].map(|path| path.unwrap_or("absent"));
        found.push(format!("path {old} -> {new}"));
    }
    // The provider `replay` stands for any.
    for (name, old, new) in names.into_iter().filter(|_| identity.provider != "replay") {
        if old != new {
            found.push(format!("{name} {old} -> {new}"));
        }
    }
    for (name, old) in &record.params {
        match identity.params.sent().get(name) {
            Some(new) if new == old || without_text(new) == *old => {}
            Some(new) => found.push(format!("params.{name} {} -> {}", shown(old), shown(new))),
            None => found.push(format!("params.{name} {} -> absent", shown(old))),
        }
    }
    let added =
        identity.params.sent().iter().filter(|(name, _)| !record.params.contains_key(*name));
    found.extend(added.map(|(name, new)| format!("params.{name} absent -> {}", shown(new))));
    let (old, new) = (&record.messages, &identity.request.messages);
    let mut common = 0_usize;
    for (index, (old, new)) in old.iter().zip(new.iter()).enumerate() {
        match difference(old, new) {
            Ok(bytes) => common = common.saturating_add(bytes),
            Err((bytes, text)) => {
                common = common.saturating_add(bytes);
                found.push(format!("messages[{index}] {text}"));
            }
        }
    }
    if old.len() != new.len() {
        found.push(format!("{} messages -> {}", old.len(), new.len()));
    }
    (found, common)
}

/// Characters that are shown before a difference and behind it.
const BEFORE: usize = 20;
const BEHIND: usize = 20;

/// Digits of a delimiter that is derived from a digest.
const DELIMITER: usize = 32;

/// Replaces every word of as many hexadecimal digits as a delimiter has by zeros.
fn mask(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let mut masked = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| !is_digit(c)) {
        let digits = word.trim_end_matches(|c: char| !is_digit(c));
        if digits.len() == DELIMITER {
            masked.push_str(&"0".repeat(DELIMITER));
            masked.push_str(&word[DELIMITER..]);
        } else {
            masked.push_str(word);
        }
    }
    masked
}

/// Returns the number of equal bytes, or that and the first difference.
fn difference(old: &StoredMessage, new: &Message) -> Result<usize, (usize, String)> {
    let Some(text) = &old.content else {
        let is_same =
            old.role == new.role && old.sha.as_deref() == Some(&*sha(new.content.as_bytes()));
        return if is_same {
            Ok(new.content.len())
        } else {
            Err((0, "differs (its text is not recorded)".to_owned()))
        };
    };
    if old.role != new.role {
        return Err((0, "has another role".to_owned()));
    }
    if *text == new.content {
        return Ok(text.len());
    }
    // A delimiter that depends on the text differs before the text itself does.
    let (masked, new_masked) = (mask(text), mask(&new.content));
    let (left, right) =
        if masked == new_masked { (text, &new.content) } else { (&masked, &new_masked) };
    let mut equal = left.chars().zip(right.chars()).take_while(|(a, b)| a == b);
    let (mut line, mut column, mut bytes) = (1_usize, 1_usize, 0_usize);
    for (c, _) in equal.by_ref() {
        bytes += c.len_utf8();
        (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    // The text before the difference on its line names the part that differs.
    let before = text.get(..bytes).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let context = before[line_start..].char_indices().rev().nth(BEFORE - 1);
    let start = context.map_or(line_start, |(index, _)| line_start + index);
    let cut = if start > line_start { ".." } else { "" };
    let excerpt = |text: &str| {
        let shown = text.get(start..).unwrap_or_default().chars();
        cut.chars().chain(shown.take(BEFORE + BEHIND)).collect::<String>()
    };
    let (before, after) = (excerpt(text), excerpt(&new.content));
    Err((bytes, format!("differs at {line}:{column} ({before:?} -> {after:?})")))
}
