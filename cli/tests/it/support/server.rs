//! A server in place of a repository on GitHub.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    ops::Deref,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use evaluator_test_support::server::{self, response};

/// Response to a path. Unknown paths are answered 404.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The content.
    Content(Vec<u8>),
    /// Another status, with a header line or an empty one.
    Status(u16, &'static str),
    /// The beginning of a longer content.
    Truncated,
    /// Nothing for this time.
    Silence(Duration),
}

/// The server; its requests are those of [`server::Server`].
#[derive(Debug)]
pub(crate) struct Server {
    server: server::Server,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
}

impl Deref for Server {
    type Target = server::Server;

    fn deref(&self) -> &server::Server {
        &self.server
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        let answers: Arc<Mutex<HashMap<String, Answer>>> = Arc::default();
        let served = Arc::clone(&answers);
        let server = server::Server::start(move |request, stream| {
            let answer = served.lock().unwrap().get(&request.path).cloned();
            stream.write_all(&match answer.unwrap_or(Answer::Status(404, "")) {
                Answer::Content(body) => response("200 OK", &[], body),
                Answer::Status(status, "") => response(&format!("{status} Status"), &[], ""),
                Answer::Status(status, header) => {
                    response(&format!("{status} Status"), &[header], "")
                }
                Answer::Truncated => {
                    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nimport json".into()
                }
                Answer::Silence(time) => {
                    thread::sleep(time);
                    return Err(io::ErrorKind::TimedOut.into());
                }
            })
        });
        Self { server, answers }
    }

    pub(crate) fn answer(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// Serves a file of the default repository.
    pub(crate) fn file(&self, path: &str, text: impl Into<Vec<u8>>) {
        self.answer(&raw(path), Answer::Content(text.into()));
    }

    /// Forgets the requests received and the responses to give.
    pub(crate) fn forget(&self) {
        self.server.clear();
        self.answers.lock().unwrap().clear();
    }
}

/// Path of a file of the default repository.
pub(crate) fn raw(path: &str) -> String {
    format!("/agentevals-dev/evaluators/main/{path}")
}
