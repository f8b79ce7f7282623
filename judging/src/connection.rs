//! The connection of an evaluator with its models.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use evaluator_models::{
    Answer, Budget, Call, Cassette, Endpoint, Finish, Limits, Message, Mode, ModelError, Prices,
    ProgramIdentity, Redactor, Reply, Request, Spent,
};
use serde_json::{Value, json};
use tokio::sync::MutexGuard;

use crate::{
    settings::JudgeSettings,
    shared::{Gate, Shared},
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
    pub(crate) shared: Arc<Shared>,
}

impl Connection {
    /// Settings: those of the entry over those of the run.
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

    /// Waits until it is the turn of an evaluation, if calls must not overtake each other. Its turn ends with the result.
    pub(crate) async fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        if self.is_ordered() { Some(self.shared.turn.lock().await) } else { None }
    }

    /// Returns what decides about the answers, for keys of saved results: the settings, and the servers, programs or recordings
    /// that answer. To be called before anything is asked.
    ///
    /// # Errors
    ///
    /// The reason why saved results cannot be used: changes of what answers would not be noticed.
    pub fn identity(&self) -> Result<Identity, String> {
        let mode = self.cassette.as_ref().map_or(Mode::Off, |cassette| cassette.mode());
        let (mut programs, mut servers) = (BTreeMap::new(), Vec::new());
        // In a replay, nothing else answers.
        for endpoint in self.models().filter(|_| mode != Mode::Replay) {
            let unnoticed = |what| format!("{what} would not be noticed");
            let identity = endpoint.identity().map_err(unnoticed)?;
            match endpoint.environment() {
                Some(environment) => {
                    let name = format!("{}:{}", endpoint.provider(), endpoint.model());
                    programs.insert(name, ProgramIdentity { code: identity, environment });
                }
                None => servers.push(identity),
            }
        }
        let recorded = self.cassette.as_ref().map(|cassette| cassette.identity());
        Ok(Identity {
            settings: self.settings.identity(),
            answered_by: json!({"mode": format!("{mode:?}"), "servers": servers}),
            programs,
            recorded: recorded.into_iter().collect(),
        })
    }

    /// Returns what the budget of the evaluator was spent on, apart from that of the run.
    pub fn spent(&self) -> Spent {
        self.budgets.last().map(Budget::spent).unwrap_or_default()
    }

    /// Creates a request with the parameters of the settings. `location` is named in errors, e.g. `conversation c1`.
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
        self.with_call(model, request, time_limit, |call| Some(self.shared.broker.ask(call)))
            .unwrap_or_else(|| Err(no_model(model)))
    }

    /// Returns the answer if it is known without asking a server.
    pub(crate) fn recorded(
        &self,
        model: usize,
        request: &Request,
    ) -> Option<Result<Answer, ModelError>> {
        self.with_call(model, request, None, |call| self.shared.broker.recorded(call))
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
            prices: Some(&self.prices),
            ..Call::new(&**endpoint, request)
        })?;
        match &mut result {
            // What is reported and what is recorded are the same.
            Ok(answer) => self.redact(&mut answer.reply),
            Err(error) => error.message = self.redactor.redact(&error.message),
        }
        self.shared.count(&**endpoint, &result);
        Some(result)
    }

    /// Removes secrets that a model repeats, because the agent did.
    fn redact(&self, reply: &mut Reply) {
        let Reply { text, thinking, finish, refusal, usage: _, model_reported, body } = reply;
        if let Some(body) = body {
            self.redactor.redact_json(body);
        }
        let finish = match finish {
            Finish::Other(text) => Some(text),
            _ => None,
        };
        let texts = [thinking.as_mut(), finish, refusal.as_mut(), model_reported.as_mut()];
        for text in texts.into_iter().flatten().chain([text]) {
            *text = self.redactor.redact(text);
        }
    }
}

/// What decides about the answers of models.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Settings.
    pub settings: Value,
    /// What answers: base URLs, contents of files, or a recording.
    pub answered_by: Value,
    /// Programs that answer, by their names.
    pub programs: BTreeMap<String, ProgramIdentity>,
    /// Digest of the records of each cassette when the run starts, or the reason why no record is used.
    pub recorded: Vec<Result<String, String>>,
}

fn no_model(index: usize) -> ModelError {
    let text = format!("the connection has no model number {index}");
    ModelError::new(evaluator_models::ErrorKind::Config, text)
}
