//! Connections of clients.

use std::{sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::sleep,
};
use tokio_io_timeout::TimeoutWriter;

use super::{evaluations::Evaluations, routes};

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
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let registered = Arc::clone(&registered);
                connections.spawn(async move {
                    serve(stream, registered).await;
                    drop(permit);
                });
            }
            // The client is gone, or the system has no descriptors left.
            Err(_) => sleep(NO_ROOM).await,
        }
    }
}

/// Answers the request of a connection.
async fn serve(stream: TcpStream, registered: Arc<Evaluations>) {
    // Responses are short; waiting for more data would only delay them.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(STALLED));
    let answer = service_fn(move |request| routes::answer(Arc::clone(&registered), request));
    // An error of a connection is a matter of its client.
    let _ = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(STALLED)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), answer)
        .await;
}
