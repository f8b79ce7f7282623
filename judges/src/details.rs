//! `details.judge`: what was asked, what was answered, and what it cost.

use evaluator_json::{Object, Value};
use evaluator_metrics::judge::Order;
use evaluator_models::{Decimal, Endpoint};

use crate::{
    connection::Connection,
    drive::{AskedQuestion, Sample},
    usage::Usage,
};

/// Returns what the calls used.
pub(crate) fn usage(asked: &[AskedQuestion]) -> Usage {
    let mut usage = Usage::default();
    for sample in asked.iter().flat_map(|asked| &asked.samples) {
        match &sample.result {
            Ok(answer) => usage.add(answer),
            Err(error) => usage.add_failed(error.attempts),
        }
    }
    usage
}

/// Returns the warnings of answers, each once.
pub(crate) fn warnings(asked: &[AskedQuestion]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    let samples = asked.iter().flat_map(|asked| &asked.samples);
    for answer in samples.filter_map(|sample| sample.result.as_ref().ok()) {
        for warning in &answer.warnings {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
    }
    warnings
}

/// Returns `details.judge`: what the judgement says, and what its calls were.
pub(crate) fn judge(
    connection: &Connection,
    judged: Option<&Value>,
    asked: &[AskedQuestion],
    usage: &Usage,
) -> Object {
    let mut judge = Object::default();
    let mut set = |key: &str, value: Value| judge.insert(key.to_owned(), value);
    let names: Vec<String> = connection.models().map(name).collect();
    set("model", names.join(", ").into());
    if let Some(Value::Object(judged)) = judged {
        judged.iter().for_each(|(key, value)| drop(set(key, value.clone())));
    }
    set("calls", count(usage.calls));
    set("replayed", count(usage.replayed));
    set("tokens", tokens(&usage.tokens));
    if usage.uncounted > 0 {
        set("calls_without_usage", count(usage.uncounted));
    }
    if let Some(cost) = usage.cost {
        set("cost", money(cost));
    }
    let millis = u64::try_from(usage.duration.as_millis()).unwrap_or(u64::MAX);
    set("duration_ms", count(millis));
    let replies = asked.iter().flat_map(|asked| {
        asked.samples.iter().enumerate().map(|(index, sample)| reply(asked, index, sample))
    });
    set("replies", Value::Array(replies.collect()));
    judge
}

fn name(endpoint: &dyn Endpoint) -> String {
    format!("{}/{}", endpoint.provider(), endpoint.model())
}

fn reply(asked: &AskedQuestion, index: usize, sample: &Sample) -> Value {
    let question = &asked.question;
    let mut reply = Object::default();
    let mut set = |key: &str, value: Value| reply.insert(key.to_owned(), value);
    set("turn", count(question.turn as u64));
    set("prompt", question.prompt.into());
    set("sample", count(index as u64));
    if question.order == Order::Swapped {
        set("swapped", true.into());
    }
    match &sample.result {
        Ok(answer) => {
            set("text", answer.reply.text.as_str().into());
            set("finish", String::from(answer.reply.finish.clone()).into());
            if let Some(usage) = &answer.reply.usage {
                set("tokens", tokens(usage));
            }
            if let Some(reported) = &answer.reply.model_reported {
                set("model_reported", reported.as_str().into());
            }
            set("key", answer.key.as_str().into());
            set("recorded_sample", count(sample.number.into()));
        }
        Err(error) => {
            set("error", error.to_string().into());
            set("error_kind", error.kind.name().into());
        }
    }
    Value::Object(reply)
}

fn tokens(usage: &evaluator_models::Usage) -> Value {
    let members = [
        ("input", usage.input),
        ("output", usage.output),
        ("cached", usage.cached),
        ("reasoning", usage.reasoning),
    ];
    Value::Object(
        members.map(|(key, tokens)| (key.to_owned(), count(tokens))).into_iter().collect(),
    )
}

/// The digits of a cost are those of the decimal number.
fn money(amount: Decimal) -> Value {
    amount.to_string().parse().map_or_else(|_| amount.to_string().into(), Value::Float)
}

fn count(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}
