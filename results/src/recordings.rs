//! The recorded replies of judges that a report refers to.

use std::{collections::BTreeSet, io};

use evaluator_json::Value;

use super::{EvaluationReport, RecordId, Report};

impl Report {
    /// Returns the key and the sample of every recorded reply that the details of evaluations name.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn recorded_samples(&self) -> io::Result<BTreeSet<RecordId>> {
        let mut found = BTreeSet::new();
        for conversation in &self.conversations {
            let evaluations = conversation?.evaluations;
            for evaluation in evaluations.iter().flat_map(EvaluationReport::each_repeat) {
                let proxied = evaluation.target_proxy.iter().flat_map(|it| &it.recordings);
                found.extend(proxied.cloned());
                for value in evaluation.details.iter().flat_map(|details| details.values()) {
                    collect(value, &mut found);
                }
            }
        }
        Ok(found)
    }
}

fn collect(value: &Value, found: &mut BTreeSet<RecordId>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => {
            let key = members.get("key").and_then(Value::as_str);
            let sample = members.get("recorded_sample").and_then(Value::as_i128);
            if let (Some(key), Some(Ok(sample))) = (key, sample.map(u32::try_from)) {
                found.insert((key.to_owned(), sample));
            }
            members.values().for_each(|value| collect(value, found));
        }
        _ => {}
    }
}
