//! A web server on this machine, for one test.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// What a path is answered with. Paths that are not known are answered 404.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The content.
    Content(Vec<u8>),
    /// Another status, with a header or none.
    Status(u16, &'static str),
    /// The first half of what was promised.
    Truncated,
    /// Nothing for so long.
    Silence(Duration),
}

/// Serves until the test ends.
#[derive(Debug)]
pub(crate) struct Server {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    answers: HashMap<String, Answer>,
    /// Path, and the headers in lower case.
    requests: Vec<(String, String)>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let served = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&served);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    /// Base URL, for the files and for the API.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn answer(&self, path: &str, answer: Answer) {
        self.state.lock().unwrap().answers.insert(path.to_owned(), answer);
    }

    /// Serves a file of the default repository.
    pub(crate) fn file(&self, path: &str, text: impl Into<Vec<u8>>) {
        self.answer(&raw(path), Answer::Content(text.into()));
    }

    /// How often a path was asked for.
    pub(crate) fn asked(&self, path: &str) -> usize {
        let state = self.state.lock().unwrap();
        state.requests.iter().filter(|(asked, _)| asked == path).count()
    }

    /// Everything that was asked for, headers included.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Forgets what was asked and what to answer.
    pub(crate) fn forget(&self) {
        *self.state.lock().unwrap() = State::default();
    }
}

/// The path of a file of the default repository.
pub(crate) fn raw(path: &str) -> String {
    format!("/agentevals-dev/evaluators/main/{path}")
}

/// One request per connection. A client that goes away is no concern of the server.
fn serve(mut stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() {
        // Not HTTP, so perhaps TLS; answered as servers without it do.
        return stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").ok();
    }
    let path = first.split(' ').nth(1)?.to_owned();
    let mut headers = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        headers.push_str(&line.to_ascii_lowercase());
    }
    let answer = {
        let mut state = state.lock().unwrap();
        state.requests.push((path.clone(), headers));
        state.answers.get(&path).cloned().unwrap_or(Answer::Status(404, ""))
    };
    let mut send = |head: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok()
    };
    match answer {
        Answer::Content(body) => send(&format!("200 OK\r\nContent-Length: {}", body.len()), &body),
        Answer::Status(status, header) => {
            let header = if header.is_empty() { "X-None: 1" } else { header };
            send(&format!("{status} Status\r\nContent-Length: 0\r\n{header}"), b"")
        }
        Answer::Truncated => send("200 OK\r\nContent-Length: 100", b"import json"),
        Answer::Silence(time) => {
            thread::sleep(time);
            None
        }
    }
}
