//! `details.judge`: what was asked, what was answered, and what it cost.

use evaluator_json::{Object, Value, count};
use evaluator_models::{Answer, Decimal, Endpoint, ModelError};
use indexmap::IndexSet;

use crate::{
    asked::{AskedQuestion, Interview},
    calls::Called,
    connection::Connection,
    judge::{Order, Reading},
    usage::Usage,
};

/// Returns all calls, each with its question and the index of its model.
fn calls(
    interviews: &[Interview],
) -> impl Iterator<Item = (usize, &AskedQuestion, &Called<Reading>)> {
    interviews.iter().flat_map(|interview| {
        let asked = interview.asked.iter();
        asked.flat_map(move |asked| {
            asked.calls.iter().map(move |call| (interview.model, asked, call))
        })
    })
}

/// Returns the number of replies that can be read.
pub(crate) fn readable(interviews: &[Interview]) -> usize {
    calls(interviews).filter(|(_, _, call)| call.reading.is_readable()).count()
}

/// Returns the results of all calls.
pub(crate) fn results(
    interviews: &[Interview],
) -> impl Iterator<Item = &Result<Answer, ModelError>> {
    calls(interviews).map(|(_, _, call)| &call.result)
}

/// Returns the warnings of answers, each once.
pub(crate) fn warnings<'r>(
    results: impl Iterator<Item = &'r Result<Answer, ModelError>>,
) -> impl Iterator<Item = String> {
    let warnings = results.flatten().flat_map(|answer| &answer.warnings).cloned();
    warnings.collect::<IndexSet<String>>().into_iter()
}

/// Returns `details.judge`: the judgement and its calls.
pub(crate) fn judge(
    connection: &Connection,
    judged: Option<&Value>,
    interviews: &[Interview],
    (usage, readable): (&Usage, Option<usize>),
) -> Object {
    let mut judge = Object::default();
    let mut set = |key: &str, value: Value| judge.insert(key.to_owned(), value);
    let names: Vec<String> = connection.models().map(name).collect();
    set("model", names.join(", ").into());
    if let Some(Value::Object(judged)) = judged {
        judged.iter().for_each(|(key, value)| drop(set(key, value.clone())));
    }
    if let Some(readable) = readable {
        set("readable", count(readable));
    }
    add_usage(&mut judge, usage);
    let replies = calls(interviews).map(|(model, asked, call)| {
        reply(names.get(model).filter(|_| names.len() > 1), asked, call)
    });
    judge.insert("replies".to_owned(), Value::Array(replies.collect()));
    judge
}

/// Adds what calls used.
pub(crate) fn add_usage(details: &mut Object, usage: &Usage) {
    let mut set = |key: &str, value: Value| details.insert(key.to_owned(), value);
    set("calls", number(usage.calls));
    set("replayed", number(usage.replayed));
    set("tokens", tokens(&usage.tokens));
    if usage.uncounted > 0 {
        set("calls_without_usage", number(usage.uncounted));
    }
    if let Some(cost) = usage.cost {
        set("cost", money(cost));
    }
    let millis = u64::try_from(usage.duration.as_millis()).unwrap_or(u64::MAX);
    set("duration_ms", number(millis));
}

/// Returns the name of a model with that of its provider.
pub(crate) fn name(endpoint: &dyn Endpoint) -> String {
    format!("{}/{}", endpoint.provider(), endpoint.model())
}

/// Returns a call. `model` is set in a panel.
fn reply(model: Option<&String>, asked: &AskedQuestion, call: &Called<Reading>) -> Value {
    let question = &asked.question;
    let mut reply = Object::default();
    let mut set = |key: &str, value: Value| reply.insert(key.to_owned(), value);
    set("turn", count(question.turn));
    set("prompt", question.prompt.as_ref().into());
    if let Some(model) = model {
        set("model", model.as_str().into());
    }
    set("sample", count(call.index));
    if question.order == Order::Swapped {
        set("swapped", true.into());
    }
    if asked.last(call.index).is_some_and(|last| last.number != call.number) {
        set("asked_again", true.into());
    }
    reply.extend(result(&call.result, call.number));
    Value::Object(reply)
}

/// Returns the result of a call: the reply with its usage, or the error. `sample` is the number of its record in a cassette.
pub(crate) fn result(result: &Result<Answer, ModelError>, sample: u32) -> Object {
    let mut members = Object::default();
    let mut set = |key: &str, value: Value| members.insert(key.to_owned(), value);
    match result {
        Ok(answer) => {
            set("text", answer.reply.text.as_str().into());
            set("finish", String::from(answer.reply.finish.clone()).into());
            if let Some(usage) = &answer.reply.usage {
                set("tokens", tokens(usage));
            }
            if let Some(reported) = &answer.reply.model_reported {
                set("model_reported", reported.as_str().into());
            }
            if !answer.dropped_params.is_empty() {
                let names = answer.dropped_params.iter().map(|name| name.as_str().into());
                set("dropped_params", Value::Array(names.collect()));
            }
            if let Some(key) = &answer.key {
                set("key", key.as_str().into());
                set("recorded_sample", Value::Int(sample.into()));
            }
        }
        Err(error) => {
            set("error", error.to_string().into());
            set("error_kind", error.kind.name().into());
        }
    }
    members
}

fn tokens(usage: &evaluator_models::Usage) -> Value {
    let members = [
        ("input", usage.input),
        ("output", usage.output),
        ("cached", usage.cached),
        ("reasoning", usage.reasoning),
    ];
    Value::Object(
        members.map(|(key, tokens)| (key.to_owned(), number(tokens))).into_iter().collect(),
    )
}

/// The digits of a cost are those of the decimal number.
fn money(amount: Decimal) -> Value {
    amount.to_string().parse().map_or_else(|_| amount.to_string().into(), Value::Float)
}

fn number(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}
