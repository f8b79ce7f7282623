//! The connection of an evaluator with its models.

use std::{sync::Arc, time::Duration};

use evaluator_models::{
    Answer, Budget, Call, Cassette, Endpoint, Limits, Message, ModelError, Prices, Redactor, Reply,
    Request, Spent,
};

use crate::{
    door::{Door, Gate},
    settings::JudgeSettings,
};

/// Connection of an evaluator with its models. Its calls count in the budgets of the run and of the evaluator.
#[derive(Debug)]
pub struct Connection {
    pub(crate) evaluator: String,
    pub(crate) settings: JudgeSettings,
    pub(crate) limits: Limits,
    /// Each model with the entry to its queue.
    pub(crate) endpoints: Vec<(Arc<dyn Endpoint>, Arc<Gate>)>,
    pub(crate) budgets: Vec<Budget>,
    pub(crate) prices: Prices,
    pub(crate) cassette: Option<Arc<Cassette>>,
    pub(crate) redactor: Redactor,
    pub(crate) door: Arc<Door>,
}

impl Connection {
    /// Name of the evaluator.
    #[must_use]
    pub fn evaluator(&self) -> &str {
        &self.evaluator
    }

    /// Settings: those of the entry over those of the run.
    #[must_use]
    pub fn settings(&self) -> &JudgeSettings {
        &self.settings
    }

    /// Models that are asked, in the order of the settings.
    pub fn models(&self) -> impl ExactSizeIterator<Item = &dyn Endpoint> {
        self.endpoints.iter().map(|(endpoint, _)| &**endpoint)
    }

    /// Returns true if calls must not overtake each other.
    pub(crate) fn is_ordered(&self) -> bool {
        self.models().any(|endpoint| endpoint.is_ordered())
    }

    /// Returns what the budget of the evaluator was spent on, apart from that of the run.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.budgets.last().map(Budget::spent).unwrap_or_default()
    }

    /// Creates a request with the parameters of the settings. `location` is named in errors, e.g. `conversation c1`.
    #[must_use]
    pub fn request(&self, messages: Vec<Message>, metric: &str, location: &str) -> Request {
        Request {
            params: self.settings.params.clone(),
            metric: Some(metric.to_owned()),
            location: format!("{}, {location}", self.evaluator),
            ..Request::new(messages)
        }
    }

    /// Asks the model of this index, and blocks until there is an answer. `time_limit` limits the time in requests.
    ///
    /// # Errors
    ///
    /// There is no answer, the model refused to give one, or the answer was withheld.
    pub fn ask(
        &self,
        model: usize,
        request: &Request,
        time_limit: Option<Duration>,
    ) -> Result<Answer, ModelError> {
        self.with_call(model, request, time_limit, |call| Some(self.door.broker.ask(call)))
            .unwrap_or_else(|| Err(no_model(model)))
    }

    /// Returns the answer if it is known without asking a server.
    pub(crate) fn recorded(
        &self,
        model: usize,
        request: &Request,
    ) -> Option<Result<Answer, ModelError>> {
        self.with_call(model, request, None, |call| self.door.broker.recorded(call))
    }

    /// Makes a call, and counts its result.
    fn with_call(
        &self,
        model: usize,
        request: &Request,
        time_limit: Option<Duration>,
        call: impl FnOnce(&Call<'_>) -> Option<Result<Answer, ModelError>>,
    ) -> Option<Result<Answer, ModelError>> {
        let (endpoint, _) = self.endpoints.get(model)?;
        let mut result = call(&Call {
            budgets: &self.budgets,
            time_limit,
            limits: Some(&self.limits),
            drop_params: self.settings.drop_params.unwrap_or_default(),
            cassette: self.cassette.as_deref(),
            ..Call::new(&**endpoint, request)
        })?;
        match &mut result {
            // What is reported and what is recorded are the same.
            Ok(answer) => self.redact(&mut answer.reply),
            Err(error) => error.message = self.redactor.redact(&error.message),
        }
        if let Ok(answer) = &mut result {
            let price = self.prices.get(endpoint.provider(), endpoint.model());
            let usage = answer.reply.usage.as_ref();
            answer.cost = price.zip(usage).and_then(|(price, usage)| price.cost(usage));
        }
        self.door.count(&**endpoint, &result);
        Some(result)
    }

    /// Removes secrets that a model repeats, because the agent did.
    fn redact(&self, reply: &mut Reply) {
        reply.text = self.redactor.redact(&reply.text);
        for text in [&mut reply.thinking, &mut reply.refusal].into_iter().flatten() {
            *text = self.redactor.redact(text);
        }
    }
}

fn no_model(index: usize) -> ModelError {
    let text = format!("the connection has no model number {index}");
    ModelError::new(evaluator_models::ErrorKind::Config, text)
}
