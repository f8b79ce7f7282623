//! Requests and responses.

use std::{
    convert::Infallible,
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
};
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq as _;
use tokio::{select, sync::watch, task::spawn_blocking, time::timeout};

use super::{
    access::{Account, Made, Offer, Reserved, UsedUp},
    json::Unique,
};
use crate::{Answer, ErrorKind, Message, ModelError, clock::lock};

/// Maximum size of the body of a request in bytes.
const BODY: usize = 8 << 20;

/// Bytes of a body that are read at most, so that the client sees the response instead of a broken connection.
const DRAINED: usize = 4 * BODY;

/// Time limit for the body of a request.
const BODY_LIMIT: Duration = Duration::from_secs(30);

/// Evaluation whose requests a listener serves.
#[derive(Debug)]
pub(super) struct Evaluation {
    pub(super) offer: Arc<Offer>,
    pub(super) token: String,
    pub(super) account: Arc<Account>,
    /// Its sender is dropped when the evaluation ends.
    pub(super) open: watch::Receiver<()>,
}

/// All evaluations that a listener serves.
#[derive(Debug, Default)]
pub(super) struct Evaluations(Mutex<Vec<Arc<Evaluation>>>);

impl Evaluations {
    pub(super) fn add(&self, evaluation: Arc<Evaluation>) {
        lock(&self.0).push(evaluation);
    }

    pub(super) fn remove(&self, token: &str) {
        lock(&self.0).retain(|evaluation| evaluation.token != token);
    }

    /// Returns the evaluation of a token, if it has not ended.
    fn admit(&self, authorization: Option<&HeaderValue>) -> Result<Arc<Evaluation>, Fault> {
        let sent = authorization.map_or(&b""[..], |value| value.as_bytes());
        let registered = lock(&self.0);
        let evaluation = registered.iter().find(|evaluation| evaluation.is_opened_by(sent));
        let evaluation =
            evaluation.ok_or_else(|| Fault::new(StatusCode::UNAUTHORIZED, "Unauthorized"))?;
        if evaluation.account.is_closed() {
            Err(Fault::closed())
        } else {
            Ok(Arc::clone(evaluation))
        }
    }
}

/// A request that is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    status: StatusCode,
    message: String,
}

impl Fault {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    fn closed() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Proxy is shutting down")
    }
}

/// Answers a request.
pub(super) async fn answer(
    registered: Arc<Evaluations>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() == Method::OPTIONS {
        return Ok(response(StatusCode::NO_CONTENT, None));
    }
    let (head, body) = request.into_parts();
    let admitted = registered.admit(head.headers.get(header::AUTHORIZATION));
    let path = head.uri.path_and_query().map_or("", |path| path.as_str());
    let answered = match admitted {
        Err(fault) => refuse(body, fault).await,
        Ok(evaluation) => select! {
            answered = evaluation.answer(&head.method, path, body) => answered,
            () = evaluation.closed() => Err(Fault::closed()),
        },
    };
    Ok(match answered {
        Ok(value) => response(StatusCode::OK, Some(&value)),
        Err(Fault { status, message }) => response(status, Some(&json!({ "error": message }))),
    })
}

fn response(status: StatusCode, body: Option<&Value>) -> Response<Full<Bytes>> {
    let text = body.map(Value::to_string).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let mut set = |name, value| drop(headers.insert(name, HeaderValue::from_static(value)));
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    set(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS");
    set(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, Authorization");
    if body.is_some() {
        set(header::CONTENT_TYPE, "application/json");
    }
    response
}

/// Reads the body, which is not needed, and returns the fault.
async fn refuse(body: Incoming, fault: Fault) -> Result<Value, Fault> {
    // A body that cannot be read changes nothing.
    let _ = receive(body).await;
    Err(fault)
}

/// Reads a body.
async fn receive(body: Incoming) -> Result<Vec<u8>, Fault> {
    let late = format!("the body did not arrive within {} s", BODY_LIMIT.as_secs());
    timeout(BODY_LIMIT, read(body))
        .await
        .unwrap_or(Err(Fault::new(StatusCode::REQUEST_TIMEOUT, late)))
}

async fn read(mut body: Incoming) -> Result<Vec<u8>, Fault> {
    let (mut bytes, mut length) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Fault::bad(format!("the body cannot be read: {error}")))?;
        let Some(data) = frame.data_ref() else { continue };
        length = length.saturating_add(data.len());
        if length <= BODY {
            bytes.extend_from_slice(data);
        } else if length > DRAINED {
            break;
        } else {
            bytes = Vec::new();
        }
    }
    if length > BODY {
        let message = format!("the body is larger than {BODY} bytes");
        return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    Ok(bytes)
}

/// Reads a body as JSON without repeated keys.
async fn receive_json(body: Incoming) -> Result<Value, Fault> {
    let bytes = receive(body).await?;
    match serde_json::from_slice(&bytes) {
        Ok(Unique(value)) => Ok(value),
        Err(error) if error.is_data() => Err(Fault::bad(error.to_string())),
        Err(error) => Err(Fault::bad(format!("the body is not JSON: {error}"))),
    }
}

/// A question to one of the offered models.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    /// Position of the model.
    model: usize,
    system: Option<String>,
    text: String,
}

impl Question {
    /// Reads a question. Keys that are `null` count as absent.
    fn read(request: &Value, offer: &Offer) -> Result<Self, Fault> {
        let text = request.get("question").and_then(Value::as_str).unwrap_or_default().trim();
        if text.is_empty() {
            return Err(Fault::bad("Missing required field: question"));
        }
        let string = |key: &str| match request.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(Fault::bad(format!("`{key}` must be a string"))),
        };
        let system = string("systemPrompt")?.map(str::to_owned);
        // A model is a target in one generation and a provider in the other.
        let (kind, name) = match (string("target")?, string("provider")?) {
            (Some(target), Some(provider)) if target != provider => {
                return Err(Fault::bad("`target` and `provider` name different models"));
            }
            (None, provider @ Some(_)) => ("provider", provider),
            (target, _) => ("target", target),
        };
        let model = offer.find(name).ok_or_else(|| {
            let (name, known) = (name.unwrap_or_default(), offer.names().join(", "));
            Fault::bad(format!("Unknown {kind} '{name}'. Available: {known}"))
        })?;
        Ok(Self { model, system, text: text.to_owned() })
    }
}

impl Evaluation {
    /// Returns true for the token of this evaluation. Its duration does not depend on the token.
    fn is_opened_by(&self, authorization: &[u8]) -> bool {
        authorization.ct_eq(format!("Bearer {}", self.token).as_bytes()).into()
    }

    /// Returns when the evaluation has ended.
    async fn closed(&self) {
        // Nothing is ever sent: it ends with the sender.
        while self.open.clone().changed().await.is_ok() {}
    }

    async fn answer(&self, method: &Method, path: &str, body: Incoming) -> Result<Value, Fault> {
        match (method, path) {
            (&Method::GET, "/info") => Ok(self.info()),
            (&Method::POST, "/invoke") => self.counting(self.invoke(body)).await,
            (&Method::POST, "/invokeBatch") => self.counting(self.invoke_batch(body)).await,
            _ => refuse(body, Fault::new(StatusCode::NOT_FOUND, "Not found")).await,
        }
    }

    fn info(&self) -> Value {
        let (names, default) = (self.offer.names(), self.offer.names().first().copied());
        json!({
            "targetName": default,
            "providerLabel": default,
            "maxCalls": self.offer.max_calls,
            "callCount": self.account.calls(),
            "availableTargets": names,
            "availableProviderLabels": names,
        })
    }

    /// Counts a request that is not accepted. Failed calls are counted where they are made.
    async fn counting(
        &self,
        answer: impl Future<Output = Result<Value, (Fault, bool)>>,
    ) -> Result<Value, Fault> {
        answer.await.map_err(|(fault, is_call)| {
            if !is_call {
                self.account.refuse(&fault.message);
            }
            fault
        })
    }

    fn used_up(&self) -> Fault {
        let message = format!("Max calls exceeded (limit: {})", self.offer.max_calls);
        Fault::new(StatusCode::TOO_MANY_REQUESTS, message)
    }

    /// Answers one question. The second part of an error is true if it is that of a call.
    async fn invoke(&self, body: Incoming) -> Result<Value, (Fault, bool)> {
        let refused = |fault| (fault, false);
        if self.account.check().is_err() {
            return refuse(body, self.used_up()).await.map_err(refused);
        }
        let request = receive_json(body).await.map_err(refused)?;
        let question = Question::read(&request, &self.offer).map_err(refused)?;
        let mut reserved = self.account.reserve(1).map_err(|_| self.used_up()).map_err(refused)?;
        self.ask(&mut reserved, question).await.map_err(|fault| (fault, true))
    }

    /// Answers a list of questions, one after the other.
    async fn invoke_batch(&self, body: Incoming) -> Result<Value, (Fault, bool)> {
        let refused = |fault| (fault, false);
        let request = receive_json(body).await.map_err(refused)?;
        let Some(requests) = request.get("requests").and_then(Value::as_array) else {
            return Err(refused(Fault::bad("Missing required field: requests (array)")));
        };
        let count = requests.len();
        let mut reserved = self.account.reserve(count as u64).map_err(|UsedUp { current }| {
            let limit = self.offer.max_calls;
            let message = format!(
                "Batch would exceed max calls (current: {current}, batch: {count}, limit: {limit})"
            );
            refused(Fault::new(StatusCode::TOO_MANY_REQUESTS, message))
        })?;
        let mut responses = Vec::with_capacity(count);
        for request in requests {
            let answered = match Question::read(request, &self.offer) {
                Ok(question) => self.ask(&mut reserved, question).await,
                Err(fault) => {
                    reserved.give_back(1);
                    self.account.refuse(&fault.message);
                    Err(fault)
                }
            };
            responses.push(answered.unwrap_or_else(|fault| {
                let text = format!("Error: {}", fault.message);
                json!({"output": [], "outputMessages": [], "rawText": text})
            }));
        }
        Ok(json!({ "responses": responses }))
    }

    /// Asks a model, which uses a reserved call.
    async fn ask(&self, reserved: &mut Reserved<'_>, question: Question) -> Result<Value, Fault> {
        let made = Arc::new(reserved.use_one());
        let (offer, account) = (Arc::clone(&self.offer), Arc::clone(&self.account));
        let (limit, asked) = (offer.call_limit, Arc::clone(&made));
        // The end of a call counts even if the client does not wait for it.
        let call = spawn_blocking(move || call(&offer, &account, &asked, question));
        let fault = match timeout(limit, call).await {
            Ok(Ok(result)) => return result,
            Ok(Err(error)) => Fault::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
            Err(_) => {
                let message = format!("the model did not answer within {} s", limit.as_secs_f64());
                Fault::new(StatusCode::GATEWAY_TIMEOUT, message)
            }
        };
        self.account.give_up(&made, &fault.message);
        Err(fault)
    }
}

/// Makes a call, and counts its end.
fn call(offer: &Offer, account: &Account, made: &Made, question: Question) -> Result<Value, Fault> {
    let Question { model, system, text } = question;
    let model_asked = &offer.models[model].1;
    let sample = account.sample(model, system.as_deref().unwrap_or_default(), &text);
    let system = system.map(Message::system);
    let mut request =
        crate::Request::new(system.into_iter().chain([Message::user(text)]).collect());
    request.sample = sample;
    request.metric = Some(offer.evaluator.clone());
    request.location = format!("{}, a call through the target proxy", offer.evaluator);
    let result = model_asked.ask(request, offer.call_limit);
    let answered = match &result {
        Ok(answer) => answer.reply.readable().map(|text| reply(text, answer)).map_err(|why| {
            let message =
                format!("model `{}`: the reply is unreadable: {why}", model_asked.label());
            Fault::new(StatusCode::INTERNAL_SERVER_ERROR, message)
        }),
        Err(error) => Err(failed(error)),
    };
    let error = answered.as_ref().err().map(|fault| fault.message.as_str());
    account.finish(made, model_asked.label(), (result.as_ref().ok(), sample), error);
    answered
}

fn failed(error: &ModelError) -> Fault {
    let status = match error.kind {
        // As a limit of calls, which it may be.
        ErrorKind::BudgetExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Fault::new(status, error.to_string())
}

fn reply(text: &str, answer: &Answer) -> Value {
    let messages = json!([{"role": "assistant", "content": text}]);
    let mut reply = json!({"output": messages, "outputMessages": messages, "rawText": text});
    if let Some(usage) = answer.reply.usage {
        let mut tokens = Map::new();
        tokens.insert("input".to_owned(), usage.input.into());
        tokens.insert("output".to_owned(), usage.output.into());
        if usage.cached > 0 {
            tokens.insert("cached".to_owned(), usage.cached.into());
        }
        reply["tokenUsage"] = Value::Object(tokens);
    }
    reply
}
