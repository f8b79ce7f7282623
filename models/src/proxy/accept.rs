//! Connections of clients.

use std::{convert::Infallible, sync::Arc, time::Duration};

use hyper::{
    body::Incoming,
    header::{CONNECTION, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::sleep,
};
use tokio_io_timeout::TimeoutWriter;

use super::{evaluations::Evaluations, routes, sdk};

/// Time limit for the head of a request, and for the client to take the next bytes of a response.
const STALLED: Duration = Duration::from_secs(30);

/// Maximum size of the head of a request in bytes.
const HEAD: usize = 64 << 10;

/// Pause after the system could not accept a connection.
pub(super) const NO_ROOM: Duration = Duration::from_millis(100);

/// Accepts connections, at most so many at a time, until the task is aborted, which ends them.
pub(super) async fn accept(
    listener: std::net::TcpListener,
    registered: Arc<Evaluations>,
    connections: usize,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let room = Arc::new(Semaphore::new(connections));
    // Connections of clients that are not used again leave half of the room.
    let kept = connections / 2;
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let (registered, room) = (Arc::clone(&registered), Arc::clone(&room));
                connections.spawn(async move {
                    serve(stream, registered, || room.available_permits() >= kept).await;
                    drop(permit);
                });
            }
            // The client is gone, or the system has no descriptors left.
            Err(_) => sleep(NO_ROOM).await,
        }
    }
}

/// Answers the requests of a connection. Those of SDKs keep it while there is room: to connect takes longer than a recorded answer.
async fn serve(stream: TcpStream, registered: Arc<Evaluations>, has_room: impl Fn() -> bool) {
    // Responses are short; waiting for more data would only delay them.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(STALLED));
    let has_room = &has_room;
    let answer = service_fn(move |request: hyper::Request<Incoming>| {
        let is_sdk = request.uri().path().starts_with(sdk::PREFIX);
        let answer = routes::answer(Arc::clone(&registered), request);
        async move {
            let mut response = answer.await?;
            if !is_sdk || !response.status().is_success() || !has_room() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    // An error of a connection is a matter of its client.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(STALLED)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), answer)
        .await;
}
