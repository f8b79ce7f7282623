//! The address, connections, and how it ends.

use std::{io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::sleep,
};
use tokio_io_timeout::TimeoutWriter;

use super::{
    Access, Settings,
    metrics::Metrics,
    routes::{App, router},
};
use crate::{process::Cancellation, run::Service};

/// How long to wait when the system has no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// How long those whose evaluations were ended have to be told so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Bytes that the head of a request may have.
const HEAD: usize = 64 << 10;

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: Settings,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Others than this machine could ask, and there is no token.
    #[error(
        "{address} can be reached from other machines, and there is no token that requests have to bear"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
}

/// How a server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything that was begun was answered.
    Finished,
    /// Time was up, or somebody could not wait: some were not answered.
    CutShort,
}

impl Server {
    /// Listens. Connections are accepted when it runs.
    ///
    /// # Errors
    ///
    /// [`ServeError`]: that may not be, or cannot.
    pub async fn bind(address: SocketAddr, settings: Settings) -> Result<Self, ServeError> {
        settings.allow(address)?;
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) =
            bound.await.map_err(|error| ServeError::Bind { address, error })?;
        Ok(Self { listener, address, settings })
    }

    /// The address, with the port that the system chose if none was given.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`. What was begun by then may end within the grace; then `running` is cancelled, which is what
    /// the evaluators of the service listen to.
    pub async fn run(
        self,
        service: Service,
        stop: &Cancellation,
        running: &Cancellation,
        on_access: impl Fn(&Access) + Send + Sync + 'static,
    ) -> Ended {
        let Self { listener, settings, .. } = self;
        let (grace, room) = (
            settings.grace,
            Arc::new(Semaphore::new(settings.connections.min(Semaphore::MAX_PERMITS))),
        );
        let places = Semaphore::new(settings.places.min(Semaphore::MAX_PERMITS));
        let (metrics, on_access) = (Metrics::default(), Box::new(on_access));
        let app = Arc::new(App { service, settings, places, metrics, on_access });
        let router = router(Arc::clone(&app));
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = accept(&listener, &room) => if let Some((stream, room)) = accepted {
                    let connection = connection(&router, &app, stream);
                    let connection = graceful.watch(connection);
                    connections.spawn(async move {
                        // What goes wrong with a connection is the business of whoever made it.
                        let _ = connection.await;
                        drop(room);
                    });
                }
            }
        }
        drop(listener);
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
        drop(router);
        if let Some(app) = Arc::into_inner(app) {
            app.service.close().await;
        }
        ended
    }
}

/// The next connection, as soon as there is room for it.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Answers are short, and nobody is to wait for more of them.
            let _ = stream.set_nodelay(true);
            Some((stream, permit))
        }
        Err(_) => {
            // It went away again, or the system has no descriptors left.
            sleep(NO_ROOM).await;
            None
        }
    }
}

/// Returns a connection that breaks if the client does not accept a response for too long.
fn connection(
    router: &Router,
    app: &App,
    stream: TcpStream,
) -> http1::Connection<TokioIo<Pin<Box<TimeoutWriter<TcpStream>>>>, TowerToHyperService<Router>> {
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(app.settings.read_timeout));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.settings.read_timeout)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router.clone()))
}
