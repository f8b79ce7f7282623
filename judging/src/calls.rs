//! Calls of evaluators that write their requests themselves.

use std::{sync::Arc, time::Duration};

use evaluator_json::{Object, Value};
use evaluator_models::{Answer, ModelError, Request};
use tokio::task::JoinSet;

use crate::{
    connection::Connection,
    details::{add_usage, count, name, result},
    drive::{call, lost},
    usage::Usage,
};

/// A call with its result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// Index of the model in the settings of the connection.
    pub model: usize,
    /// Index of the turn, if the call is about one.
    pub turn: Option<usize>,
    /// Number of the request among equal ones.
    pub sample: u32,
    /// Answer, or the reason why there is none.
    pub result: Result<Answer, ModelError>,
}

/// A request to the model of an index, about the turn of an index.
type Wanted = (usize, Option<usize>, Request);

/// Asks all requests at the same time, as far as the queues of the servers permit. The results are in the order of the
/// requests. `time_limit` limits the time in each call.
pub async fn ask_all(
    connection: &Arc<Connection>,
    wanted: Vec<Wanted>,
    time_limit: Option<Duration>,
) -> Vec<Asked> {
    let is_ordered = connection.is_ordered();
    let _turn = if is_ordered { Some(connection.shared.turn.lock().await) } else { None };
    let mut asked = Vec::new();
    let mut waiting = JoinSet::new();
    for (index, (model, turn, request)) in wanted.into_iter().enumerate() {
        let sample = request.sample;
        let mut result = Err(lost("the task of the call panicked"));
        if let Some(known) = connection.recorded(model, &request) {
            result = known;
        } else {
            let asking = call(Arc::clone(connection), model, request, time_limit);
            if is_ordered {
                result = asking.await;
            } else {
                waiting.spawn(async move { (index, asking.await) });
            }
        }
        asked.push(Asked { model, turn, sample, result });
    }
    while let Some(joined) = waiting.join_next().await {
        if let Ok((index, result)) = joined {
            asked[index].result = result;
        }
    }
    asked
}

/// Returns the details of calls for the report: models, tokens, costs and replies. Replies that are vectors are left out.
#[must_use]
pub fn details(connection: &Connection, asked: &[Asked]) -> Object {
    let names: Vec<String> = connection.models().map(name).collect();
    let mut details = Object::default();
    details.insert("model".to_owned(), names.join(", ").into());
    add_usage(&mut details, &Usage::of(asked.iter().map(|call| &call.result)));
    let replies = asked.iter().filter_map(|call| reply(call, &names));
    details.insert("replies".to_owned(), Value::Array(replies.collect()));
    details
}

fn reply(call: &Asked, names: &[String]) -> Option<Value> {
    let mut reply = Object::default();
    let mut set = |key: &str, value: Value| reply.insert(key.to_owned(), value);
    set("turn", count(call.turn? as u64));
    if let Some(model) = names.get(call.model).filter(|_| names.len() > 1) {
        set("model", model.as_str().into());
    }
    reply.extend(result(&call.result, call.sample));
    Some(Value::Object(reply))
}
