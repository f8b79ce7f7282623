//! No model: replies come from a cassette only.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};

use super::model::{Endpoint, Provider, Settings};
use crate::{Api, ErrorKind, ModelError, Params, Reply, Request};

/// The model `replay`. Its requests are found by their messages alone, whichever model was recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replay;

impl Provider for Replay {
    fn forms(&self) -> Vec<String> {
        vec!["replay".to_owned()]
    }

    fn accepts(&self, model: &str) -> bool {
        model == "replay"
    }

    fn connect(&self, _: &str, _: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        Ok(Arc::new(Self))
    }
}

impl Endpoint for Replay {
    fn provider(&self) -> &str {
        "replay"
    }

    fn model(&self) -> &str {
        "replay"
    }

    fn queue(&self) -> String {
        "replay".to_owned()
    }

    fn identity(&self) -> Result<String, String> {
        Ok(String::new())
    }

    /// The recording decides.
    fn speaks(&self, _: Api) -> bool {
        true
    }

    fn parameters(&self, _: &Params) -> Result<Map<String, Value>, ModelError> {
        Ok(Map::new())
    }

    fn send(&self, _: &Request, _: &Map<String, Value>, _: Duration) -> Result<Reply, ModelError> {
        let text = "model `replay` answers from a cassette only; name one with `cassette`";
        Err(ModelError::new(ErrorKind::Config, text))
    }
}
