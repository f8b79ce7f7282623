//! HTTP servers on the loopback interface that answer as a test needs it.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// A request that a server has received.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Method, for example `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Values of the headers by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Body, as long as `content-length` says.
    pub body: Vec<u8>,
}

/// A server that handles one request per connection, each on a thread of its own, until the test process exits.
#[derive(Clone, Debug)]
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a server whose handler writes the response. A handler may fail: the client may be gone.
    pub fn start(
        handler: impl Fn(&Request, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (handler, received) = (Arc::new(handler), Arc::clone(&requests));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (handler, received) = (Arc::clone(&handler), Arc::clone(&received));
                thread::spawn(move || -> io::Result<()> {
                    match read_request(&stream) {
                        Ok(request) => {
                            received.lock().unwrap().push(request.clone());
                            let _ = handler(&request, &mut stream);
                        }
                        // Not HTTP, so perhaps TLS; servers without TLS answer like this.
                        Err(_) => stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")?,
                    }
                    // The client has to see the response, not a connection that is reset because of unread bytes.
                    stream.shutdown(Shutdown::Write)?;
                    io::copy(&mut stream, &mut io::sink()).map(drop)
                });
            }
        });
        Self { address, requests }
    }

    /// Starts a server that sends these bytes as the response to every request.
    pub fn always(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |_, stream| stream.write_all(&response))
    }

    /// Starts a server that sends `beginning`, and then `piece` again and again until the client closes the connection.
    pub fn endless(beginning: &'static str, piece: &'static [u8], pause: Duration) -> Self {
        Self::start(move |_, stream| {
            stream.write_all(beginning.as_bytes())?;
            loop {
                stream.write_all(piece)?;
                thread::sleep(pause);
            }
        })
    }

    /// Base URL without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests received so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Number of requests received so far for a path.
    pub fn count(&self, path: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|request| request.path == path).count()
    }

    /// Forgets the requests received so far.
    pub fn clear(&self) {
        self.requests.lock().unwrap().clear();
    }
}

/// Reads a request.
///
/// # Errors
///
/// If the connection is closed or the head is not text.
pub fn read_request(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut request = Request { method, path, ..Request::default() };
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        request.headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = request.headers.get("content-length").and_then(|length| length.parse().ok());
    request.body = vec![0; length.unwrap_or_default()];
    reader.read_exact(&mut request.body)?;
    Ok(request)
}

/// Builds a response with a length. `status` is the code and the reason, `headers` are whole lines without line ends.
pub fn response(status: &str, headers: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}
