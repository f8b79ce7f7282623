//! The client of the proxy.

use std::{sync::Arc, time::Duration};

use super::{
    body,
    error::TargetError,
    fake::Script,
    http::{self, Call},
    info::Info,
    reply::{self, Reply},
    request::{self, Request},
    settings::Settings,
};

/// How long one call may take: somewhat less than the 120 s after which AgentV ends an evaluator without a word.
const TIMEOUT: Duration = Duration::from_secs(100);

/// The most bytes of an answer: what no transcript has, and any machine can hold.
const MAX_REPLY: usize = 64 * 1024 * 1024;

/// Asks a model through the host's proxy.
///
/// A host that lets evaluators use a model (a *target*, or *provider*) starts a proxy on this machine for each of them, with a
/// token and a limit of calls. The client blocks, uses a connection for each call, never tries twice (the host counts
/// each call that reaches a model), and costs little to clone.
///
/// Evaluators take it as an argument: `Option<TargetClient>` is `None` where the host offers no proxy, and a `TargetClient`
/// is an error there. Tests make one with [`testing::target`](crate::testing::target).
///
/// ```
/// use evaluator_sdk::{EvalInput, Score, evaluator, target::{TargetClient, TargetError}, testing};
///
/// /// Has a model judge whether the last answer is friendly.
/// #[evaluator]
/// fn friendly(input: &EvalInput, target: TargetClient) -> Result<Score, TargetError> {
///     let answer = input.invocations.last().and_then(|turn| turn.final_response.as_deref()).unwrap_or_default();
///     let reply = target.invoke(format!("Is this friendly? Say yes or no.\n\n{answer}"))?;
///     Ok(Score::from(reply.text()?.trim().eq_ignore_ascii_case("yes")))
/// }
///
/// let model = testing::target().answer("Yes");
/// let input = testing::input("friendly").turn("Hi", "Hello, dear!");
/// assert_eq!(friendly(&input, model.client())?, Score::ONE);
/// assert!(model.requests()[0].question.ends_with("Hello, dear!"));
/// # Ok::<(), TargetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TargetClient {
    backend: Backend,
    timeout: Duration,
    max_reply: usize,
}

#[derive(Clone, Debug)]
enum Backend {
    Proxy(Arc<Settings>),
    Script(Arc<Script>),
}

impl TargetClient {
    /// The client of the proxy that the environment names; `None` where it names none, which is a normal state.
    ///
    /// | host | address | token |
    /// |---|---|---|
    /// | AgentV up to 5.3 | `AGENTV_TARGET_PROXY_URL` | `AGENTV_TARGET_PROXY_TOKEN` |
    /// | AgentV after that | `AGENTV_PROVIDER_PROXY_URL` | `AGENTV_PROVIDER_PROXY_TOKEN` |
    ///
    /// With both, the newer ones count. An empty variable is none.
    ///
    /// # Errors
    ///
    /// [`TargetError::Settings`]: there is an address without a token, or one of them cannot be used, as in
    /// [`TargetClient::new`].
    pub fn from_env() -> Result<Option<Self>, TargetError> {
        Ok(Settings::from_variables(|name| std::env::var_os(name))?.map(Self::of_settings))
    }

    /// The client of a proxy.
    ///
    /// # Errors
    ///
    /// [`TargetError::Settings`]: the address is not of the form `http://HOST:PORT` with a host that is this machine
    /// (`127.0.0.1` and its like, `[::1]`, `localhost`), or the token cannot be one.
    pub fn new(url: &str, token: &str) -> Result<Self, TargetError> {
        Settings::new(("url", url), ("token", token)).map(Self::of_settings)
    }

    fn of_settings(settings: Settings) -> Self {
        Self::of_backend(Backend::Proxy(Arc::new(settings)))
    }

    pub(super) fn of_script(script: Arc<Script>) -> Self {
        Self::of_backend(Backend::Script(script))
    }

    fn of_backend(backend: Backend) -> Self {
        Self { backend, timeout: TIMEOUT, max_reply: MAX_REPLY }
    }

    /// Sets how long one call may take, from the connection to the last byte; 100 seconds by default. A batch may take as
    /// often as long as it has requests, since the host runs them one after the other.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the most bytes that are read of an answer; 64 MiB by default.
    #[must_use]
    pub fn max_reply(mut self, bytes: usize) -> Self {
        self.max_reply = bytes;
        self
    }

    /// What the proxy says of itself: targets, and how many calls are left. Is not counted as a call.
    ///
    /// # Errors
    ///
    /// [`TargetError`].
    pub fn info(&self) -> Result<Info, TargetError> {
        match &self.backend {
            Backend::Proxy(settings) => Info::read(&self.ask(settings, "GET", "/info", None, 1)?),
            Backend::Script(script) => script.info(),
        }
    }

    /// Asks the target.
    ///
    /// A reply whose text begins with `Error: ` is an error: newer hosts say so that the model failed.
    ///
    /// # Errors
    ///
    /// [`TargetError`].
    pub fn invoke(&self, request: impl Into<Request>) -> Result<Reply, TargetError> {
        let request = request.into();
        match &self.backend {
            Backend::Proxy(settings) => {
                let body = request::invoke_body(&request)?;
                reply::reply(&self.ask(settings, "POST", "/invoke", Some(&body), 1)?)
            }
            Backend::Script(script) => script.invoke(request),
        }
    }

    /// Asks the target several questions in one go. The replies come in the order of the requests, each with an error of its own.
    ///
    /// The host runs them one after the other: this saves connections, not time. No requests are no call.
    ///
    /// ```
    /// # use evaluator_sdk::{target::TargetError, testing};
    /// let model = testing::target().answer("Paris").fail(TargetError::ProviderFailed { message: "boom".to_owned() });
    /// let replies = model.client().invoke_batch(["Capital of France?", "And of Spain?"])?;
    /// assert_eq!(replies[0].as_ref().unwrap().text()?, "Paris");
    /// assert!(replies[1].is_err());
    /// # Ok::<(), TargetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TargetError`] where none was answered, e.g. since there are fewer calls left than requests.
    pub fn invoke_batch<R: Into<Request>>(
        &self,
        requests: impl IntoIterator<Item = R>,
    ) -> Result<Vec<Result<Reply, TargetError>>, TargetError> {
        let requests: Vec<Request> = requests.into_iter().map(R::into).collect();
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        match &self.backend {
            Backend::Proxy(settings) => {
                let body = request::batch_body(&requests)?;
                let count = requests.len();
                let replies = self.ask(settings, "POST", "/invokeBatch", Some(&body), count)?;
                reply::replies(&replies, count)
            }
            Backend::Script(script) => script.invoke_batch(requests),
        }
    }

    /// The body of a good answer. `calls` is how many calls to the target it stands for.
    fn ask(
        &self,
        settings: &Settings,
        method: &'static str,
        path: &'static str,
        body: Option<&[u8]>,
        calls: usize,
    ) -> Result<Vec<u8>, TargetError> {
        let times = u32::try_from(calls).unwrap_or(u32::MAX);
        let timeout = self.timeout.saturating_mul(times);
        let call = Call { method, path, body, timeout, max_reply: self.max_reply };
        let response = http::exchange(settings, call)?;
        match response.status {
            200 => Ok(response.body),
            status => Err(TargetError::of_status(status, body::message(&response.body))),
        }
    }
}
