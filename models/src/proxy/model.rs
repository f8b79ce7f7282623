//! Models behind a proxy.

use std::{fmt, sync::Arc, time::Duration};

use crate::{Answer, Api, Broker, Budget, Call, Endpoint, ModelError, Params, Request};

/// A model that programs may ask.
pub trait ProxiedModel: fmt::Debug + Send + Sync {
    /// Returns provider and model, for reports.
    fn label(&self) -> String;

    /// Returns true if requests in the form of this interface can be [forwarded](Request::forwarded). `false` by default.
    fn speaks(&self, _api: Api) -> bool {
        false
    }

    /// Returns the parameters of questions that have none of their own. None by default.
    fn params(&self) -> Params {
        Params::default()
    }

    /// Asks the model, which blocks. `limit` is the time that the program waits; a later answer is lost.
    ///
    /// # Errors
    ///
    /// There is no answer.
    fn ask(&self, request: Request, limit: Duration) -> Result<Answer, ModelError>;
}

/// A model that is asked by a broker.
#[derive(Clone, Debug)]
pub struct BrokeredModel {
    /// Broker, shared by the run.
    pub broker: Arc<Broker>,
    /// Model.
    pub endpoint: Arc<dyn Endpoint>,
    /// Parameters of questions that have none of their own.
    pub params: Params,
    /// Budgets that count every request.
    pub budgets: Vec<Budget>,
}

impl BrokeredModel {
    /// Creates a model without parameters and budgets.
    pub fn new(broker: Arc<Broker>, endpoint: Arc<dyn Endpoint>) -> Self {
        Self { broker, endpoint, params: Params::default(), budgets: Vec::new() }
    }
}

impl ProxiedModel for BrokeredModel {
    fn label(&self) -> String {
        format!("{}/{}", self.endpoint.provider(), self.endpoint.model())
    }

    fn speaks(&self, api: Api) -> bool {
        self.endpoint.speaks(api)
    }

    fn params(&self) -> Params {
        self.params.clone()
    }

    fn ask(&self, request: Request, limit: Duration) -> Result<Answer, ModelError> {
        self.broker.ask(&Call {
            budgets: &self.budgets,
            time_limit: Some(limit),
            ..Call::new(&*self.endpoint, &request)
        })
    }
}
