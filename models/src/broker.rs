//! The broker: every call to a model goes through it.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex},
    time::Duration,
};

use rust_decimal::Decimal;

use crate::{
    Budget, Cancel, Cassette, Clock, Concurrency, Endpoint, ErrorKind, Mode, ModelError, Prices,
    Reply, Request, SystemClock,
    budget::Reservation,
    cassette::{Claim, Identity, Recorded},
    clock::lock,
    error::Retry,
    parameters::{Parameters, Refusals},
    queue::{Queue, too_long},
};

/// Limits of the repetitions of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Maximum number of requests of a call.
    pub attempts: u32,
    /// Longest wait between two requests. A server that asks for more ends the call.
    pub max_wait: Duration,
    /// Longest time from the first request of a call to the beginning of its last.
    pub total: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 6, max_wait: Duration::from_secs(60), total: Duration::from_secs(300) }
    }
}

/// Limits of the calls of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time for one request.
    pub timeout: Duration,
    /// Repetitions.
    pub retries: Retries,
    /// Number and rate of requests to one server.
    pub concurrency: Concurrency,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            retries: Retries::default(),
            concurrency: Concurrency::default(),
        }
    }
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Model.
    pub endpoint: &'a dyn Endpoint,
    /// Request.
    pub request: &'a Request,
    /// Budgets that count the call: of the run, of the evaluator, of the program.
    pub budgets: &'a [Budget],
    /// Limit of the time in requests, without the time in queues.
    pub time_limit: Option<Duration>,
    /// Time for one request, and repetitions, instead of those of the broker. The limits of queues are those of
    /// [`Broker::limit`].
    pub limits: Option<&'a Limits>,
    /// Whether a request is sent again without a parameter that the server refuses by name. A limit of tokens is always sent.
    pub drop_params: bool,
    /// Cassette instead of that of the broker.
    pub cassette: Option<&'a Cassette>,
    /// Prices for the cost of the answer.
    pub prices: Option<&'a Prices>,
}

impl<'a> Call<'a> {
    /// Creates a call without budgets and without a limit of time, with all parameters.
    pub fn new(endpoint: &'a dyn Endpoint, request: &'a Request) -> Self {
        Self {
            endpoint,
            request,
            budgets: &[],
            time_limit: None,
            limits: None,
            drop_params: false,
            cassette: None,
            prices: None,
        }
    }
}

/// Answer of a model, or of a cassette.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Reply. It may be unreadable: see [`Reply::readable`].
    pub reply: Reply,
    /// Key of the request in the cassette; `None` without a cassette.
    pub key: Option<String>,
    /// Whether the reply was in the cassette before the run.
    pub is_replayed: bool,
    /// Requests that were sent.
    pub attempts: u32,
    /// Time in requests.
    pub duration: Duration,
    /// Time in queues and between requests.
    pub waited: Duration,
    /// Cost, if the model has a price. A replayed reply has the cost that it had.
    pub cost: Option<Decimal>,
    /// Parameters that were left out because the server refused them, under the names in its API.
    pub dropped_params: Vec<String>,
    /// Warnings, e.g. that another model answered.
    pub warnings: Vec<String>,
}

/// Sends calls: looks them up in a cassette, waits for a place in the queue of the server, repeats what may pass, counts what is
/// spent. It is shared by all threads of a run; each call blocks its thread.
#[derive(Debug)]
pub struct Broker {
    limits: Limits,
    clock: Arc<dyn Clock>,
    cancel: Cancel,
    cassette: Option<Cassette>,
    queues: Mutex<HashMap<String, Arc<Queue>>>,
    refusals: Refusals,
}

/// State of a call over its requests.
#[derive(Debug, Default)]
struct Progress {
    /// Requests that were sent.
    sent: u32,
    /// Requests with the present parameters.
    attempts: u32,
    duration: Duration,
    started: Duration,
    first_sent: Option<Duration>,
}

impl From<Recorded> for Answer {
    fn from(Recorded { reply, is_fresh }: Recorded) -> Self {
        // A reply that an equal call of the same run asked for was not there before the run.
        Self { reply, is_replayed: !is_fresh, ..Self::default() }
    }
}

impl Broker {
    /// Creates a broker without a cassette.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            clock: Arc::new(SystemClock::default()),
            cancel: Cancel::default(),
            cassette: None,
            queues: Mutex::default(),
            refusals: Refusals::default(),
        }
    }

    /// Uses another clock.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Uses a cassette.
    #[must_use]
    pub fn with_cassette(self, cassette: Cassette) -> Self {
        Self { cassette: Some(cassette), ..self }
    }

    /// Ends the calls of a run when it is cancelled.
    #[must_use]
    pub fn cancelled_by(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    /// Cassette, to save it at the end of a run.
    pub fn cassette(&self) -> Option<&Cassette> {
        self.cassette.as_ref()
    }

    /// Asks a model. An equal call (same request, same sample) of a run with a cassette is asked once.
    ///
    /// # Errors
    ///
    /// There is no answer, the model refused to give one, or the answer was withheld. Unreadable replies are answers.
    pub fn ask(&self, call: &Call<'_>) -> Result<Answer, ModelError> {
        let endpoint = call.endpoint;
        let (provider, model) = (endpoint.provider(), endpoint.model());
        self.answer(call).map_err(|error| {
            // What a program wrote has no key of the configuration.
            let is_forwarded = call.request.forwarded.is_some();
            if is_forwarded { error } else { error.with_hint() }.of_model(provider, model)
        })
    }

    /// Returns the answer if it is known without sending anything and without waiting: it is recorded, or it must not be asked
    /// for. `None` if [`ask`](Self::ask) would ask a server or wait for an equal call.
    pub fn recorded(&self, call: &Call<'_>) -> Option<Result<Answer, ModelError>> {
        let endpoint = call.endpoint;
        let (provider, model) = (endpoint.provider(), endpoint.model());
        let cassette = self.cassette_of(call)?;
        let answer = || {
            let params = self.parameters(call)?;
            let identity = Identity::new(provider, model, &params, call.request);
            match cassette.look_up(&identity)? {
                Some(recorded) => self.complete(recorded.into(), call, Some(&identity)).map(Some),
                None => Ok(None),
            }
        };
        let result = answer().map_err(|error: ModelError| error.of_model(provider, model));
        result.transpose()
    }

    /// Limits the queue of a server and key. Endpoints that share a queue share the smallest of their limits.
    pub fn limit(&self, endpoint: &dyn Endpoint, concurrency: &Concurrency) {
        match lock(&self.queues).entry(endpoint.queue()) {
            Entry::Occupied(queue) => queue.get().tighten(concurrency),
            Entry::Vacant(vacant) => {
                vacant.insert(Arc::new(Queue::new(concurrency.clone())));
            }
        }
    }

    /// Returns the cassette of a call, if it is used.
    fn cassette_of<'c>(&'c self, call: &Call<'c>) -> Option<&'c Cassette> {
        call.cassette.or(self.cassette.as_ref()).filter(|cassette| cassette.mode() != Mode::Off)
    }

    /// Returns the parameters of a call, without those that its server is known to refuse.
    fn parameters(&self, call: &Call<'_>) -> Result<Parameters, ModelError> {
        if let Some(forwarded) = &call.request.forwarded {
            return Ok(Parameters::new(forwarded.body.clone()));
        }
        let mut params = Parameters::new(call.endpoint.parameters(&call.request.params)?);
        if call.drop_params {
            let known = self.refusals.of(call.endpoint, params.asked());
            let recorded =
                || self.cassette_of(call)?.dropped_params(call.endpoint, call.request, &params);
            let names = known.or_else(recorded).unwrap_or_default();
            names.iter().for_each(|name| params.drop(name));
        }
        Ok(params)
    }

    fn answer(&self, call: &Call<'_>) -> Result<Answer, ModelError> {
        let mut params = self.parameters(call)?;
        let mut progress = Progress { started: self.clock.now(), ..Progress::default() };
        loop {
            let result = self.answer_to(call, &params, &mut progress);
            let Err(error) = &result else { return result };
            // What a program wrote is sent as it is, or not at all.
            let may_drop = call.drop_params && call.request.forwarded.is_none();
            let Some(name) = error.refused_parameter(params.sent()).filter(|_| may_drop) else {
                return result;
            };
            params.drop(&name);
            self.refusals.add(call.endpoint, &params);
            progress.attempts = 0;
        }
    }

    /// Returns the answer to a request with these parameters.
    fn answer_to(
        &self,
        call: &Call<'_>,
        params: &Parameters,
        progress: &mut Progress,
    ) -> Result<Answer, ModelError> {
        let endpoint = call.endpoint;
        let Some(cassette) = self.cassette_of(call) else {
            let (answer, settled) = self.ask_server(call, params, progress)?;
            settled?;
            let dropped_params = params.dropped().to_vec();
            return self.complete(Answer { dropped_params, ..answer }, call, None);
        };
        let identity = Identity::new(endpoint.provider(), endpoint.model(), params, call.request);
        let answer = match cassette.claim(&identity, &self.cancel)? {
            Claim::Recorded(recorded) => {
                let (attempts, duration) = (progress.sent, progress.duration);
                Answer { attempts, duration, ..recorded.into() }
            }
            Claim::Ask(recording) => {
                let (answer, settled) = self.ask_server(call, params, progress)?;
                recording.store(&identity, &answer.reply);
                settled?;
                answer
            }
        };
        self.complete(answer, call, Some(&identity))
    }

    /// Adds cost, warnings and key to an answer.
    ///
    /// # Errors
    ///
    /// The model refused to answer, or the server withheld the answer.
    fn complete(
        &self,
        mut answer: Answer,
        call: &Call<'_>,
        identity: Option<&Identity<'_>>,
    ) -> Result<Answer, ModelError> {
        let (provider, model) = (call.endpoint.provider(), call.endpoint.model());
        let usage = answer.reply.usage.as_ref();
        let price = call.prices.and_then(|prices| prices.get(provider, model));
        answer.cost = price.zip(usage).and_then(|(price, usage)| price.cost(usage));
        if let Some((kind, message)) = answer.reply.refused() {
            return Err(ModelError { attempts: answer.attempts, ..ModelError::new(kind, message) });
        }
        if let Some(reported) = &answer.reply.model_reported
            && !reported.trim_start_matches("models/").starts_with(model)
            && provider != "replay"
        {
            answer.warnings.push(format!("`{model}` was answered by `{reported}`"));
        }
        if let Some(identity) = identity {
            answer.key = Some(identity.key.clone());
            answer.dropped_params = identity.params.dropped().to_vec();
        }
        Ok(answer)
    }

    /// Asks the server until there is an answer. The inner result is an error if a budget cannot count the answer.
    fn ask_server(
        &self,
        call: &Call<'_>,
        params: &Parameters,
        progress: &mut Progress,
    ) -> Result<(Answer, Result<(), ModelError>), ModelError> {
        let queue = self.queue(call.endpoint);
        loop {
            match self.attempt(call, params, &queue, progress) {
                Ok((reply, settled)) => {
                    let passed = self.clock.now().saturating_sub(progress.started);
                    let answer = Answer {
                        reply,
                        attempts: progress.sent,
                        duration: progress.duration,
                        waited: passed.saturating_sub(progress.duration),
                        ..Answer::default()
                    };
                    return Ok((answer, settled));
                }
                Err(error) => {
                    let error = ModelError { attempts: progress.sent, ..error };
                    let first_wait = call.endpoint.first_wait();
                    self.pause(error, progress, &self.limits(call).retries, first_wait)?;
                }
            }
        }
    }

    /// Sends one request.
    fn attempt(
        &self,
        call: &Call<'_>,
        params: &Parameters,
        queue: &Queue,
        progress: &mut Progress,
    ) -> Result<(Reply, Result<(), ModelError>), ModelError> {
        let left = call.time_limit.map(|limit| limit.saturating_sub(progress.duration));
        if left.is_some_and(|left| left.is_zero()) {
            let limit = call.time_limit.unwrap_or_default().as_secs_f64();
            let text =
                format!("the calls of the evaluation took longer than its limit of {limit} s");
            return Err(ModelError::new(ErrorKind::DeadlineExceeded, text));
        }
        let endpoint = call.endpoint;
        let max_wait = self.limits(call).retries.max_wait;
        let permit = queue.acquire(&*self.clock, &self.cancel, max_wait)?;
        let reservation = Reservation::new(call.budgets, endpoint.provider(), endpoint.model())?;
        let sent = self.clock.now();
        progress.first_sent.get_or_insert(sent);
        progress.attempts = progress.attempts.saturating_add(1);
        progress.sent = progress.sent.saturating_add(1);
        let limit = self.limits(call).timeout.min(left.unwrap_or(Duration::MAX));
        let result = endpoint.send(call.request, params.sent(), limit);
        let took = self.clock.now().saturating_sub(sent);
        progress.duration = progress.duration.saturating_add(took);
        match result {
            Ok(reply) => {
                let settled = reservation.settle(reply.usage.as_ref());
                let tokens = reply.usage.map(|usage| usage.total()).unwrap_or_default();
                permit.succeeded(&*self.clock, tokens);
                Ok((reply, settled))
            }
            Err(error) => {
                // Before the place is free for another call.
                if matches!(error.status, Some(429 | 529)) {
                    permit.overloaded();
                }
                if let Some(wait) = error.retry_after.filter(|_| error.retry() != Retry::Never) {
                    queue.hold(&*self.clock, wait);
                }
                if error.kind.stops_queue() {
                    queue.stop(&error);
                }
                Err(error)
            }
        }
    }

    /// Waits before the next request of a call, or returns the error if there is none.
    fn pause(
        &self,
        error: ModelError,
        progress: &Progress,
        retries: &Retries,
        first_wait: Duration,
    ) -> Result<(), ModelError> {
        let attempts = match error.retry() {
            Retry::Never => 0,
            Retry::Once => 2.min(retries.attempts),
            Retry::Backoff => retries.attempts,
        };
        if progress.attempts >= attempts {
            return Err(match progress.attempts {
                0 | 1 => error,
                n => {
                    let message = format!("{} (after {n} requests)", error.message);
                    ModelError { message, ..error }
                }
            });
        }
        let asked = error.retry_after.unwrap_or_default();
        if asked > retries.max_wait {
            let late = too_long(asked, &error.message);
            return Err(ModelError { status: error.status, attempts: error.attempts, ..late });
        }
        let doublings = progress.attempts.saturating_sub(1).min(16);
        let ceiling = first_wait.saturating_mul(1 << doublings).min(retries.max_wait);
        let jittered = ceiling.as_secs_f64() * self.clock.jitter();
        let backoff = Duration::try_from_secs_f64(jittered).unwrap_or(ceiling);
        let wait = error.retry_after.unwrap_or(backoff);
        let started = progress.first_sent.unwrap_or(progress.started);
        let passed = self.clock.now().saturating_sub(started);
        if passed.saturating_add(wait) > retries.total {
            let text = format!("gave up after {} s: {}", passed.as_secs(), error.message);
            return Err(ModelError { message: text, is_final: true, ..error });
        }
        // The server's own wait holds the whole queue, this call included.
        if error.retry_after.is_none() {
            self.clock.wait(wait, &self.cancel);
        }
        Ok(())
    }

    fn limits<'l>(&'l self, call: &Call<'l>) -> &'l Limits {
        call.limits.unwrap_or(&self.limits)
    }

    fn queue(&self, endpoint: &dyn Endpoint) -> Arc<Queue> {
        let mut queues = lock(&self.queues);
        let new = || Arc::new(Queue::new(self.limits.concurrency.clone()));
        queues.entry(endpoint.queue()).or_insert_with(new).clone()
    }
}
