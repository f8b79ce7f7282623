//! The server: address, connections and shutdown.

use std::{net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutWriter;

use evaluator_launch::process::Cancellation;

use super::{
    Access, ServeError, Service, Settings,
    metrics::Metrics,
    routes::{App, router},
};

/// Pause after the system could not accept a connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// Time for sending the responses of cancelled evaluations.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Maximum size of the head of a request in bytes.
const HEAD: usize = 64 << 10;

/// A listening server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: Arc<Settings>,
}

/// Result of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every request was answered.
    Finished,
    /// Some requests were not answered: the grace period was over, or the run was cancelled.
    CutShort,
}

impl Server {
    /// Starts to listen. Connections are accepted by [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// [`ServeError`] if the settings forbid the address or the system refuses it.
    pub async fn bind(address: SocketAddr, settings: Settings) -> Result<Self, ServeError> {
        settings.allow(address)?;
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) =
            bound.await.map_err(|error| ServeError::Bind { address, error })?;
        Ok(Self { listener, address, settings: Arc::new(settings) })
    }

    /// Returns the address, with the port that the system chose if none was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Serves until `stop` is cancelled. Requests in progress may finish within the grace period; then `running` is
    /// cancelled, which ends the evaluators of the service.
    pub async fn run(
        self,
        service: Service,
        stop: &Cancellation,
        running: &Cancellation,
        on_access: impl Fn(&Access) + Send + Sync + 'static,
    ) -> Ended {
        let settings = Arc::clone(&self.settings);
        let places = Semaphore::new(settings.places.min(Semaphore::MAX_PERMITS));
        let (metrics, on_access) = (Metrics::default(), Box::new(on_access));
        let app = Arc::new(App { service, settings, places, metrics, on_access });
        let ended = self.serve(router(Arc::clone(&app)), stop, running).await;
        if let Some(app) = Arc::into_inner(app) {
            app.service.close().await;
        }
        ended
    }

    /// Serves routes until `stop` is cancelled. Requests in progress may finish within the grace period; then `running` is
    /// cancelled.
    pub async fn serve(self, router: Router, stop: &Cancellation, running: &Cancellation) -> Ended {
        let Self { listener, settings, .. } = self;
        let (grace, room) = (
            settings.grace,
            Arc::new(Semaphore::new(settings.connections.min(Semaphore::MAX_PERMITS))),
        );
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = accept(&listener, &room) => if let Some((stream, room)) = accepted {
                    let (router, settings) = (router.clone(), Arc::clone(&settings));
                    let watcher = graceful.watcher();
                    connections.spawn(async move {
                        connect(router, &settings, stream, watcher).await;
                        drop(room);
                    });
                }
            }
        }
        drop((listener, router));
        let mut all_ended = std::pin::pin!(graceful.shutdown());
        let ended = tokio::select! {
            () = &mut all_ended => Ended::Finished,
            () = sleep(grace) => Ended::CutShort,
            () = running.cancelled() => Ended::CutShort,
        };
        if ended == Ended::CutShort {
            running.cancel();
            tokio::select! {
                () = &mut all_ended => {}
                () = sleep(LAST_WORDS) => {}
            }
        }
        connections.shutdown().await;
        ended
    }
}

/// Accepts the next connection as soon as the limit permits it.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Responses are short; waiting for more data would only delay them.
            let _ = stream.set_nodelay(true);
            Some((stream, permit))
        }
        Err(_) => {
            // The client disconnected, or the system has no descriptors left.
            sleep(NO_ROOM).await;
            None
        }
    }
}

/// A connection with a time limit for writing.
type Io = TokioIo<Pin<Box<TimeoutWriter<TcpStream>>>>;

/// First bytes of a connection that speaks HTTP/2 without TLS, as clients of gRPC do.
const HTTP2: &[u8] = b"PRI * HTTP/2.0";
/// Time for them; a connection without any speaks HTTP/1.
const FIRST_BYTES: Duration = Duration::from_secs(1);

/// Serves a connection, which breaks if the client does not accept a response for too long.
async fn connect(router: Router, settings: &Settings, stream: TcpStream, watcher: Watcher) {
    let is_http2 = settings.http2 && speaks_http2(&stream).await;
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(settings.read_timeout));
    let (io, service): (Io, _) = (TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    // An error of a connection is a matter of its client.
    if is_http2 {
        // It is for refusals, so that shutdown does not wait for it.
        drop(watcher);
        let _ = http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
        return;
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.read_timeout)
        .max_buf_size(HEAD)
        .serve_connection(io, service);
    let _ = watcher.watch(connection).await;
}

/// Returns true if the first bytes of a connection are those of HTTP/2, which every client sends at once.
async fn speaks_http2(stream: &TcpStream) -> bool {
    let mut start = [0; HTTP2.len()];
    let peeked = timeout(FIRST_BYTES, stream.peek(&mut start)).await;
    peeked.is_ok_and(|peeked| peeked.is_ok()) && start == HTTP2
}
