//! Logs of Inspect in JSON, as `inspect eval --log-format json` and `inspect log convert --to json` write them.
//!
//! | of Inspect | here |
//! |---|---|
//! | id of a sample | case |
//! | epochs | several conversations of a case |
//! | scorer; a member of scores that are objects or lists | evaluator |
//! | `C`, `P`, `I`, `N`, true, false, numbers | score as Inspect counts it; passes from 0.5 on |
//! | no score, `NaN` | not evaluated |
//! | error of a sample, a sample that was invalidated | error of the conversation |

use std::collections::BTreeMap;

use evaluator_json::{Object, Value, object, output_text, to_python};

use super::parts::{
    Entries, ForeignRun, THRESHOLD, at, broken, conversation, details, golden, items_at, number,
    reason, scored, short_id, text_at, unit,
};
use crate::{ALL_EVALUATORS, EvaluationReport};

/// Name of the tool.
pub(super) const NAME: &str = "inspect";

/// Version of logs that are read.
const VERSION: i64 = 2;

/// Returns true for logs of Inspect.
pub(super) fn is_log(root: &Value) -> bool {
    root.get("status").is_some() && at(root, &["eval", "task"]).is_some()
}

/// Reads a log.
///
/// # Errors
///
/// It is of another version, incomplete, or has a score that is not from 0 to 1.
pub(super) fn read(root: &Value) -> Result<ForeignRun, String> {
    let samples = complete(root)?;
    let (mut run, mut entries) = (ForeignRun::default(), Entries::default());
    let mut expected = BTreeMap::new();
    for sample in samples {
        let case = short_id(&output_text(sample.get("id").unwrap_or(&Value::Null)));
        let epoch = sample.get("epoch").map(to_python).unwrap_or_default();
        let id =
            text_at(sample, &["uuid"]).map_or_else(|| format!("{case}#{epoch}"), str::to_owned);
        let mut conversation = conversation(&id, &case, question(sample));
        conversation.evaluations = match error(sample) {
            Some(error) => vec![broken(ALL_EVALUATORS, &error)],
            None => evaluations(sample, &case, &mut entries)?,
        };
        expected.insert(case, asked(sample));
        run.conversations.push(conversation);
    }
    add_scorers(root, &mut entries);
    in_order(&mut run, &entries);
    run.header.evaluators = entries.finish(NAME);
    let dataset = text_at(root, &["eval", "dataset", "name"]).unwrap_or(NAME);
    run.header.golden = Some(golden(dataset, expected));
    let version =
        text_at(root, &["eval", "packages", "inspect_ai"]).unwrap_or("of unknown version");
    run.header.tool = format!("inspect_ai {version}");
    run.header.settings = settings(root);
    Ok(run)
}

/// Returns all samples.
///
/// # Errors
///
/// The log is of another version, of a run that did not end well, or without some of its samples.
fn complete(root: &Value) -> Result<&[Value], String> {
    if !matches!(root.get("version"), Some(Value::Int(VERSION))) {
        let version = root.get("version").map_or_else(|| "missing".to_owned(), to_python);
        return Err(format!(
            "the version of the log is {version}, and this program reads version {VERSION}"
        ));
    }
    let status = text_at(root, &["status"]).unwrap_or_default();
    if status != "success" {
        let error = text_at(root, &["error", "message"]).map(|it| format!(": {it}"));
        let error = error.unwrap_or_default();
        return Err(format!(
            "its status is `{status}`, so samples are missing; finish it with `inspect eval-retry`{error}"
        ));
    }
    let samples = items_at(root, &["samples"]);
    let total = at(root, &["results", "total_samples"]).and_then(number);
    let total = total.ok_or_else(|| {
        let errors: Option<Vec<String>> = samples.iter().map(error).collect();
        match errors.as_deref() {
            Some([first, ..]) => {
                format!("every sample has an error; correct the task, and run it again. The first one: {first}")
            }
            _ => "it has no `results` with their number of samples; run it without `--no-score`, or add the scores with `inspect score`"
                .to_owned(),
        }
    })?;
    if samples.is_empty() || total != samples.len() as f64 {
        return Err(format!(
            "it has {} samples of {total}; run it without `--no-log-samples`",
            samples.len()
        ));
    }
    let is_invalidated = root.get("invalidated").and_then(Value::as_bool) == Some(true);
    if is_invalidated && !samples.iter().any(|it| member(it, "invalidation").is_some()) {
        return Err(
            "it was invalidated, and no sample says why; run it again with `inspect eval-retry`"
                .to_owned(),
        );
    }
    Ok(samples)
}

/// Returns a member that is there and not `null`.
fn member<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|it| !it.is_null())
}

/// Returns why a sample has no result.
fn error(sample: &Value) -> Option<String> {
    if let Some(error) = member(sample, "error") {
        let traceback = || text_at(error, &["traceback"])?.trim_end().lines().last();
        let text = error.as_str().filter(|it| !it.trim().is_empty());
        let text = text.or_else(|| text_at(error, &["message"])).or_else(traceback);
        return Some(text.unwrap_or("Inspect reports an error").to_owned());
    }
    let invalidation = member(sample, "invalidation")?;
    let reason = text_at(invalidation, &["reason"]).map(|it| format!(": {it}"));
    Some(format!("the sample was invalidated{}", reason.unwrap_or_default()))
}

/// Returns the text that a sample asks first.
fn question(sample: &Value) -> Option<&str> {
    let messages = items_at(sample, &["input"]);
    let asked = messages.iter().rfind(|it| text_at(it, &["role"]) == Some("user"));
    text_at(sample, &["input"]).or_else(|| text_at(asked?, &["content"]))
}

/// Returns what is asked and expected in a sample. Ids of messages are different in each run.
fn asked(sample: &Value) -> Value {
    let mut input = sample.get("input").cloned().unwrap_or_default();
    if let Value::Array(messages) = &mut input {
        for message in messages {
            if let Value::Object(message) = message {
                message.shift_remove("id");
            }
        }
    }
    let of_sample = |key| sample.get(key).cloned().unwrap_or_default();
    object([("input", input), ("choices", of_sample("choices")), ("target", of_sample("target"))])
}

/// Returns the evaluations of a sample.
fn evaluations(
    sample: &Value,
    case: &str,
    entries: &mut Entries,
) -> Result<Vec<EvaluationReport>, String> {
    let none = Object::default();
    let scores = sample.get("scores").and_then(Value::as_object).unwrap_or(&none);
    let mut evaluations = Vec::new();
    for (scorer, score) in scores {
        for (name, value) in values(scorer, score.get("value").unwrap_or(&Value::Null)) {
            entries.meet(&name);
            let Some(number) = score_of(&name, case, value)? else {
                evaluations.push(unscored(&name, text_at(score, &["explanation"])));
                continue;
            };
            let mut evaluation = scored(&name, number, THRESHOLD, number >= THRESHOLD);
            let member = |key| score.get(key).filter(|it: &&Value| !it.is_empty_like()).cloned();
            let value = value.as_str().map(|it| Value::String(it.to_owned()));
            let explained = member("explanation");
            evaluation.details =
                details([("reason", explained), ("value", value), ("answer", member("answer"))]);
            evaluations.push(evaluation);
        }
    }
    Ok(evaluations)
}

/// Returns the values of a score by the names of their evaluators.
fn values<'v>(scorer: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match value {
        Value::Object(members) => {
            members.iter().map(|(key, value)| (format!("{scorer}.{key}"), value)).collect()
        }
        Value::Array(items) => {
            let named = |(at, value)| (format!("{scorer}.{at}"), value);
            items.iter().enumerate().map(named).collect()
        }
        value => vec![(scorer.to_owned(), value)],
    }
}

/// Returns the number that Inspect takes a value for; `None` for one without a score.
fn score_of(name: &str, case: &str, value: &Value) -> Result<Option<f64>, String> {
    let score = match value {
        Value::Null => return Ok(None),
        Value::Float(number) if number.is_nan() => return Ok(None),
        Value::Bool(is_true) => Some(f64::from(*is_true)),
        Value::String(text) => match &*text.to_lowercase() {
            _ if text == "C" => Some(1.0),
            _ if text == "P" => Some(0.5),
            _ if text == "I" || text == "N" => Some(0.0),
            "yes" | "true" => Some(1.0),
            "no" | "false" => Some(0.0),
            text => text.parse().ok().filter(|it: &f64| it.is_finite()),
        },
        value => number(value),
    };
    let score = score.ok_or_else(|| {
        let value = to_python(value);
        format!(
            "`{name}` scores {value} in case `{case}`, which is no number and none of C, P, I, N"
        )
    })?;
    unit(name, case, score).map(Some)
}

fn unscored(name: &str, explanation: Option<&str>) -> EvaluationReport {
    let details = reason(explanation);
    EvaluationReport { threshold: Some(THRESHOLD), details, ..EvaluationReport::new(name) }
}

/// Adds what the log says about scorers. A member of an object has the settings of its scorer.
fn add_scorers(root: &Value, entries: &mut Entries) {
    let grader = at(root, &["eval", "model_roles", "grader"]);
    for scorer in items_at(root, &["eval", "scorers"]) {
        let Some(scorer_name) = text_at(scorer, &["name"]) else { continue };
        let is_of = |name: &&String| {
            name.strip_prefix(scorer_name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let names: Vec<String> = entries.names.iter().filter(is_of).cloned().collect();
        let none = Object::default();
        let options = scorer.get("options").and_then(Value::as_object).unwrap_or(&none);
        for name in names {
            for (key, value) in options {
                let of_model =
                    matches!(&**key, "model" | "model_role" | "template" | "instructions");
                let part = if of_model { "judge" } else { "options" };
                entries.set(&name, &format!("{part}.{key}"), value);
            }
            let asks_default = scorer_name.starts_with("model_graded")
                && options.get("model").is_none_or(Value::is_null);
            // Without a model of its own, the evaluated one is asked.
            let judge = grader.or_else(|| at(root, &["eval", "model"])).filter(|_| asks_default);
            if let Some(judge) = judge {
                entries.set(&name, "judge.model", judge);
            }
        }
    }
}

/// Gives every conversation the evaluators in the same order. A scorer without a score in a sample evaluated nothing there.
fn in_order(run: &mut ForeignRun, entries: &Entries) {
    for conversation in &mut run.conversations {
        let mut found = std::mem::take(&mut conversation.evaluations);
        if found.first().is_some_and(|it| it.name == ALL_EVALUATORS) {
            conversation.evaluations = found;
            continue;
        }
        let evaluation = |name: &String| {
            let at = found.iter().position(|it| it.name == *name);
            at.map_or_else(|| unscored(name, None), |at| found.swap_remove(at))
        };
        conversation.evaluations = entries.names.iter().map(evaluation).collect();
    }
}

/// Returns what the log says about the run, by the keys of a header.
fn settings(root: &Value) -> BTreeMap<String, serde_json::Value> {
    let mut settings = BTreeMap::new();
    let of_eval = ["task", "task_version", "task_args", "model_roles", "packages", "revision"];
    for key in of_eval {
        let value = at(root, &["eval", key]).filter(|it| !it.is_null());
        settings.extend(value.map(|it| (key.to_owned(), it.into())));
    }
    let config = at(root, &["eval", "config"]).and_then(Value::as_object);
    let limits = config.into_iter().flatten().filter(|(key, _)| key.ends_with("_limit"));
    let limits: serde_json::Map<_, _> =
        limits.map(|(key, value)| (key.clone(), value.into())).collect();
    if !limits.is_empty() {
        settings.insert("limits".to_owned(), limits.into());
    }
    settings
}
