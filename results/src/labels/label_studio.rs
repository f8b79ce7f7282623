//! JSON exports of Label Studio: an array of tasks with annotations.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use evaluator_json::Value;

use super::{
    LabelError, LabelPlace, Labels, Meanings,
    label::At,
    record::{Record, scalar},
};

/// Returns true if an item of an array is a task.
pub(super) fn is_task(item: &Value) -> bool {
    item.get("data").is_some_and(|data| data.as_object().is_some())
        && item.get("annotations").is_some_and(|it| it.as_array().is_some())
}

/// Reads the annotations of all tasks.
///
/// # Errors
///
/// An annotation has another label than those that are known, or a task does not say what it is about.
pub(super) fn read(
    file: &Arc<Path>,
    tasks: &[Value],
    meanings: &Meanings,
    labels: &mut Labels,
) -> Result<(), LabelError> {
    let controls: BTreeSet<&str> = tasks
        .iter()
        .flat_map(|task| items(task, "annotations"))
        .flat_map(|annotation| items(annotation, "result"))
        .filter(|result| value_of(result).is_some())
        .filter_map(|result| result.get("from_name")?.as_str())
        .collect();
    for (index, task) in tasks.iter().enumerate() {
        let id = task.get("id").and_then(scalar).unwrap_or_default();
        let place = LabelPlace { file: Arc::clone(file), at: At::Task(index + 1, id) };
        let annotations = items(task, "annotations");
        if annotations.is_empty() {
            labels.counts.not_labelled += 1;
        }
        for annotation in annotations {
            if annotation.get("was_cancelled").and_then(Value::as_bool) == Some(true) {
                labels.counts.cancelled += 1;
                continue;
            }
            let records = records(&place, task, annotation, controls.len() > 1)?;
            labels.counts.not_labelled += u64::from(records.is_empty());
            records.iter().try_for_each(|record| record.add(false, meanings, labels))?;
        }
    }
    Ok(())
}

/// Returns the labels of an annotation, as if each was a row. With several controls, each is about an evaluator.
fn records(
    place: &LabelPlace,
    task: &Value,
    annotation: &Value,
    are_several: bool,
) -> Result<Vec<Record>, LabelError> {
    let results = items(annotation, "result");
    let comment = results.iter().find_map(|result| {
        let texts = result.get("value")?.get("text")?;
        let texts = texts.as_array()?.iter().filter_map(Value::as_str);
        Some(texts.collect::<Vec<_>>().join("\n")).filter(is_filled)
    });
    let data = |names: &[&str]| {
        let data = task.get("data")?;
        names.iter().find_map(|name| data.get(name).and_then(scalar).filter(is_filled))
    };
    let rater = annotation
        .get("completed_by")
        .and_then(|by| scalar(by).or_else(|| by.get("email").or(by.get("id")).and_then(scalar)));
    let (case, trace_id) = (data(&["case", "eval_case_id"]), data(&["trace_id", "traceId"]));
    let mut records = Vec::new();
    for (result, value) in results.iter().filter_map(|it| Some((it, value_of(it)?))) {
        if case.is_none() && trace_id.is_none() {
            return Err(place.error("its `data` has neither `case` nor `trace_id`"));
        }
        let fields = [
            ("label", Some(label(place, value)?)),
            ("case", case.clone()),
            ("trace_id", trace_id.clone()),
            ("split", data(&["split"])),
            ("rater", rater.clone()),
            ("evaluator", result.get("from_name").and_then(scalar).filter(|_| are_several)),
            ("comment", comment.clone()),
        ];
        let fields = fields.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?)));
        records.push(Record { place: place.clone(), fields: fields.collect() });
    }
    Ok(records)
}

/// Returns the text of a label.
fn label(place: &LabelPlace, value: &Value) -> Result<String, LabelError> {
    let value = match value.as_array() {
        Some([only]) => only,
        Some(_) => return Err(place.error("the annotation has several choices; labels need one")),
        None => value,
    };
    let other =
        || place.error(format!("a label is {}; choices and numbers are read", value.kind()));
    let text = scalar(value).ok_or_else(other)?;
    if is_filled(&text) { Ok(text) } else { Err(place.error("a label is empty; choose again")) }
}

#[expect(clippy::ptr_arg, reason = "options of strings are filtered by it")]
fn is_filled(text: &String) -> bool {
    !text.trim().is_empty()
}

/// Returns what a control of choices, ratings or numbers has; `None` for other controls.
fn value_of(result: &Value) -> Option<&Value> {
    let value = result.get("value")?;
    let named = ["choices", "rating", "number"].iter().find_map(|key| value.get(key))?;
    let is_empty = named.as_array().is_some_and(<[Value]>::is_empty);
    (!is_empty).then_some(named)
}

fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_default()
}
