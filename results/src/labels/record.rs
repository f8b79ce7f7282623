//! Rows of CSV and objects of JSON, read alike: labels of own files, and scores of Langfuse.

use evaluator_json::{Object, Value};

use super::{Label, LabelError, LabelPlace, Labels, Meanings};

/// A row or object: texts by name. Empty ones and `null` are left out.
pub(super) struct Record {
    pub(super) place: LabelPlace,
    pub(super) fields: Vec<(String, String)>,
}

/// Names of the fields of a score of Langfuse, in both of its spellings.
const TRACE: [&str; 2] = ["trace_id", "traceId"];
const OBSERVATION: [&str; 2] = ["observation_id", "observationId"];
const TYPE: [&str; 2] = ["data_type", "dataType"];
const TEXT: [&str; 2] = ["string_value", "stringValue"];
const AUTHOR: [&str; 4] = ["author_user_id", "authorUserId", "author_user_name", "authorUserName"];

impl Record {
    /// Reads an object of JSON.
    ///
    /// # Errors
    ///
    /// A field that is read is an array or object.
    pub(super) fn of(place: LabelPlace, object: &Object) -> Result<Self, LabelError> {
        let mut fields = Vec::new();
        for (key, value) in object {
            match scalar(value) {
                Some(text) => fields.push((key.clone(), text)),
                None if key == "subject" => fields.extend(subject(value)),
                None if ["label", "case", "trace_id"].contains(&key.as_str())
                    && !value.is_null() =>
                {
                    let kind = value.kind();
                    return Err(place.error(format!("`{key}` is {kind}; write a text or a number")));
                }
                None => {}
            }
        }
        fields.retain(|(_, text)| !text.trim().is_empty());
        Ok(Self { place, fields })
    }

    fn get(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| {
            let found = self.fields.iter().find(|(key, _)| key == name);
            found.map(|(_, text)| text.trim()).filter(|text| !text.is_empty())
        })
    }

    fn owned(&self, names: &[&str]) -> Option<String> {
        self.get(names).map(str::to_owned)
    }

    /// Adds what the record says to the labels. `is_score` tells scores of Langfuse from own labels.
    ///
    /// # Errors
    ///
    /// It says something that is no label, or not what it is about.
    pub(super) fn add(
        &self,
        is_score: bool,
        meanings: &Meanings,
        labels: &mut Labels,
    ) -> Result<(), LabelError> {
        if is_score {
            if !self.get(&["source"]).is_some_and(|it| it.eq_ignore_ascii_case("ANNOTATION")) {
                labels.counts.not_by_people += 1;
                return Ok(());
            }
            let is_text = matches!(self.get(&TYPE), Some("TEXT" | "CORRECTION"));
            if is_text || self.get(&OBSERVATION).is_some() || self.get(&TRACE).is_none() {
                labels.counts.not_about_conversations += 1;
                return Ok(());
            }
        }
        let text = match is_score {
            true => self.get(&TEXT).or(self.get(&["value"])),
            false => self.get(&["label"]),
        };
        let Some(text) = text else {
            labels.counts.not_labelled += 1;
            return Ok(());
        };
        let value = meanings.read(text).map_err(|message| self.place.error(message))?;
        let of_own = |names: &[&str]| self.owned(names).filter(|_| !is_score);
        let label = Label {
            case: of_own(&["case", "eval_case_id"]),
            trace_id: self.owned(&TRACE),
            value,
            rater: self.owned(if is_score { &AUTHOR } else { &["rater", "annotator"] }),
            evaluator: self.owned(&[if is_score { "name" } else { "evaluator" }]),
            split: of_own(&["split"]),
            comment: self.owned(&["comment"]).or_else(|| of_own(&["reason"])),
            place: self.place.clone(),
        };
        if label.name().is_empty() {
            return Err(self.place.error("it has a label, and neither `case` nor `trace_id`"));
        }
        labels.labels.push(label);
        Ok(())
    }
}

/// Returns true if fields with these names are those of a score of Langfuse.
pub(super) fn is_score<'k>(mut names: impl Iterator<Item = &'k str> + Clone) -> bool {
    !names.clone().any(|name| name == "label")
        && names.clone().any(|name| name == "source")
        && names.any(|name| name == "name")
}

/// Returns the text of a value that is not an array or object; `None` for `null`.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(true) => Some("true".to_owned()),
        Value::Bool(false) => Some("false".to_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::BigInt(digits) => Some(digits.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the ids of what a score of the third version of Langfuse's API is about.
fn subject(value: &Value) -> Vec<(String, String)> {
    let text = |key: &str| value.get(key).and_then(scalar);
    let names: &[(&str, &str)] = match text("kind").as_deref() {
        Some("trace") => &[("id", "trace_id")],
        Some("observation") => &[("id", "observation_id"), ("traceId", "trace_id")],
        _ => &[],
    };
    names.iter().filter_map(|(key, name)| Some(((*name).to_owned(), text(key)?))).collect()
}
