//! Deletion of evals, however a grading ends.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use evaluator_models::{Cancel, Clock, Method};
use serde_json::Value;

use super::{
    client::EvalsServer,
    transport::{ATTEMPTS, Failure, History, Transport},
};

/// Time for cancelling and deleting.
const LIMIT: Duration = Duration::from_secs(10);

/// Evals that exist on servers, for the message of a program that ends without deleting them.
static OPEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn open() -> MutexGuard<'static, BTreeSet<String>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the ids of the evals that were created and are not deleted yet.
#[must_use]
pub fn open_evals() -> Vec<String> {
    open().iter().cloned().collect()
}

/// An eval on a server. It is deleted when dropped, also by a panic.
#[derive(Debug)]
pub(super) struct OpenEval<'a> {
    server: &'a EvalsServer,
    clock: &'a dyn Clock,
    pub(super) id: String,
    /// Run that may still be in progress.
    pub(super) run: Option<String>,
    is_closed: bool,
}

impl<'a> OpenEval<'a> {
    pub(super) fn new(server: &'a EvalsServer, clock: &'a dyn Clock, id: String) -> Self {
        open().insert(id.clone());
        Self { server, clock, id, run: None, is_closed: false }
    }

    /// Cancels the run if it may be in progress, and deletes the eval. Returns warnings.
    pub(super) fn close(mut self) -> Vec<String> {
        self.delete()
    }

    fn delete(&mut self) -> Vec<String> {
        if self.is_closed {
            return Vec::new();
        }
        self.is_closed = true;
        // A run that was cancelled still deletes what it has created.
        let never = Cancel::default();
        let deadline = self.clock.now().saturating_add(LIMIT);
        let (server, clock, attempts) = (self.server, self.clock, ATTEMPTS);
        let transport = Transport { server, clock, cancel: &never, deadline, attempts };
        if let Some(run) = self.run.take() {
            cancel(&transport, &self.id, &run);
        }
        let mut history = History::default();
        let path = format!("/evals/{}", self.id);
        let deleted = match transport.send(&Method::DELETE, &path, None, &mut history) {
            Ok(_) => Ok(()),
            Err(Failure::Refused(error)) if matches!(error.status, Some(404 | 410)) => Ok(()),
            Err(Failure::Refused(error)) => Err(error.message),
            Err(_) => Err("the server did not answer in time".to_owned()),
        };
        open().remove(&self.id);
        match deleted {
            Ok(()) => Vec::new(),
            Err(reason) => vec![format!("the eval {} could not be deleted: {reason}", self.id)],
        }
    }
}

impl Drop for OpenEval<'_> {
    fn drop(&mut self) {
        // The panic is the error of the evaluation.
        self.delete();
    }
}

/// Cancels a run. Errors are not reported: the deletion of its eval follows. Older servers cancel without the last part of
/// the path.
fn cancel(transport: &Transport<'_>, eval: &str, run: &str) {
    let path = format!("/evals/{eval}/runs/{run}");
    let mut history = History::default();
    let new = format!("{path}/cancel");
    if let Err(Failure::Refused(error)) = transport.send(&Method::POST, &new, None, &mut history)
        && matches!(error.status, Some(404 | 405))
    {
        let _ = transport.send(&Method::POST, &path, None, &mut history);
    }
}

/// Deletes evals with a mark that a request created although it failed, apart from one. Returns warnings.
pub(super) fn delete_marked(
    (server, clock): (&EvalsServer, &dyn Clock),
    (key, mark): (&str, &str),
    keep: Option<&str>,
) -> Vec<String> {
    let never = Cancel::default();
    let deadline = clock.now().saturating_add(LIMIT);
    // A server that did not create an eval after several requests need not answer this one.
    let attempts = if keep.is_some() { ATTEMPTS } else { 1 };
    let transport = Transport { server, clock, cancel: &never, deadline, attempts };
    let mut history = History::default();
    let path = "/evals?order=desc&limit=20";
    let listed = match transport.send(&Method::GET, path, None, &mut history) {
        Ok(listed) => listed,
        Err(_) => {
            return vec![format!(
                "it is unknown whether the server has an eval of a request that failed (metadata {key}: {mark})"
            )];
        }
    };
    let evals = listed.get("data").and_then(Value::as_array).into_iter().flatten();
    let is_marked = |eval: &&Value| {
        eval.pointer(&format!("/metadata/{key}")).and_then(Value::as_str) == Some(mark)
    };
    let ids = evals.filter(is_marked).filter_map(|eval| eval.get("id")?.as_str());
    let mut warnings = Vec::new();
    for id in ids.filter(|id| Some(*id) != keep && super::answers::is_id(id)) {
        warnings.extend(OpenEval::new(server, clock, id.to_owned()).close());
    }
    warnings
}
