//! Bodies of requests.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::{Settings, fault::Fault};
use evaluator_launch::clock;

/// Of a body that is refused, so much is looked at, and so much and so long is read on: a client that is still sending when
/// the connection is closed would never see why.
const BEGINNING: usize = 64 << 10;
const PASSED_OVER: usize = 64 << 20;
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads a whole body. What was read is given back with the fault, as far as somebody may want to look at it.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    settings: &Settings,
) -> Result<Vec<u8>, (Fault, Vec<u8>)> {
    let limit = settings.body_limit;
    let too_large = || {
        let message = format!("the document is larger than {limit} bytes, which is the limit");
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    };
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let message = "compressed documents are not read; send it as it is";
        let fault = Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed", message);
        return Err((fault, skim(headers, body, Vec::new()).await));
    }
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err((too_large(), skim(headers, body, Vec::new()).await));
    }
    let deadline = clock::after(Instant::now(), settings.read_timeout);
    // What was announced has yet to come.
    let mut read = Vec::with_capacity(usize::try_from(announced).unwrap_or(0).min(BEGINNING));
    let mut body = body;
    loop {
        let frame = match timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(read),
            Ok(Some(Err(error))) => {
                let message = format!("the body was cut short: {error}");
                return Err((Fault::new(StatusCode::BAD_REQUEST, "cut_short", message), read));
            }
            Err(_) => {
                let seconds = settings.read_timeout.as_secs_f64();
                let message = format!("the body did not come within {seconds} seconds");
                return Err((Fault::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message), read));
            }
        };
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > limit {
            return Err((too_large(), skim(headers, body, read).await));
        }
        read.extend_from_slice(&data);
    }
}

/// Reads on without keeping anything but the beginning.
pub(super) async fn skim(headers: &HeaderMap, mut body: Body, mut read: Vec<u8>) -> Vec<u8> {
    read.truncate(BEGINNING);
    if headers.contains_key(header::EXPECT) {
        // It waits for being told to send anything at all.
        return read;
    }
    let deadline = clock::after(Instant::now(), PATIENCE);
    let mut passed_over = 0;
    while passed_over < PASSED_OVER {
        let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await else { break };
        let Ok(data) = frame.into_data() else { continue };
        passed_over += data.len();
        let room = BEGINNING - read.len();
        read.extend_from_slice(&data[..data.len().min(room)]);
    }
    read
}
