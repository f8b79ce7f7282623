//! `details.judge`: what was asked, what was answered, and what it cost.

use evaluator_json::{Object, Value, count, object};
use evaluator_models::{Answer, Decimal, Endpoint, ModelError};
use indexmap::IndexSet;

use crate::{
    asked::{AskedQuestion, Interview},
    calls::Called,
    connection::Connection,
    judge::{Order, Reading},
    usage::CallUsage,
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

/// Returns an object of the members that have a value.
pub(crate) fn members<const N: usize>(members: [(&str, Option<Value>); N]) -> Object {
    members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Returns `details.judge`: the judgement and its calls.
pub(crate) fn judge(
    connection: &Connection,
    judged: Option<&Value>,
    interviews: &[Interview],
    (usage, readable): (&CallUsage, Option<usize>),
) -> Object {
    let names: Vec<String> = connection.models().map(name).collect();
    let mut judge = members([("model", Some(names.join(", ").into()))]);
    judge.extend(judged.and_then(Value::as_object).cloned().unwrap_or_default());
    judge.extend(members([("readable", readable.map(count))]));
    judge.extend(used(usage));
    let replies = calls(interviews).map(|(model, asked, call)| {
        reply(names.get(model).filter(|_| names.len() > 1), asked, call)
    });
    judge.insert("replies".to_owned(), Value::Array(replies.collect()));
    judge
}

/// Returns what calls used.
pub(crate) fn used(usage: &CallUsage) -> Object {
    let millis = u64::try_from(usage.duration.as_millis()).unwrap_or(u64::MAX);
    members([
        ("calls", Some(number(usage.calls))),
        ("replayed", Some(number(usage.replayed))),
        ("tokens", Some(tokens(&usage.tokens))),
        ("calls_without_usage", (usage.uncounted > 0).then(|| number(usage.uncounted))),
        ("cost", usage.cost.map(money)),
        ("duration_ms", Some(number(millis))),
    ])
}

/// Returns the name of a model with that of its provider.
pub(crate) fn name(endpoint: &dyn Endpoint) -> String {
    format!("{}/{}", endpoint.provider(), endpoint.model())
}

/// Returns a call. `model` is set in a panel.
fn reply(model: Option<&String>, asked: &AskedQuestion, call: &Called<Reading>) -> Value {
    let question = &asked.question;
    let is_replaced = asked.last(call.index).is_some_and(|last| last.number != call.number);
    let mut reply = members([
        ("turn", Some(count(question.turn))),
        ("prompt", Some(question.prompt.as_ref().into())),
        ("model", model.map(|model| model.as_str().into())),
        ("sample", Some(count(call.index))),
        ("swapped", (question.order == Order::Swapped).then(|| true.into())),
        ("asked_again", is_replaced.then(|| true.into())),
    ]);
    reply.extend(result(&call.result, call.number));
    Value::Object(reply)
}

/// Returns the result of a call: the reply with its usage, or the error. `sample` is the number of its record in a cassette.
pub(crate) fn result(result: &Result<Answer, ModelError>, sample: u32) -> Object {
    let text = |text: &str| Value::from(text);
    match result {
        Ok(answer) => {
            let (reply, key) = (&answer.reply, answer.key.as_deref());
            let dropped: Vec<Value> = answer.dropped_params.iter().map(|it| text(it)).collect();
            members([
                ("text", Some(text(&reply.text))),
                ("finish", Some(reply.finish.to_string().into())),
                ("tokens", reply.usage.as_ref().map(tokens)),
                ("model_reported", reply.model_reported.as_deref().map(text)),
                ("dropped_params", (!dropped.is_empty()).then_some(Value::Array(dropped))),
                ("key", key.map(text)),
                ("recorded_sample", key.map(|_| Value::Int(sample.into()))),
            ])
        }
        Err(error) => members([
            ("error", Some(error.to_string().into())),
            ("error_kind", Some(error.kind.to_string().into())),
        ]),
    }
}

fn tokens(usage: &evaluator_models::Usage) -> Value {
    object([
        ("input", number(usage.input)),
        ("output", number(usage.output)),
        ("cached", number(usage.cached)),
        ("reasoning", number(usage.reasoning)),
    ])
}

/// The digits of a cost are those of the decimal number.
fn money(amount: Decimal) -> Value {
    amount.to_string().parse().map_or_else(|_| amount.to_string().into(), Value::Float)
}

fn number(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}
