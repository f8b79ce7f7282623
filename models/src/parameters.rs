//! Parameters of requests, and those that servers refused in this run.

use std::{collections::HashMap, sync::Mutex};

use serde_json::{Map, Value};

use crate::{Endpoint, clock::lock};

/// Parameters of a request, and those of them that were dropped because the server refused them.
#[derive(Debug)]
pub(crate) struct Parameters {
    asked: Map<String, Value>,
    dropped: Vec<String>,
    sent: Map<String, Value>,
}

impl Parameters {
    pub(crate) fn new(asked: Map<String, Value>) -> Self {
        Self { sent: asked.clone(), dropped: Vec::new(), asked }
    }

    /// Returns all parameters of the request.
    pub(crate) fn asked(&self) -> &Map<String, Value> {
        &self.asked
    }

    /// Returns the parameters without those that were dropped.
    pub(crate) fn sent(&self) -> &Map<String, Value> {
        &self.sent
    }

    /// Returns the names of the dropped parameters, sorted.
    pub(crate) fn dropped(&self) -> &[String] {
        &self.dropped
    }

    pub(crate) fn drop(&mut self, name: &str) {
        if self.sent.remove(name).is_some() {
            self.dropped.push(name.to_owned());
            self.dropped.sort_unstable();
        }
    }
}

/// Parameters that servers refused in this run. Later requests with the same parameters leave them out at once.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<HashMap<String, Vec<String>>>);

impl Refusals {
    /// Returns the names of the parameters that the server of the endpoint refuses among these, if it is known.
    pub(crate) fn of(
        &self,
        endpoint: &dyn Endpoint,
        asked: &Map<String, Value>,
    ) -> Option<Vec<String>> {
        let refusals = lock(&self.0);
        if refusals.is_empty() {
            return None;
        }
        refusals.get(&identity(endpoint, asked)).cloned()
    }

    pub(crate) fn add(&self, endpoint: &dyn Endpoint, params: &Parameters) {
        lock(&self.0).insert(identity(endpoint, params.asked()), params.dropped().to_vec());
    }
}

/// Identifies the parameters of requests to a model of a server.
fn identity(endpoint: &dyn Endpoint, asked: &Map<String, Value>) -> String {
    format!("{}\n{}\n{}", endpoint.queue(), endpoint.model(), Value::Object(asked.clone()))
}
