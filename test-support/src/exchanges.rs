//! Servers that play recorded exchanges.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::Value;

use crate::server::{Request, Server, response};

/// Directory with the vectors of that name: below `EVALUATOR_VECTORS_DIR` if it has them, else those of the repository.
pub fn vectors(name: &str) -> PathBuf {
    let given = std::env::var_os("EVALUATOR_VECTORS_DIR").map(|it| PathBuf::from(it).join(name));
    given.filter(|directory| directory.is_dir()).unwrap_or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(name)
    })
}

/// Reads all JSON files of a directory of vectors, by their names without the extension.
pub fn cases(name: &str) -> Vec<(String, Value)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(vectors(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "json"));
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())
    };
    files.iter().map(read).collect()
}

/// Starts a server that gives the responses of recorded exchanges: each request gets the next response to its method, path and
/// query, and the last one again afterwards; other requests get the status 404.
pub fn play(exchanges: &[Value]) -> Server {
    let mut queues: Vec<(String, Vec<Value>)> = Vec::new();
    for exchange in exchanges {
        let key = key_of(&exchange["request"]);
        let response = exchange["response"].clone();
        match queues.iter_mut().find(|(known, _)| *known == key) {
            Some((_, responses)) => responses.push(response),
            None => queues.push((key, vec![response])),
        }
    }
    let queues = Arc::new(Mutex::new(queues));
    Server::start(move |request, stream| {
        let key = format!("{} {}", request.method, request.path);
        let next = {
            let mut queues = queues.lock().unwrap();
            let queue = queues.iter_mut().find(|(known, _)| *known == key);
            queue.map(|(_, responses)| match responses.len() {
                1 => responses[0].clone(),
                _ => responses.remove(0),
            })
        };
        let Some(next) = next else {
            return stream.write_all(&response(
                "404 Not Found",
                &[],
                r#"{"error": {"message": "no"}}"#,
            ));
        };
        let Some(status) = next["status"].as_u64() else { return Ok(()) };
        let headers = next["headers"].as_object().into_iter().flatten();
        let headers: Vec<String> =
            headers.map(|(name, value)| format!("{name}: {}", value.as_str().unwrap())).collect();
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let body = match &next["body"] {
            Value::String(text) => text.clone(),
            body => body.to_string(),
        };
        stream.write_all(&response(&format!("{status} Recorded"), &headers, body))
    })
}

/// Method, path and query of a recorded request.
fn key_of(request: &Value) -> String {
    let query = request["query"].as_object().into_iter().flatten();
    let query: Vec<String> =
        query.map(|(name, value)| format!("{name}={}", value.as_str().unwrap())).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("{} {}{query}", request["method"].as_str().unwrap(), request["path"].as_str().unwrap())
}

/// Checks that a server was sent what was recorded. Repeated requests may be sent more or less often.
pub fn assert_sent(requests: &[Request], exchanges: &[Value]) {
    let mut sent: Vec<(String, Value)> = Vec::new();
    for request in requests {
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let one = (format!("{} {}", request.method, request.path), body);
        if sent.last() != Some(&one) {
            sent.push(one);
        }
    }
    let mut recorded: Vec<(String, Value)> = Vec::new();
    for exchange in exchanges {
        let request = &exchange["request"];
        let one = (key_of(request), request["body"].clone());
        if recorded.last() != Some(&one) {
            recorded.push(one);
        }
    }
    assert_eq!(sent, recorded);
}
