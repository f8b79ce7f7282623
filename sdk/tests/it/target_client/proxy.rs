//! A proxy that plays recorded bytes, and the recordings.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    thread::{self, JoinHandle},
};

use evaluator_sdk::target::TargetClient;
use serde_json::Value;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// What a client sent.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Serves one connection on a thread of its own.
pub(crate) struct Proxy {
    address: SocketAddr,
    thread: JoinHandle<Received>,
}

impl Proxy {
    /// Reads a request, then acts on the connection as scripted.
    pub(crate) fn after_request(play: impl FnOnce(&mut TcpStream) + Send + 'static) -> Self {
        Self::start(|mut stream| {
            let received = receive(&stream);
            play(&mut stream);
            received
        })
    }

    /// Acts on the connection as scripted.
    pub(crate) fn start(serve: impl FnOnce(TcpStream) -> Received + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            serve(stream)
        });
        Self { address, thread }
    }

    /// Answers a request with these bytes, written in pieces.
    pub(crate) fn replying(bytes: impl Into<Vec<u8>>, pieces: usize) -> Self {
        let bytes = bytes.into();
        Self::after_request(move |stream| {
            for piece in bytes.chunks(pieces) {
                // The client may have gone once it knows enough.
                if stream.write_all(piece).is_err() {
                    break;
                }
            }
        })
    }

    pub(crate) fn client(&self) -> TargetClient {
        TargetClient::new(&self.url(), TOKEN).unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked.
    pub(crate) fn received(self) -> Received {
        self.thread.join().unwrap()
    }
}

pub(crate) fn receive(stream: &TcpStream) -> Received {
    let mut from = BufReader::new(stream);
    let mut next = || {
        let mut text = String::new();
        from.read_line(&mut text).unwrap();
        text.strip_suffix("\r\n").unwrap().to_owned()
    };
    let line = next();
    let headers: Vec<(String, String)> =
        std::iter::from_fn(|| Some(next()).filter(|line| !line.is_empty()))
            .map(|line| {
                let (name, value) = line.split_once(": ").unwrap();
                (name.to_lowercase(), value.to_owned())
            })
            .collect();
    let mut received = Received { line, headers, body: Vec::new() };
    let length = received.header("content-length").map_or(0, |length| length.parse().unwrap());
    received.body = vec![0; length];
    from.read_exact(&mut received.body).unwrap();
    received
}

/// A response as a proxy of AgentV frames it.
pub(crate) fn response(status: &str, body: &str) -> Vec<u8> {
    const HEADERS: &str =
        "Access-Control-Allow-Origin: *\r\nContent-Type: application/json\r\nConnection: close\r\n";
    format!(
        "HTTP/1.1 {status}\r\n{HEADERS}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    )
    .into_bytes()
}

/// A request to a real proxy and its raw answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) name: String,
    /// Method and path.
    pub(crate) line: String,
    /// `None` where there was none or it was no JSON.
    pub(crate) body: Option<Value>,
    pub(crate) response: Vec<u8>,
}

/// The recording of that name.
pub(crate) fn recording(name: &str) -> Vec<Exchange> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/proxy").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    // Noted with the first response only, and the same in all.
    let headers: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("< "))
        .skip_while(|line| !line.starts_with("HTTP/"))
        .skip(1)
        .take_while(|line| line.contains(": "))
        .map(|line| format!("{line}\r\n"))
        .collect();
    assert!(headers.ends_with("Transfer-Encoding: chunked\r\n"), "{headers}");
    text.split("### ").skip(1).map(|exchange| parse(exchange, &headers)).collect()
}

fn parse(exchange: &str, headers: &str) -> Exchange {
    let mut lines = exchange.lines();
    let name = lines.next().unwrap().to_owned();
    let request = lines.next().unwrap().strip_prefix("> ").unwrap();
    let (line, body) = request.split_once("  body=").unwrap_or((request, ""));
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix("< ").unwrap_or(line))
        .filter(|line| !line.contains(": ") || line.starts_with('{'))
        .collect();
    let [status, size, body_of_response, last, ..] = lines[..] else { panic!("{exchange}") };
    assert_eq!(
        (usize::from_str_radix(size, 16), last),
        (Ok(body_of_response.len()), "0"),
        "{exchange}"
    );
    let response = format!("{status}\r\n{headers}\r\n{size}\r\n{body_of_response}\r\n0\r\n\r\n");
    Exchange {
        name,
        line: line.to_owned(),
        body: serde_json::from_str(body).ok(),
        response: response.into_bytes(),
    }
}
