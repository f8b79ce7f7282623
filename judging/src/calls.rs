//! Calls to the models of a connection.

use std::{sync::Arc, time::Duration};

use evaluator_models::{Answer, ErrorKind, ModelError, Request};
use tokio::task::{JoinSet, spawn_blocking};

use crate::connection::Connection;

/// A request to the model of an index, and the limit of the time in its call.
pub type Wanted = (usize, Request, Option<Duration>);

/// A call with its result.
#[derive(Debug)]
pub struct Called<T> {
    /// Index of the request that it answers, or repeats.
    pub index: usize,
    /// Number among equal requests.
    pub number: u32,
    /// Result of the call.
    pub result: Result<Answer, ModelError>,
    /// What was read in the result.
    pub reading: T,
}

/// Asks what is wanted until there is nothing more to ask: first each request, at the same time, then at the same time all
/// those that `read` returns for a result, and so on. Returns all calls in order.
///
/// `read` gets the index of the request, the number of the round from 0, the request and its result. It returns what it reads
/// in the result, and the request that asks again, if one does.
pub async fn ask_until<T>(
    connection: &Arc<Connection>,
    wanted: Vec<Wanted>,
    mut read: impl FnMut(usize, u32, &Request, &Result<Answer, ModelError>) -> (T, Option<Request>),
) -> Vec<Called<T>> {
    let mut called = Vec::new();
    let mut next: Vec<(usize, Wanted)> = wanted.into_iter().enumerate().collect();
    for round in 0.. {
        let asked = std::mem::take(&mut next);
        if asked.is_empty() {
            break;
        }
        let wanted = asked.iter().map(|(_, wanted)| wanted.clone()).collect();
        let results = calls(connection, wanted).await;
        for ((index, (model, request, limit)), result) in asked.into_iter().zip(results) {
            let (reading, again) = read(index, round, &request, &result);
            next.extend(again.map(|request| (index, (model, request, limit))));
            called.push(Called { index, number: request.sample, result, reading });
        }
    }
    called
}

/// Makes calls at the same time, as far as the queues of the servers permit; if replies belong to calls by their order, one
/// after the other. The results are in the order of the requests.
async fn calls(
    connection: &Arc<Connection>,
    wanted: Vec<Wanted>,
) -> Vec<Result<Answer, ModelError>> {
    let mut results = Vec::new();
    let mut waiting = JoinSet::new();
    for (index, (model, request, limit)) in wanted.into_iter().enumerate() {
        if let Some(known) = connection.recorded(model, &request) {
            results.push(known);
            continue;
        }
        let asking = call(Arc::clone(connection), model, request, limit);
        if connection.is_ordered() {
            results.push(asking.await);
        } else {
            results.push(Err(lost("the task of the call panicked")));
            waiting.spawn(async move { (index, asking.await) });
        }
    }
    while let Some(joined) = waiting.join_next().await {
        if let Ok((index, result)) = joined {
            results[index] = result;
        }
    }
    results
}

/// Waits for a place in the queue of the server, then asks on a thread.
///
/// # Errors
///
/// Those of [`Connection::ask`].
pub async fn call(
    connection: Arc<Connection>,
    model: usize,
    request: Request,
    limit: Option<Duration>,
) -> Result<Answer, ModelError> {
    let Some((_, gate)) = connection.endpoints.get(model) else {
        return Err(lost(&format!("there is no model number {model}")));
    };
    let places = Arc::clone(&gate.places);
    // The semaphore is never closed.
    let place = places.acquire_owned().await;
    let asked = spawn_blocking(move || {
        let _place = place;
        connection.ask(model, &request, limit)
    });
    asked.await.unwrap_or_else(|error| Err(lost(&format!("the call {error}"))))
}

pub(crate) fn lost(text: &str) -> ModelError {
    ModelError::new(ErrorKind::Config, text)
}
