//! The protocol of AgentV's target proxy.

use hyper::{Method, StatusCode, body::Incoming};
use serde_json::{Map, Value, json};

use super::{
    access::{Offer, Reserved, UsedUp},
    body::{receive_json, refuse},
    evaluations::Evaluation,
    fault::{Cause, Fault},
};
use crate::{Answer, ErrorKind, Message, Request};

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

/// Answers a request.
pub(super) async fn answer(
    evaluation: &Evaluation,
    (method, path): (&Method, &str),
    body: Incoming,
) -> Result<Value, Fault> {
    match (method, path) {
        (&Method::GET, "/info") => Ok(info(evaluation)),
        (&Method::POST, "/invoke") => counting(evaluation, invoke(evaluation, body)).await,
        (&Method::POST, "/invokeBatch") => {
            counting(evaluation, invoke_batch(evaluation, body)).await
        }
        _ => refuse(body, Fault::new(Cause::NoRoute, "Not found")).await,
    }
}

/// Returns the status of a fault.
pub(super) fn status(fault: &Fault) -> StatusCode {
    match fault.cause {
        Cause::NoToken | Cause::Expired => StatusCode::UNAUTHORIZED,
        Cause::Ended => StatusCode::SERVICE_UNAVAILABLE,
        Cause::NoRoute => StatusCode::NOT_FOUND,
        Cause::Slow => StatusCode::REQUEST_TIMEOUT,
        Cause::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Cause::Bad | Cause::Unsupported | Cause::UnknownModel => StatusCode::BAD_REQUEST,
        // As a limit of calls, which a budget may be.
        Cause::UsedUp | Cause::Model { kind: ErrorKind::BudgetExceeded, .. } => {
            StatusCode::TOO_MANY_REQUESTS
        }
        Cause::Late | Cause::Model { kind: ErrorKind::DeadlineExceeded, .. } => {
            StatusCode::GATEWAY_TIMEOUT
        }
        Cause::Unreadable | Cause::Model { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn info(evaluation: &Evaluation) -> Value {
    let (names, account) = (evaluation.offer.names(), &evaluation.account);
    let default = names.first().copied();
    json!({
        "targetName": default,
        "providerLabel": default,
        "maxCalls": evaluation.offer.max_calls,
        "callCount": account.calls(),
        "availableTargets": names,
        "availableProviderLabels": names,
    })
}

/// Counts a request that is not accepted. Failed calls are counted where they are made.
async fn counting(
    evaluation: &Evaluation,
    answer: impl Future<Output = Result<Value, (Fault, bool)>>,
) -> Result<Value, Fault> {
    answer.await.map_err(|(fault, is_call)| if is_call { fault } else { evaluation.refused(fault) })
}

/// Answers one question. The second part of an error is true if it is that of a call.
async fn invoke(evaluation: &Evaluation, body: Incoming) -> Result<Value, (Fault, bool)> {
    let refused = |fault| (fault, false);
    if evaluation.account.check().is_err() {
        return refuse(body, evaluation.used_up()).await.map_err(refused);
    }
    let request = receive_json(body).await.map_err(refused)?;
    let question = Question::read(&request, &evaluation.offer).map_err(refused)?;
    let reserved = evaluation.account.reserve(1);
    let mut reserved = reserved.map_err(|_| refused(evaluation.used_up()))?;
    ask(evaluation, &mut reserved, question).await.map_err(|fault| (fault, true))
}

/// Answers a list of questions, one after the other.
async fn invoke_batch(evaluation: &Evaluation, body: Incoming) -> Result<Value, (Fault, bool)> {
    let refused = |fault| (fault, false);
    let request = receive_json(body).await.map_err(refused)?;
    let Some(requests) = request.get("requests").and_then(Value::as_array) else {
        return Err(refused(Fault::bad("Missing required field: requests (array)")));
    };
    let count = requests.len();
    let reserved = evaluation.account.reserve(count as u64);
    let mut reserved = reserved.map_err(|UsedUp { current }| {
        let limit = evaluation.offer.max_calls;
        let message = format!(
            "Batch would exceed max calls (current: {current}, batch: {count}, limit: {limit})"
        );
        refused(Fault::new(Cause::UsedUp, message))
    })?;
    let mut responses = Vec::with_capacity(count);
    for request in requests {
        let answered = match Question::read(request, &evaluation.offer) {
            Ok(question) => ask(evaluation, &mut reserved, question).await,
            Err(fault) => {
                reserved.give_back(1);
                Err(evaluation.refused(fault))
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
async fn ask(
    evaluation: &Evaluation,
    reserved: &mut Reserved<'_>,
    question: Question,
) -> Result<Value, Fault> {
    let Question { model, system, text } = question;
    let asked = &evaluation.offer.models[model].1;
    let system = system.map(Message::system);
    let messages = system.into_iter().chain([Message::user(text)]).collect();
    // The protocol has no parameters.
    let request = Request { params: asked.params(), ..Request::new(messages) };
    let label = asked.label();
    let read = move |answer: &Answer| {
        answer.reply.readable().map(|text| reply(text, answer)).map_err(|why| {
            let message = format!("model `{label}`: the reply is unreadable: {why}");
            Fault::new(Cause::Unreadable, message)
        })
    };
    evaluation.ask(reserved, (model, request), read).await
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
