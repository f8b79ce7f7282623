//! Lists of objects that are flattened into attributes (`gen_ai.prompt.0.content`).

use std::{borrow::Cow, collections::BTreeMap};

use crate::json::{Object, Value};

/// Objects nested deeper than this stay whole; the convention's own end at the fifth level.
const MAX_DEPTH: usize = 8;

/// The fields of an object, by path.
pub(super) type Fields<'a> = BTreeMap<Cow<'a, str>, &'a Value>;

/// The objects of the list `name` in order of their numbers: those of `whole`, and those that were flattened.
pub(super) fn objects<'a>(
    attributes: &'a Object,
    name: &str,
    whole: Option<&'a Value>,
) -> BTreeMap<u64, Fields<'a>> {
    let mut objects = BTreeMap::new();
    for (index, item) in (0..).zip(whole.and_then(Value::as_array).unwrap_or_default()) {
        flatten(objects.entry(index).or_default(), String::new(), item, 0);
    }
    for (key, value) in attributes {
        if let Some(path) = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) {
            insert(&mut objects, path, value);
        }
    }
    objects
}

/// The objects of a list inside of an object.
pub(super) fn inner_objects<'a>(fields: &'a Fields<'a>, name: &str) -> BTreeMap<u64, Fields<'a>> {
    let mut objects = BTreeMap::new();
    for (key, value) in fields {
        if let Some(path) = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) {
            insert(&mut objects, path, value);
        }
    }
    objects
}

/// Adds a value whose path is a number, a dot and the name of a field; other paths are not ours.
fn insert<'a>(objects: &mut BTreeMap<u64, Fields<'a>>, path: &'a str, value: &'a Value) {
    if let Some((index, field)) = path.split_once('.')
        && index.bytes().all(|byte| byte.is_ascii_digit())
        && !field.is_empty()
        && let Ok(index) = index.parse()
    {
        objects.entry(index).or_default().insert(Cow::Borrowed(field), value);
    }
}

fn flatten<'a>(fields: &mut Fields<'a>, path: String, value: &'a Value, depth: usize) {
    let below = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    match value {
        Value::Object(object) if depth < MAX_DEPTH => {
            for (name, value) in object {
                flatten(fields, below(name), value, depth + 1);
            }
        }
        Value::Array(items)
            if depth < MAX_DEPTH && items.iter().any(|item| item.as_object().is_some()) =>
        {
            for (index, item) in items.iter().enumerate() {
                flatten(fields, below(&index.to_string()), item, depth + 1);
            }
        }
        _ => {
            fields.insert(Cow::Owned(path), value);
        }
    }
}
