//! Over gRPC: one call with one message each way, which is one stream of HTTP/2.

use std::{future::Future, time::Duration};

use h2::client;
use http::{HeaderMap, Request, Uri, header};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use super::{SendError, http::gzip, settings::Settings, too_late};

const METHOD: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
/// Longer answers are not read.
const MAX_ANSWER: usize = 1 << 20;
/// Status codes after which OTLP lets a client try again.
const BUSY: [i32; 6] = [1, 4, 10, 11, 14, 15];

/// Makes the call and gives the answer's message.
pub(super) fn send(
    settings: &Settings,
    message: &[u8],
    left: Duration,
) -> Result<Vec<u8>, SendError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| SendError::Failed(error.to_string()))?;
    let call = async {
        match timeout(left, call(settings, message, left)).await {
            Ok(result) => result,
            Err(_) => Err(SendError::Failed(too_late(settings))),
        }
    };
    let result = runtime.block_on(call);
    // Looking up a name may still be stuck.
    runtime.shutdown_background();
    result
}

fn failed(error: impl std::fmt::Display) -> SendError {
    SendError::Failed(error.to_string())
}

async fn call(settings: &Settings, message: &[u8], left: Duration) -> Result<Vec<u8>, SendError> {
    let uri = &settings.uri;
    let host = uri.host().unwrap_or_default();
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    // Brackets belong to the notation of URLs.
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((address, port)).await.map_err(failed)?;
    let frame = frame(settings, message);
    if !secure {
        return exchange(settings, stream, frame, left).await;
    }
    let config = settings.tls.for_grpc().map_err(failed)?;
    let name = ServerName::try_from(address.to_owned()).map_err(failed)?;
    let connector = TlsConnector::from(std::sync::Arc::new(config));
    let stream = connector.connect(name, stream).await.map_err(failed)?;
    exchange(settings, stream, frame, left).await
}

/// A message as gRPC frames it: whether it is compressed, its length, itself.
fn frame(settings: &Settings, message: &[u8]) -> Vec<u8> {
    let packed = settings.gzip.then(|| gzip(message));
    let body = packed.as_deref().unwrap_or(message);
    let mut frame = vec![u8::from(settings.gzip)];
    frame.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
    frame.extend(body);
    frame
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    settings: &Settings,
    stream: S,
    frame: Vec<u8>,
    left: Duration,
) -> Result<Vec<u8>, SendError> {
    let (sender, connection) = client::handshake(stream).await.map_err(failed)?;
    let request = request(settings, left).map_err(failed)?;
    let talk = async {
        let mut sender = sender.ready().await.map_err(failed)?;
        let (response, mut body) = sender.send_request(request, false).map_err(failed)?;
        body.send_data(frame.into(), true).map_err(failed)?;
        answer(response).await
    };
    alongside(connection, talk).await
}

/// Drives a connection as long as somebody talks over it.
async fn alongside<T>(
    connection: impl Future<Output = Result<(), h2::Error>>,
    talk: impl Future<Output = Result<T, SendError>>,
) -> Result<T, SendError> {
    tokio::pin!(connection, talk);
    tokio::select! {
        biased;
        result = &mut talk => result,
        ended = &mut connection => match ended {
            // What came before the end may still be read.
            Ok(()) => talk.await,
            Err(error) => Err(failed(error)),
        },
    }
}

fn request(settings: &Settings, left: Duration) -> Result<Request<()>, http::Error> {
    let mut parts = settings.uri.clone().into_parts();
    parts.path_and_query = Some(http::uri::PathAndQuery::from_static(METHOD));
    let mut request = Request::post(Uri::from_parts(parts)?)
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers")
        .header(header::USER_AGENT, concat!("evaluator/", env!("CARGO_PKG_VERSION")))
        // Eight digits at most.
        .header("grpc-timeout", format!("{}m", left.as_millis().clamp(1, 99_999_999)));
    if settings.gzip {
        request = request.header("grpc-encoding", "gzip");
    }
    for (name, value) in &settings.headers {
        request = request.header(name, value);
    }
    request.body(())
}

async fn answer(response: client::ResponseFuture) -> Result<Vec<u8>, SendError> {
    let (head, mut body) = response.await.map_err(failed)?.into_parts();
    if !head.status.is_success() {
        return Err(failed(format!("HTTP status {}", head.status)));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.map_err(failed)?;
        body.flow_control().release_capacity(chunk.len()).map_err(failed)?;
        if bytes.len() + chunk.len() > MAX_ANSWER {
            return Err(failed("the answer is too long"));
        }
        bytes.extend_from_slice(&chunk);
    }
    let trailers = body.trailers().await.map_err(failed)?;
    // An answer without a message has its status in the head.
    status(trailers.as_ref().unwrap_or(&head.headers))?;
    Ok(match bytes.split_at_checked(5) {
        // An answer that is compressed was not asked for.
        Some(([0, ..], message)) => message.to_vec(),
        _ => Vec::new(),
    })
}

fn status(headers: &HeaderMap) -> Result<(), SendError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(status) = text("grpc-status").and_then(|status| status.parse::<i32>().ok()) else {
        return Err(failed("the answer has no gRPC status; is this a gRPC endpoint?"));
    };
    let reason = match text("grpc-message").unwrap_or_default() {
        "" => format!("gRPC status {status}"),
        message => format!("gRPC status {status}: {message}"),
    };
    match status {
        0 => Ok(()),
        busy if BUSY.contains(&busy) => Err(SendError::Busy { reason, after: None }),
        _ => Err(SendError::Failed(reason)),
    }
}
