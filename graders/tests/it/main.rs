//! Tests of the client against a server on the loopback interface.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod cleanup;
mod recorded;

use std::time::Duration;

use evaluator_graders::hosted::{EvalsClient, EvalsError, EvalsServer, Graded, Job};
use evaluator_models::{Cancel, Server, Settings, VirtualClock};
use evaluator_test_support::server::{self, Request};
use serde_json::{Value, json};

/// A key that must not occur in any message.
const DECOY: &str = "sk-decoy-0123456789";

fn client_of(server: &server::Server) -> EvalsServer {
    let base = format!("{}/v1", server.url());
    let mut settings = Settings::new(|name| (name == "OPENAI_API_KEY").then(|| DECOY.to_owned()));
    settings.base_url = Some(base);
    let server = Server::openai(&settings, true).unwrap();
    EvalsServer { server, headers: vec![("OpenAI-Organization", "org-1".to_owned())] }
}

fn job(items: &[&str], timeout: u64) -> Job<'static> {
    Job {
        name: "n",
        item_schema: json!({"type": "object"}),
        criterion: json!({"type": "string_check"}),
        items: items.iter().map(|text| json!({"actual_response": text})).collect(),
        timeout: Duration::from_secs(timeout),
    }
}

type Result = std::result::Result<Graded, (EvalsError, Vec<String>)>;

fn grade(server: &server::Server, job: &Job<'_>, clock: &VirtualClock) -> Result {
    EvalsClient::new(&client_of(server), clock, &Cancel::default()).grade(job)
}

fn is(method: &str, path: &str) -> impl Fn(&Request) -> bool {
    move |request: &Request| request.method == method && request.path == path
}

fn listing(request: &Request) -> bool {
    is("GET", "/v1/evals?order=desc&limit=20")(request)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
