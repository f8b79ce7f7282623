//! A model server that plays a script, and a broker that asks it.

use std::{
    collections::VecDeque,
    io::Write as _,
    sync::{Arc, Mutex},
};

use evaluator_models::{
    Broker, Endpoint, Limits, Message, Providers, Request, Settings, VirtualClock,
};
use evaluator_test_support::server::{Server, response};

/// A key that must not occur in any output.
pub(crate) const DECOY: &str = "sk-decoy-0123456789";

/// One scripted response: status line, headers, body. An empty status closes the connection.
pub(crate) type Scripted = (&'static str, Vec<&'static str>, String);

/// Starts a server that gives these responses in order, the last one again and again.
pub(crate) fn start(script: Vec<Scripted>) -> Server {
    let script = Arc::new(Mutex::new(VecDeque::from(script)));
    Server::start(move |_, stream| {
        let (status, headers, body) = {
            let mut script = script.lock().unwrap();
            let next = script.front().cloned().unwrap();
            if script.len() > 1 {
                script.pop_front();
            }
            next
        };
        if status.is_empty() { Ok(()) } else { stream.write_all(&response(status, &headers, body)) }
    })
}

/// Settings with a key for every provider.
pub(crate) fn settings(base: &str) -> Settings {
    let mut settings = Settings::new(|name| match name {
        "AZURE_API_VERSION" => Some("2024-10-21".to_owned()),
        name => name.ends_with("_KEY").then(|| DECOY.to_owned()),
    });
    settings.base_url = Some(base.to_owned());
    settings
}

pub(crate) fn connect(server: &Server, model: &str) -> Arc<dyn Endpoint> {
    Providers::default().connect(model, &settings(&server.url())).unwrap()
}

pub(crate) fn request() -> Request {
    let mut request = Request::new(vec![
        Message::system("You judge answers."),
        Message::user("Is it Paris?\nAnswer: Paris"),
    ]);
    request.metric = Some("match".to_owned());
    request.location = "match, conversation c1, turn 2".to_owned();
    request
}

pub(crate) fn broker() -> (Broker, VirtualClock) {
    let clock = VirtualClock::default();
    (Broker::new(Limits::default()).with_clock(clock.clone()), clock)
}

/// A good answer of chat completions.
pub(crate) fn chat(text: &str) -> String {
    serde_json::json!({
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52},
    })
    .to_string()
}
