//! Addresses of proxies, and their ends.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, mpsc},
    thread,
};

use tokio::{
    runtime::{Builder, Handle},
    sync::{oneshot, watch},
    task::AbortHandle,
};

use super::{
    accept::accept,
    access::{Account, Offer, ProxyUsage},
    evaluations::{Evaluation, Evaluations},
    sdk,
    token::{Tokens, random_name},
};

/// Names of the variables with the address and the token, of both generations of AgentV.
pub const VARIABLES: [(&str, &str); 2] = [
    ("AGENTV_TARGET_PROXY_URL", "AGENTV_TARGET_PROXY_TOKEN"),
    ("AGENTV_PROVIDER_PROXY_URL", "AGENTV_PROVIDER_PROXY_TOKEN"),
];

/// Names of the variables with the address, and of the one with the token, that the SDKs of model servers and LangChain read. The
/// second name of an address goes before the first one there.
pub const SDK_VARIABLES: [([&str; 2], &str); 2] = [
    (["OPENAI_BASE_URL", "OPENAI_API_BASE"], "OPENAI_API_KEY"),
    (["ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"], "ANTHROPIC_API_KEY"),
];

/// Returns true if a message of a program is about missing variables: it names one of them, or an address that
/// JavaScript made of a missing one.
pub fn names_proxy(message: &str) -> bool {
    let keys = SDK_VARIABLES.iter().map(|(_, key)| *key);
    let variables = VARIABLES.iter().flat_map(|(url, token)| [*url, *token]).chain(keys);
    variables.chain(["undefined/invoke", "undefined/info"]).any(|sign| message.contains(sign))
}

/// Maximum number of open connections for each evaluation. Further ones wait to be accepted.
const CONNECTIONS: usize = 32;

/// Maximum number of threads that wait for models, of all evaluations.
const THREADS: usize = 512;

/// The thread that serves the proxies of a run. Dropping it closes all of them.
#[derive(Debug)]
pub struct ProxyServer {
    runtime: Handle,
    tokens: Arc<Tokens>,
    /// Dropped to end the thread.
    _running: oneshot::Sender<()>,
}

impl ProxyServer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system has no thread or no descriptor left.
    pub fn start() -> io::Result<Self> {
        let tokens = Arc::new(Tokens::new()?);
        let (running, ended) = oneshot::channel::<()>();
        let (started, runtime) = mpsc::sync_channel(1);
        thread::Builder::new().name("target-proxy".to_owned()).spawn(move || {
            match Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build() {
                Ok(runtime) => {
                    // The receiver waits for this message.
                    let _ = started.send(Ok(runtime.handle().clone()));
                    // Ends with an error, when the sender is dropped.
                    let _ = runtime.block_on(ended);
                    // Calls whose answers are not needed any more would take as long as their models.
                    runtime.shutdown_background();
                }
                Err(error) => drop(started.send(Err(error))),
            }
        })?;
        let runtime = runtime.recv().map_err(io::Error::other)??;
        Ok(Self { runtime, tokens, _running: running })
    }

    /// Opens a proxy for one evaluation, with a port chosen by the system and a new token.
    ///
    /// # Errors
    ///
    /// The system has no port, no descriptor or no random bytes left.
    pub fn open(&self, offer: Arc<Offer>) -> io::Result<Proxy> {
        let token = self.tokens.issue()?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let registered = Arc::new(Evaluations::new(Arc::clone(&self.tokens)));
        let accepting = accept(listener, Arc::clone(&registered), CONNECTIONS);
        let place = Place::Own(self.runtime.spawn(accepting).abort_handle());
        Ok(Proxy::new(offer, token, (address, place), registered))
    }

    /// Listens at one address, chosen by the system, for several evaluations: at most so many at a time.
    ///
    /// # Errors
    ///
    /// The system has no port or descriptor left.
    pub fn listen(&self, evaluations: usize) -> io::Result<SharedListener> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let tokens = Arc::clone(&self.tokens);
        let registered = Arc::new(Evaluations::new(Arc::clone(&tokens)));
        let accepting = accept(listener, Arc::clone(&registered), connections(evaluations));
        let serving = self.runtime.spawn(accepting).abort_handle();
        Ok(SharedListener { address, tokens, registered, serving })
    }

    /// Receives the listening sockets of sandboxes.
    ///
    /// Another process connects to the abstract Unix socket with this name, and sends one byte with a TCP socket that
    /// listens on `port` of 127.0.0.1, in a network namespace of its own. It is answered with one byte, and its listener is
    /// served until it closes the connection. Processes of other users are refused. `evaluations` is the maximum number of
    /// evaluations that share a listener.
    ///
    /// # Errors
    ///
    /// The system has no descriptor left, or is not Linux.
    pub fn receive(&self, name: &str, port: u16, evaluations: usize) -> io::Result<SharedListener> {
        let tokens = Arc::clone(&self.tokens);
        let registered = Arc::new(Evaluations::new(Arc::clone(&tokens)));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        #[cfg(target_os = "linux")]
        {
            let socket = super::receive::bind(name)?;
            let connections = connections(evaluations);
            let receiving = super::receive::run(socket, Arc::clone(&registered), connections);
            let serving = self.runtime.spawn(receiving).abort_handle();
            Ok(SharedListener { address, tokens, registered, serving })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (name, evaluations, address, tokens, registered);
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

/// Returns the number of connections that may be open for so many evaluations.
fn connections(evaluations: usize) -> usize {
    CONNECTIONS.saturating_mul(evaluations).min(tokio::sync::Semaphore::MAX_PERMITS)
}

/// Serves the proxies of several evaluations at one address, which may be that of listening sockets inside of sandboxes. Dropping it
/// closes all of them.
///
/// The token of a request identifies its evaluation.
#[derive(Debug)]
pub struct SharedListener {
    address: SocketAddr,
    tokens: Arc<Tokens>,
    registered: Arc<Evaluations>,
    serving: AbortHandle,
}

impl SharedListener {
    /// Opens a proxy for one evaluation, with a new token.
    ///
    /// # Errors
    ///
    /// The system has no random bytes left.
    pub fn open(&self, offer: Arc<Offer>) -> io::Result<Proxy> {
        let place = (self.address, Place::Shared);
        Ok(Proxy::new(offer, self.tokens.issue()?, place, Arc::clone(&self.registered)))
    }
}

impl Drop for SharedListener {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Returns a name for [`ProxyServer::receive`] that no other process can guess.
///
/// # Errors
///
/// The system has no random bytes left.
pub fn receiver_name() -> io::Result<String> {
    Ok(format!("evaluator-proxy-{}", random_name()?))
}

/// The proxy of one evaluation. Dropping it closes its connections, and its address if it has one of its own.
#[derive(derive_more::Debug)]
#[debug("Proxy({address})")]
pub struct Proxy {
    address: SocketAddr,
    token: String,
    account: Arc<Account>,
    registered: Arc<Evaluations>,
    place: Place,
    /// Dropped to end the requests that are not answered yet.
    _open: watch::Sender<()>,
}

/// Where a proxy is served.
enum Place {
    /// At an address of its own, by this task.
    Own(AbortHandle),
    /// At listeners that it shares with other evaluations.
    Shared,
}

impl Proxy {
    fn new(
        offer: Arc<Offer>,
        token: String,
        (address, place): (SocketAddr, Place),
        registered: Arc<Evaluations>,
    ) -> Self {
        let (sender, open) = watch::channel(());
        let account = Arc::new(Account::new(offer.max_calls));
        let evaluation =
            Evaluation { offer, token: token.clone(), account: Arc::clone(&account), open };
        registered.add(Arc::new(evaluation));
        Self { address, token, account, registered, place, _open: sender }
    }

    /// Counts samples from this number on, see [`first_sample`](crate::first_sample). To be called before anything is asked.
    #[must_use]
    pub fn with_samples_from(self, first: u32) -> Self {
        self.account.count_samples_from(first);
        self
    }

    /// Returns the URL that a client adds `/invoke` to.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the token, 64 hexadecimal digits.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the variables that tell a program address and token, for clients of both generations and for SDKs.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        // OpenAI's SDKs add the path of a request to the prefix, Anthropic's add the prefix themselves.
        let openai = self.url() + sdk::PREFIX.trim_end_matches('/');
        let [(openai_urls, openai_key), (anthropic_urls, anthropic_key)] = SDK_VARIABLES;
        let urls = openai_urls.into_iter().map(move |name| (name, openai.clone()));
        let others = VARIABLES.into_iter().map(|(url, _)| url).chain(anthropic_urls);
        let tokens = VARIABLES.into_iter().map(|(_, token)| token);
        let tokens = tokens.chain([openai_key, anthropic_key]);
        let urls = urls.chain(others.map(|name| (name, self.url())));
        urls.chain(tokens.map(|name| (name, self.token.clone())))
    }

    /// Closes the proxy and returns what was asked. Later requests are not answered.
    pub fn close(self) -> ProxyUsage {
        self.account.close()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // From here on requests are refused; the address and the connections close a moment later.
        self.account.close();
        match &self.place {
            Place::Own(accepting) => accepting.abort(),
            Place::Shared => self.registered.remove(&self.token),
        }
    }
}
