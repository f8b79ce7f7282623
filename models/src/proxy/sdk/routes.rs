//! Requests of SDKs.

use http_body_util::Full;
use hyper::{
    Method, Response, StatusCode,
    body::{Bytes, Incoming},
    http::request::Parts,
};
use serde_json::{Map, Value, json};

use super::{stream, translate, written::written};
use crate::{
    Answer, Api, ErrorKind, Request,
    proxy::{
        body::{JSON, receive_json, refuse, response},
        evaluations::Evaluation,
        fault::{Cause, Fault},
    },
};

/// Beginning of the paths of SDKs.
pub(in crate::proxy) const PREFIX: &str = "/v1/";

const ALL: [Api; 4] = [Api::ChatCompletions, Api::Responses, Api::Embeddings, Api::Messages];

/// Answers a request.
pub(in crate::proxy) async fn answer(
    evaluation: &Evaluation,
    head: &Parts,
    body: Incoming,
) -> Result<Response<Full<Bytes>>, Fault> {
    let path = head.uri.path();
    let rest = path.get(PREFIX.len()..).unwrap_or_default();
    let api = ALL.into_iter().find(|api| api.path().strip_prefix('/') == Some(rest));
    match (&head.method, api) {
        (&Method::POST, Some(api)) => {
            if let Some(beta) = head.headers.get("anthropic-beta") {
                let text = "betas are not passed on, and a recording would not have them";
                let beta = String::from_utf8_lossy(beta.as_bytes()).into_owned();
                let fault = Fault::new(Cause::Unsupported, format!("`{beta}`: {text}"));
                return refuse(body, evaluation.refused(fault.of("anthropic-beta"))).await;
            }
            post(evaluation, api, body).await
        }
        (&Method::GET, None) if rest == "models" => Ok(json_response(&models(evaluation))),
        (&Method::GET, None) if rest.starts_with("models/") => {
            let name = decoded(rest.trim_start_matches("models/"));
            let model = find(evaluation, &name)?;
            Ok(json_response(&described(evaluation, model)))
        }
        (method, _) => {
            let text = format!("{method} {path} is not offered to programs");
            refuse(body, Fault::new(Cause::NoRoute, text)).await
        }
    }
}

fn json_response(value: &Value) -> Response<Full<Bytes>> {
    response(StatusCode::OK, Some(JSON), value.to_string())
}

/// Answers a request to a model. Requests that are not accepted are counted here, failed calls where they are made.
async fn post(
    evaluation: &Evaluation,
    api: Api,
    body: Incoming,
) -> Result<Response<Full<Bytes>>, Fault> {
    let refused = |fault| evaluation.refused(fault);
    if evaluation.account.check().is_err() {
        return refuse(body, refused(evaluation.used_up())).await;
    }
    let body = receive_json(body).await.map_err(refused)?;
    let (name, model, mut body) = addressed(evaluation, body).map_err(refused)?;
    let streamed = streamed(api, &mut body).map_err(refused)?;
    let is_forwarded = evaluation.offer.models[model].1.speaks(api);
    let request = if is_forwarded {
        Request::forwarded(api, body)
    } else {
        translate::request(api, &body).map_err(refused)?
    };
    let reserved = evaluation.account.reserve(1);
    let mut reserved = reserved.map_err(|_| refused(evaluation.used_up()))?;
    let read = move |answered: &Answer| match &answered.reply.body {
        Some(body) => Ok(body.clone()),
        None => written(api, &name, answered),
    };
    let answered = evaluation.ask(&mut reserved, (model, request), read).await;
    let answered =
        answered.map_err(|fault| if is_forwarded { fault } else { of_parameter(fault) })?;
    Ok(match streamed {
        None => json_response(&answered),
        Some(with_usage) => {
            let events = stream::events(api, &answered, with_usage);
            response(StatusCode::OK, Some("text/event-stream"), events)
        }
    })
}

/// Names the parameter that a provider does not have, and a translated request does.
fn of_parameter(fault: Fault) -> Fault {
    let is_config = matches!(fault.cause, Cause::Model { kind: ErrorKind::Config, .. });
    let named =
        || fault.message.split_once("`params.")?.1.split_once('`').map(|it| it.0.to_owned());
    match named().filter(|_| is_config) {
        Some(name) => Fault { cause: Cause::Unsupported, ..fault }.of(name),
        // The provider's own name is not that of the request.
        None => Fault { param: None, ..fault },
    }
}

/// Returns the named model, its position, and the body without its name.
fn addressed(
    evaluation: &Evaluation,
    body: Value,
) -> Result<(String, usize, Map<String, Value>), Fault> {
    let Value::Object(mut body) = body else {
        return Err(Fault::bad("the body is not a JSON object"));
    };
    let Some(Value::String(name)) = body.remove("model") else {
        return Err(Fault::bad("you must provide a model parameter").of("model"));
    };
    let model = find(evaluation, &name)?;
    Ok((name, model, body))
}

fn find(evaluation: &Evaluation, name: &str) -> Result<usize, Fault> {
    evaluation.offer.find_model(name).ok_or_else(|| {
        let offered = evaluation.offer.names().join(", ");
        let text = format!("the model `{name}` is not offered to this program; offered: {offered}");
        Fault::new(Cause::UnknownModel, text).of("model")
    })
}

/// Takes the keys of streaming, which do not change the answer. Returns whether the answer is sent as events, and those of
/// chats with the number of tokens.
fn streamed(api: Api, body: &mut Map<String, Value>) -> Result<Option<bool>, Fault> {
    if api == Api::Embeddings {
        return Ok(None);
    }
    let is_streamed = match body.remove("stream") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_streamed)) => is_streamed,
        Some(_) => return Err(Fault::bad("`stream` must be true or false").of("stream")),
    };
    let options = body.remove("stream_options").unwrap_or_default();
    let with_usage = options.get("include_usage").and_then(Value::as_bool).unwrap_or_default();
    Ok(is_streamed.then_some(with_usage))
}

/// Lists the offered models, with the keys of both SDKs.
fn models(evaluation: &Evaluation) -> Value {
    let names = evaluation.offer.names();
    let all: Vec<Value> = (0..names.len()).map(|model| described(evaluation, model)).collect();
    json!({
        "object": "list", "data": all,
        "has_more": false, "first_id": names.first(), "last_id": names.last(),
    })
}

fn described(evaluation: &Evaluation, model: usize) -> Value {
    let (name, model) = &evaluation.offer.models[model];
    let label = model.label();
    json!({
        "id": name, "object": "model", "created": 0,
        "owned_by": label.split_once('/').map(|(provider, _)| provider),
        "type": "model", "display_name": label, "created_at": "1970-01-01T00:00:00Z",
    })
}

/// Replaces the escapes of a path.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
