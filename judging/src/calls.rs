//! Calls to the models of a connection.

use std::{sync::Arc, time::Duration};

use evaluator_models::{Answer, ErrorKind, ModelError, Request};
use tokio::task::{JoinSet, spawn_blocking};

use crate::connection::Connection;

/// A request to the model of an index, and the limit of the time in its call.
pub(crate) type Wanted = (usize, Request, Option<Duration>);

/// Makes calls at the same time, as far as the queues of the servers permit; if replies belong to calls by their order, one
/// after the other. The results are in the order of the requests.
pub(crate) async fn calls(
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
