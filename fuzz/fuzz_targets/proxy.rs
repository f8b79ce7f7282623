//! Requests to the target proxy: each has a response of the protocol, and no request exceeds the limit of calls.
//!
//! The first line is the path, the rest is the body.

#![no_main]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{Arc, OnceLock},
};

use evaluator_models::{
    BrokeredModel, Broker, Fake, Limits, Offer, ProxiedModel, ProxyServer, Reply,
};
use libfuzzer_sys::fuzz_target;

const MAX_CALLS: u64 = 3;

fn offer() -> Arc<Offer> {
    let text = |it: &evaluator_models::Request| Reply {
        text: it.messages.iter().map(|message| message.content.as_str()).collect(),
        ..Reply::default()
    };
    let broker = Arc::new(Broker::new(Limits::default()));
    let model = || {
        let fake = Fake::answering(move |request| Ok(text(request)));
        Arc::new(BrokeredModel::new(Arc::clone(&broker), Arc::new(fake))) as Arc<dyn ProxiedModel>
    };
    let models = vec![("judge".to_owned(), model()), ("other".to_owned(), model())];
    Arc::new(Offer { max_calls: MAX_CALLS, ..Offer::new("fuzzed", models) })
}

fuzz_target!(|data: &[u8]| {
    static SERVER: OnceLock<(ProxyServer, Arc<Offer>)> = OnceLock::new();
    let (server, offer) =
        SERVER.get_or_init(|| (ProxyServer::start().expect("a thread"), offer()));
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let path = match &data[..end] {
        b"batch" => "/invokeBatch",
        b"info" => "/info",
        _ => "/invoke",
    };
    let body = data.get(end + 1..).unwrap_or_default();
    let proxy = server.open(Arc::clone(offer)).expect("a port");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        proxy.token(),
        body.len()
    );
    let mut stream =
        TcpStream::connect(proxy.url().trim_start_matches("http://")).expect("it listens");
    stream.write_all(&[head.as_bytes(), body].concat()).expect("it reads");
    let mut response = Vec::new();
    stream.read_to_end(&mut response).expect("it answers");
    let response = String::from_utf8(response).expect("it is text");
    let (head, text) = response.split_once("\r\n\r\n").expect("a response");
    let status = head.split(' ').nth(1).expect("a status");
    let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    match status {
        "200" => assert!(value["rawText"].is_string() || value["responses"].is_array(), "{text}"),
        "400" | "404" | "429" | "500" => assert!(value["error"].is_string(), "{text}"),
        other => panic!("{other}: {text}"),
    }
    assert!(proxy.close().calls <= MAX_CALLS);
});
