//! Files of labels of all forms.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_json::{self as json, ParseOptions, RepeatedKeys, Value};

use super::{
    LabelCounts, LabelError, LabelPlace, Labels, Meanings,
    label::At,
    label_studio,
    record::{self, Record},
    table,
};

/// Maximum size of a file, which is read into memory.
const LIMIT: u64 = 1 << 30;

/// Options of JSON. A repeated key would leave it open which label counts.
const STRICT: ParseOptions = ParseOptions {
    repeated_keys: RepeatedKeys::Reject,
    non_finite: false,
    max_depth: json::MAX_DEPTH,
    surrogates: json::Surrogates::Replace,
};

/// Reads labels from files: CSV with a header, JSON lines, JSON exports of Label Studio, and scores of Langfuse in CSV, JSON or
/// JSON lines. A form is recognized by its content. `meanings` are those of further words.
///
/// # Errors
///
/// A file cannot be read, is of another form, or has something that is not a label, with its position; or no file has a label.
pub fn read_labels(files: &[PathBuf], meanings: &Meanings) -> Result<Labels, LabelError> {
    let counts = LabelCounts { files: files.to_vec(), ..LabelCounts::default() };
    let mut labels = Labels { labels: Vec::new(), counts };
    for file in files {
        read(file, meanings, &mut labels)?;
    }
    if labels.labels.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let names = names.join(", ");
        let LabelCounts { not_labelled, cancelled, not_by_people, not_about_conversations, .. } =
            labels.counts;
        return Err(LabelError(format!(
            "{names}: there is no label ({not_labelled} rows without one, {cancelled} cancelled, {not_by_people} not by people, \
             {not_about_conversations} not about conversations); the key, column or, in JSON_MIN and CSV of Label Studio, the control has to be called `label`"
        )));
    }
    Ok(labels)
}

fn read(path: &Path, meanings: &Meanings, labels: &mut Labels) -> Result<(), LabelError> {
    let failed = |message: String| LabelError(format!("{}: {message}", path.display()));
    let bytes = json::read_file(path, LIMIT).map_err(|error| failed(error.to_string()))?;
    let file: Arc<Path> = path.into();
    let text = str::from_utf8(&bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|it| **it == b'\n').count();
        let place = LabelPlace { file: Arc::clone(&file), at: At::Line(line) };
        place.error("the text is not UTF-8; save the file as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().chars().next() {
        None => Err(failed("the file is empty".to_owned())),
        Some('[') => {
            let root = json::parse(text, &STRICT).map_err(|error| failed(error.to_string()))?;
            read_items(&file, root.value.as_array().unwrap_or_default(), meanings, labels)
        }
        Some('{') => read_objects(&file, text, meanings, labels),
        Some(_) => table::read(&file, text, meanings, labels),
    }
}

/// Reads one object that holds an array, such as a page of Langfuse's API, or JSON lines.
fn read_objects(
    file: &Arc<Path>,
    text: &str,
    meanings: &Meanings,
    labels: &mut Labels,
) -> Result<(), LabelError> {
    if let Ok(root) = json::parse(text, &STRICT)
        && let Some(items) = root.value.get("data").and_then(Value::as_array)
    {
        return read_items(file, items, meanings, labels);
    }
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let place = LabelPlace { file: Arc::clone(file), at: At::Line(number + 1) };
        let parsed = json::parse(line, &STRICT).map_err(|error| {
            place.error(format!("it is not JSON: {} at column {}", error.kind, error.column))
        })?;
        read_item(place, &parsed.value, meanings, labels)?;
    }
    Ok(())
}

fn read_items(
    file: &Arc<Path>,
    items: &[Value],
    meanings: &Meanings,
    labels: &mut Labels,
) -> Result<(), LabelError> {
    if items.first().is_some_and(label_studio::is_task) {
        return label_studio::read(file, items, meanings, labels);
    }
    items.iter().enumerate().try_for_each(|(index, item)| {
        let place = LabelPlace { file: Arc::clone(file), at: At::Item(index + 1) };
        read_item(place, item, meanings, labels)
    })
}

fn read_item(
    place: LabelPlace,
    item: &Value,
    meanings: &Meanings,
    labels: &mut Labels,
) -> Result<(), LabelError> {
    let Some(object) = item.as_object() else {
        return Err(place.error(format!("it is {}, not an object with a label", item.kind())));
    };
    let is_score = record::is_score(object.keys().map(String::as_str));
    // JSON_MIN of Label Studio has no key for what an annotation leaves out.
    let is_own = object.contains_key("label") || object.contains_key("annotation_id");
    if !is_score && !is_own {
        return Err(place.error(
            "it has neither `label`, nor `source` and `name` as scores of Langfuse, nor `data` and `annotations` as tasks in the \
             JSON export of Label Studio",
        ));
    }
    Record::of(place, object)?.add(is_score, meanings, labels)
}
