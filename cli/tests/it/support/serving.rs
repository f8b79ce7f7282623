//! `evaluator serve` and `evaluator receive`, and requests to them as bytes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use super::{Directory, processes::wait_until};

/// Time after which a program counts as hanging.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// A server that listens on a port of its own.
#[derive(Debug)]
pub(crate) struct Serving {
    child: Child,
    pub(crate) address: SocketAddr,
    stderr: Arc<Mutex<String>>,
}

impl Serving {
    /// Starts it in this directory, and waits until it listens.
    #[track_caller]
    pub(crate) fn start(directory: &Directory, args: &[&str]) -> Self {
        Self::start_with(directory, args, &[])
    }

    /// The same with variables of the environment.
    #[track_caller]
    pub(crate) fn start_with(
        directory: &Directory,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut all = vec!["serve", "--addr", "127.0.0.1:0", "-v"];
        all.extend(args);
        let mut command = directory.command(&all);
        command.env_remove("EVALUATOR_SERVE_TOKEN").envs(variables.iter().copied());
        Self::start_command(command)
    }

    /// Starts this command, and waits until it listens.
    #[track_caller]
    pub(crate) fn start_command(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stderr: Arc<Mutex<String>> = Arc::default();
        let (pipe, kept) = (child.stderr.take().unwrap(), Arc::clone(&stderr));
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                *kept.lock().unwrap() += &(line + "\n");
            }
        });
        let mut address = None;
        wait_until("a server that listens", || {
            let said = stderr.lock().unwrap().clone();
            assert!(child.try_wait().unwrap().is_none(), "it exited: {said}");
            // Also in a message as JSON.
            let url = said.split_once("evaluator: listening on http://");
            address = url.and_then(|(_, url)| url.split(' ').next()?.parse().ok());
            address.is_some()
        });
        Self { child, address: address.unwrap(), stderr }
    }

    /// Standard error so far.
    pub(crate) fn said(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Waits until standard error has this text.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        wait_until(text, || self.said().contains(text));
    }

    pub(crate) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIME_LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Posts a document.
    pub(crate) fn post(&self, path: &str, document: &str) -> Response {
        self.request("POST", path, &[], document)
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], "")
    }

    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        document: &str,
    ) -> Response {
        let mut stream = self.connect();
        stream.write_all(request(method, path, headers, document).as_bytes()).unwrap();
        response(&mut stream)
    }

    /// Sends a body of any bytes.
    pub(crate) fn send(&self, path: &str, headers: &[&str], body: &[u8]) -> Response {
        let mut stream = self.connect();
        let head = request("POST", path, headers, "");
        let length = format!("Content-Length: {}", body.len());
        stream.write_all(head.replace("Content-Length: 0", &length).as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        response(&mut stream)
    }

    /// Standard output, of a server that has ended.
    pub(crate) fn printed(&mut self) -> String {
        let mut text = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Waits until it exits. Returns the exit code.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let mut status = None;
        wait_until("the end of the server", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a request.
pub(crate) fn request(method: &str, path: &str, headers: &[&str], document: &str) -> String {
    let names_host = headers.iter().any(|header| header.starts_with("Host: "));
    let host = if names_host { "" } else { "Host: 127.0.0.1\r\n" };
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = document.len();
    format!("{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\n\r\n{document}")
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.body);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        assert!(self.head.contains("content-type: application/json"), "{}", self.head);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The kind of an error in JSON.
    #[track_caller]
    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap().to_owned()
    }

    /// An error in plain text, as Agenta needs it.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        assert!(self.head.contains("content-type: text/plain"), "{}\n{}", self.head, self.body);
        assert!(serde_json::from_str::<serde_json::Value>(&self.body).is_err(), "{}", self.body);
        &self.body
    }
}

/// Reads a response from a connection, which may stay open.
pub(crate) fn response(stream: &mut TcpStream) -> Response {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut byte).unwrap();
        assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(&read));
        read.push(byte[0]);
    }
    let head = String::from_utf8(read).unwrap().to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().trim();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    Response { status, head, body: String::from_utf8(body).unwrap() }
}
