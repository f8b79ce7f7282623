//! The client of the proxy, and the messages it exchanges.

use std::{sync::Arc, time::Duration};

use evaluator_protocol::{
    JsonObject, TargetAccess,
    agentv::{Message, TokenUsage},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    error::{TargetError, each_once, excerpt},
    fake::Script,
    http::{self, Call},
    proxy::{NOT_CONFIGURED, Proxy},
};
use crate::{
    context::Context, contract::Contract, extract::FromInput, failure::Rejection, offered,
};

/// Default time limit of a call: somewhat less than the 120 s after which AgentV kills an evaluator.
const TIMEOUT: Duration = Duration::from_secs(100);

/// Default size limit of an answer: more than any transcript, and less than the memory of any machine.
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
    Proxy(Arc<Proxy>),
    Script(Arc<Script>),
}

impl TargetClient {
    /// Returns the client of the proxy that the environment names; `None` where it names none, which is a normal state.
    ///
    /// | host | address | token |
    /// |---|---|---|
    /// | AgentV up to 5.3 | `AGENTV_TARGET_PROXY_URL` | `AGENTV_TARGET_PROXY_TOKEN` |
    /// | AgentV after that | `AGENTV_PROVIDER_PROXY_URL` | `AGENTV_PROVIDER_PROXY_TOKEN` |
    ///
    /// If both are set, the newer ones count. An empty variable counts as not set.
    ///
    /// A host that sends several documents to a process offers a proxy for each of them on the stream. While such a document
    /// is evaluated, its proxy counts, and not the environment.
    ///
    /// # Errors
    ///
    /// [`TargetError::Settings`]: there is an address without a token, or one of them cannot be used, as in
    /// [`TargetClient::new`].
    pub fn from_env() -> Result<Option<Self>, TargetError> {
        if let Some(TargetAccess { url, token, .. }) = offered::current() {
            let proxy =
                Proxy::new(("target of the document", &url), ("token of the document", &token))?;
            return Ok(Some(Self::of_proxy(proxy)));
        }
        Ok(Proxy::from_variables(|name| std::env::var_os(name))?.map(Self::of_proxy))
    }

    /// Returns the client of a proxy.
    ///
    /// # Errors
    ///
    /// [`TargetError::Settings`]: the address is not of the form `http://HOST:PORT` with a host that is this machine
    /// (`127.0.0.1` and its like, `[::1]`, `localhost`), or the token cannot be one.
    pub fn new(url: &str, token: &str) -> Result<Self, TargetError> {
        Proxy::new(("url", url), ("token", token)).map(Self::of_proxy)
    }

    fn of_proxy(proxy: Proxy) -> Self {
        Self::of_backend(Backend::Proxy(Arc::new(proxy)))
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

    /// Asks the proxy for its targets and the number of remaining calls. This does not count as a call.
    ///
    /// # Errors
    ///
    /// [`TargetError`].
    pub fn info(&self) -> Result<Info, TargetError> {
        match &self.backend {
            Backend::Proxy(proxy) => Info::read(&self.ask(proxy, "GET", "/info", None, 1)?),
            Backend::Script(script) => script.info(),
        }
    }

    /// Asks the target.
    ///
    /// A reply whose text begins with `Error: ` is an error: newer hosts report failures of the model in this way.
    ///
    /// # Errors
    ///
    /// [`TargetError`].
    pub fn invoke(&self, request: impl Into<Request>) -> Result<Reply, TargetError> {
        let request = request.into();
        match &self.backend {
            Backend::Proxy(proxy) => {
                let body = wire_request(&request);
                Reply::read(decode(&self.ask(proxy, "POST", "/invoke", Some(&body), 1)?)?)
            }
            Backend::Script(script) => script.invoke(request),
        }
    }

    /// Asks the target several questions in one go. The replies come in the order of the requests, each with an error of its own.
    ///
    /// The host runs them one after the other: this saves connections, not time. An empty list is not sent.
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
        let count = requests.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        match &self.backend {
            Backend::Proxy(proxy) => {
                let requests: Vec<Value> = requests.iter().map(wire_request).collect();
                let body = json!({ "requests": requests });
                let answer = self.ask(proxy, "POST", "/invokeBatch", Some(&body), count)?;
                replies(&answer, count)
            }
            Backend::Script(script) => script.invoke_batch(requests),
        }
    }

    /// Sends a request and returns the body of the answer. `calls` is the number of calls to the target that the request
    /// counts as.
    fn ask(
        &self,
        proxy: &Proxy,
        method: &'static str,
        path: &'static str,
        body: Option<&Value>,
        calls: usize,
    ) -> Result<Vec<u8>, TargetError> {
        let times = u32::try_from(calls).unwrap_or(u32::MAX);
        let timeout = self.timeout.saturating_mul(times);
        let body = body.map(Value::to_string);
        let call = Call { method, path, body: body.as_deref(), timeout, max_reply: self.max_reply };
        let response = http::exchange(proxy, call)?;
        match response.status {
            200 => Ok(response.body),
            status => Err(TargetError::of_status(status, message(&response.body))),
        }
    }
}

/// Reads the environment, or what the host sent with the document; the document itself is not used.
#[diagnostic::do_not_recommend]
impl<C: Contract> FromInput<'_, C> for TargetClient {
    fn from_input(context: &Context<C>) -> Result<Self, Rejection> {
        Self::from_input_if_present(context)?.ok_or_else(|| Rejection::new("", NOT_CONFIGURED))
    }

    fn from_input_if_present(_: &Context<C>) -> Result<Option<Self>, Rejection> {
        Self::from_env().map_err(|error| Rejection::new("", error.to_string()))
    }
}

/// The targets of a proxy, and its limit of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The target that answers where a request names none.
    pub target_name: String,
    /// Number of calls that the host allows this evaluator.
    pub max_calls: u64,
    /// Number of calls that were used.
    pub call_count: u64,
    /// Names a request may give, each once.
    pub available_targets: Vec<String>,
}

impl Info {
    /// Returns the number of remaining calls.
    pub fn remaining_calls(&self) -> u64 {
        self.max_calls.saturating_sub(self.call_count)
    }

    fn read(body: &[u8]) -> Result<Self, TargetError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Sent {
            target_name: Option<String>,
            available_targets: Option<Vec<String>>,
            provider_label: Option<String>,
            available_provider_labels: Option<Vec<String>>,
            max_calls: u64,
            call_count: u64,
        }
        let sent: Sent = decode(body)?;
        let Some(target_name) = sent.target_name.or(sent.provider_label) else {
            return Err(TargetError::protocol("an answer without `targetName` or `providerLabel`"));
        };
        let names = sent.available_targets.or(sent.available_provider_labels).unwrap_or_default();
        Ok(Self {
            target_name,
            max_calls: sent.max_calls,
            call_count: sent.call_count,
            available_targets: each_once(names),
        })
    }
}

/// A question for a target.
///
/// If only the text matters, use a `&str` or `String`.
///
/// ```
/// use evaluator_sdk::target::Request;
///
/// let request = Request::new("Is Paris the capital of France?").system_prompt("Answer yes or no.").target("judge");
/// assert_eq!(request.question, "Is Paris the capital of France?");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The text. Not empty: the proxy refuses that.
    pub question: String,
    /// Instructions that go before it.
    pub system_prompt: Option<String>,
    /// The test case it is about, for the host's records.
    pub eval_case_id: Option<String>,
    /// Which try it is, for the host's records.
    pub attempt: Option<u32>,
    /// Name of the target, where it is not the host's choice. See
    /// [`Info::available_targets`](Info::available_targets).
    pub target: Option<String>,
}

impl Request {
    /// Creates a question and nothing else.
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), ..Self::default() }
    }

    /// Sets the instructions that go before it.
    #[must_use]
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// Sets the test case it is about.
    #[must_use]
    pub fn eval_case_id(mut self, id: impl Into<String>) -> Self {
        self.eval_case_id = Some(id.into());
        self
    }

    /// Sets which try it is.
    #[must_use]
    pub fn attempt(mut self, number: u32) -> Self {
        self.attempt = Some(number);
        self
    }

    /// Names the target.
    #[must_use]
    pub fn target(mut self, name: impl Into<String>) -> Self {
        self.target = Some(name.into());
        self
    }
}

impl<T: Into<String>> From<T> for Request {
    fn from(question: T) -> Self {
        Self::new(question)
    }
}

/// Returns a request as all versions read it: a target of one version is a provider of another.
fn wire_request(request: &Request) -> Value {
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    let fields = [
        ("question", Some(Value::from(request.question.as_str()))),
        ("systemPrompt", text(&request.system_prompt)),
        ("evalCaseId", text(&request.eval_case_id)),
        ("attempt", request.attempt.map(Value::from)),
        ("target", text(&request.target)),
        ("provider", text(&request.target)),
    ];
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// The reply of a target.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The last text; `None` without text.
    pub raw_text: Option<String>,
    /// All messages and tool calls, in order.
    pub output: Vec<Message>,
    /// Numbers of tokens; `None` if the host does not report them, as the oldest ones.
    pub token_usage: Option<TokenUsage>,
}

impl Reply {
    /// Creates a reply with this text, for tests.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let message = Message::assistant(text.as_str());
        Self { raw_text: Some(text), output: vec![message], token_usage: None }
    }

    /// Returns the text.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unreadable`]: the reply has no text.
    pub fn text(&self) -> Result<&str, TargetError> {
        self.raw_text.as_deref().ok_or_else(|| self.unreadable("it has no text".to_owned()))
    }

    pub(super) fn unreadable(&self, reason: String) -> TargetError {
        let excerpt = excerpt(self.raw_text.as_deref().unwrap_or_default());
        TargetError::Unreadable { reason, excerpt }
    }

    /// Parses the JSON object in the text: everything from its first `{` to its last `}`, which may be surrounded by a code fence
    /// or other text.
    ///
    /// ```
    /// use evaluator_sdk::target::Reply;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Verdict { relevant: bool }
    ///
    /// let reply = Reply::new("Sure:\n```json\n{\"relevant\": true}\n```");
    /// assert!(reply.json::<Verdict>()?.relevant);
    /// # Ok::<(), evaluator_sdk::target::TargetError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TargetError::Unreadable`]: there is no text, no object in it, or an object of another type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, TargetError> {
        let text = self.text()?;
        let object = match (text.find('{'), text.rfind('}')) {
            (Some(start), Some(end)) if start < end => &text[start..=end],
            _ => return Err(self.unreadable("there is no JSON object".to_owned())),
        };
        serde_json::from_str(object).map_err(|error| self.unreadable(error.to_string()))
    }

    /// Reads one reply, whose text may be an error.
    fn read(value: Value) -> Result<Self, TargetError> {
        let sent: SentReply = object(value).map_err(|error| {
            TargetError::protocol(format!("a reply that cannot be read: {error}"))
        })?;
        let Some(output) = sent.output.or(sent.output_messages) else {
            return Err(TargetError::protocol("a reply without `output`"));
        };
        Self { raw_text: sent.raw_text, output, token_usage: sent.token_usage }.checked()
    }

    /// Returns an error if the text reports one. Failed items of batches, and failed models since AgentV 5, are reported in
    /// this way.
    pub(super) fn checked(self) -> Result<Self, TargetError> {
        match self.raw_text.as_deref().and_then(|text| text.strip_prefix("Error: ")) {
            Some(error) => Err(TargetError::of_reply(error)),
            None => Ok(self),
        }
    }
}

/// Returns the replies to a batch, as many as there were requests.
fn replies(body: &[u8], expected: usize) -> Result<Vec<Result<Reply, TargetError>>, TargetError> {
    #[derive(Deserialize)]
    struct Batch {
        responses: Vec<Value>,
    }
    let Batch { responses } = decode(body)?;
    if responses.len() != expected {
        // Which belongs to which is not known any more.
        let reason = format!("{} replies to a batch of {expected}", responses.len());
        return Err(TargetError::protocol(reason));
    }
    Ok(responses.into_iter().map(Reply::read).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentReply {
    /// The name since AgentV 2.7.
    output: Option<Vec<Message>>,
    /// The name before.
    output_messages: Option<Vec<Message>>,
    raw_text: Option<String>,
    token_usage: Option<TokenUsage>,
}

/// Returns the message of an error response.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Body {
        error: String,
    }
    match serde_json::from_slice(body) {
        Ok(Body { error }) => error,
        Err(_) => excerpt(&String::from_utf8_lossy(body)),
    }
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, TargetError> {
    serde_json::from_slice(body).and_then(object).map_err(|error| {
        let sent = excerpt(&String::from_utf8_lossy(body));
        TargetError::protocol(format!("{error}, in `{sent}`"))
    })
}

/// Returns a type from an object, where serde would take an array, too, field by field.
fn object<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    T::deserialize(Value::Object(JsonObject::deserialize(value)?))
}
