//! Which protocol answers a request.

use std::{convert::Infallible, sync::Arc};

use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header,
};
use serde_json::{Value, json};
use tokio::select;

use super::{
    agentv,
    body::{JSON, receive_json, refuse, response},
    evaluations::{Evaluation, Evaluations},
    fault::Fault,
    sdk,
};

/// Path at which an evaluation takes the token of an earlier one over.
const INHERIT: &str = "/inherit";

/// Answers a request.
pub(super) async fn answer(
    registered: Arc<Evaluations>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() == Method::OPTIONS {
        return Ok(response(StatusCode::NO_CONTENT, None, String::new()));
    }
    let (head, body) = request.into_parts();
    let is_sdk = head.uri.path().starts_with(sdk::PREFIX);
    let admitted = match registered.admit(tokens(&head.headers, is_sdk).into_iter().flatten()) {
        Ok(evaluation) => evaluation,
        Err(fault) => {
            // Nothing of the evaluation is needed to read the rest.
            let refused: Result<Infallible, Fault> = refuse(body, fault).await;
            let Err(fault) = refused;
            return Ok(failure(is_sdk, &head, &fault));
        }
    };
    if is_sdk {
        let answered = select! {
            answered = sdk::answer(&admitted, &head, body) => answered,
            () = admitted.closed() => Err(Fault::ended()),
        };
        return Ok(answered.unwrap_or_else(|fault| failure(true, &head, &fault)));
    }
    let path = head.uri.path_and_query().map_or("", |path| path.as_str());
    if (&head.method, path) == (&Method::POST, INHERIT) {
        return Ok(match inherit(&registered, &admitted, body).await {
            Ok(()) => response(StatusCode::NO_CONTENT, None, String::new()),
            Err(fault) => failure(false, &head, &fault),
        });
    }
    let answered = select! {
        answered = agentv::answer(&admitted, (&head.method, path), body) => answered,
        () = admitted.closed() => Err(Fault::ended()),
    };
    Ok(match answered {
        Ok(value) => response(StatusCode::OK, Some(JSON), value.to_string()),
        Err(fault) => failure(false, &head, &fault),
    })
}

/// Lets the token of an earlier evaluation stand for this one.
async fn inherit(
    registered: &Evaluations,
    heir: &Arc<Evaluation>,
    body: Incoming,
) -> Result<(), Fault> {
    let body = receive_json(body).await?;
    let token = body.get("token").and_then(Value::as_str);
    registered.inherit(heir, token.ok_or_else(|| Fault::bad("`token` is missing"))?)
}

/// Returns the tokens of a request. Anthropic's SDK has a header of its own for it.
fn tokens(headers: &HeaderMap, is_sdk: bool) -> [Option<&[u8]>; 2] {
    let bearer = headers.get(header::AUTHORIZATION);
    let bearer = bearer.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    let key = headers.get("x-api-key").filter(|_| is_sdk).map(|value| value.as_bytes());
    [bearer, key]
}

/// Returns the response to a request that is not answered.
fn failure(
    is_sdk: bool,
    head: &hyper::http::request::Parts,
    fault: &Fault,
) -> Response<Full<Bytes>> {
    if is_sdk {
        return sdk::failure(head, fault);
    }
    let body = json!({ "error": fault.message });
    response(agentv::status(fault), Some(JSON), body.to_string())
}
