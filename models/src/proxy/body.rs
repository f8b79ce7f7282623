//! Bodies of requests and responses.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::{
    Response, StatusCode,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    fault::{Cause, Fault},
    json::Unique,
};

/// Maximum size of the body of a request in bytes.
const BODY: usize = 8 << 20;

/// Bytes of a body that are read at most, so that the client sees the response instead of a broken connection.
const DRAINED: usize = 4 * BODY;

/// Time limit for the body of a request.
const BODY_LIMIT: Duration = Duration::from_secs(30);

/// Content type of JSON.
pub(super) const JSON: &str = "application/json";

/// Creates a response. Programs may be pages in a browser, so all origins may read it.
pub(super) fn response(
    status: StatusCode,
    content_type: Option<&'static str>,
    text: String,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let mut set = |name, value| drop(headers.insert(name, HeaderValue::from_static(value)));
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    set(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS");
    set(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, Authorization");
    if let Some(content_type) = content_type {
        set(header::CONTENT_TYPE, content_type);
    }
    response
}

/// Reads the body, which is not needed, and returns the fault.
pub(super) async fn refuse<T>(body: Incoming, fault: Fault) -> Result<T, Fault> {
    // A body that cannot be read changes nothing.
    let _ = receive(body).await;
    Err(fault)
}

/// Reads a body.
async fn receive(body: Incoming) -> Result<Vec<u8>, Fault> {
    let late = format!("the body did not arrive within {} s", BODY_LIMIT.as_secs());
    timeout(BODY_LIMIT, read(body)).await.unwrap_or(Err(Fault::new(Cause::Slow, late)))
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
        return Err(Fault::new(Cause::TooLarge, message));
    }
    Ok(bytes)
}

/// Reads a body as JSON without repeated keys.
pub(super) async fn receive_json(body: Incoming) -> Result<Value, Fault> {
    let bytes = receive(body).await?;
    match serde_json::from_slice(&bytes) {
        Ok(Unique(value)) => Ok(value),
        Err(error) if error.is_data() => Err(Fault::bad(error.to_string())),
        Err(error) => Err(Fault::bad(format!("the body is not JSON: {error}"))),
    }
}
