//! JSON exports of Label Studio: an array of tasks with annotations.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use evaluator_json::Value;

use super::{
    Label, LabelError, LabelPlace, LabelValue, Labels, Meanings, label::At, record::scalar,
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
            labels.not_labelled += 1;
        }
        for annotation in annotations {
            if annotation.get("was_cancelled").and_then(Value::as_bool) == Some(true) {
                labels.cancelled += 1;
                continue;
            }
            let annotation = Annotation { place: &place, task, annotation };
            annotation.add(controls.len() > 1, meanings, labels)?;
        }
    }
    Ok(())
}

struct Annotation<'a> {
    place: &'a LabelPlace,
    task: &'a Value,
    annotation: &'a Value,
}

impl Annotation<'_> {
    /// Adds the labels of an annotation. With several controls, each is about an evaluator.
    fn add(
        &self,
        are_several: bool,
        meanings: &Meanings,
        labels: &mut Labels,
    ) -> Result<(), LabelError> {
        let results = items(self.annotation, "result");
        let comment = results.iter().find_map(|result| {
            let texts = result.get("value")?.get("text")?;
            let texts = texts.as_array()?.iter().filter_map(Value::as_str);
            Some(texts.collect::<Vec<_>>().join("\n")).filter(|text| !text.trim().is_empty())
        });
        let mut found = false;
        for result in results {
            let Some(value) = value_of(result) else { continue };
            found = true;
            let control = result.get("from_name").and_then(scalar).filter(|_| are_several);
            let value = self.value(value, meanings)?;
            labels.labels.push(self.label(value, control, comment.clone())?);
        }
        labels.not_labelled += u64::from(!found);
        Ok(())
    }

    fn value(&self, value: &Value, meanings: &Meanings) -> Result<LabelValue, LabelError> {
        let several = || self.place.error("the annotation has several choices; labels need one");
        let value = match value.as_array() {
            Some([only]) => only,
            Some(_) => return Err(several()),
            None => value,
        };
        let text = scalar(value).ok_or_else(|| {
            self.place.error(format!("a label is {}; choices and numbers are read", value.kind()))
        })?;
        meanings.read(text.trim()).map_err(|message| self.place.error(message))
    }

    fn label(
        &self,
        value: LabelValue,
        evaluator: Option<String>,
        comment: Option<String>,
    ) -> Result<Label, LabelError> {
        let data = |names: [&str; 2]| {
            let data = self.task.get("data")?;
            names.iter().find_map(|name| data.get(name).and_then(scalar))
        };
        let (case, trace_id) = (data(["case", "eval_case_id"]), data(["trace_id", "traceId"]));
        if case.is_none() && trace_id.is_none() {
            return Err(self.place.error("its `data` has neither `case` nor `trace_id`"));
        }
        let split = data(["split", "split"]);
        let rater = self.annotation.get("completed_by").and_then(|by| {
            scalar(by).or_else(|| by.get("email").or(by.get("id")).and_then(scalar))
        });
        let place = self.place.clone();
        Ok(Label { case, trace_id, value, rater, evaluator, split, comment, place })
    }
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
