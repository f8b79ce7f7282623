//! Requests and answers recorded with a real client: the same body is sent, and the answer is read.

use evaluator_models::{Call, ErrorKind, JsonSchema, Message, Providers, Request};
use evaluator_test_support::exchanges::cases;
use serde_json::Value;

use crate::server::{broker, settings, start};

fn request_of(body: &Value) -> Request {
    let message = |it: &Value| match it["role"].as_str().unwrap() {
        "system" => Message::system(it["content"].as_str().unwrap()),
        "user" => Message::user(it["content"].as_str().unwrap()),
        role => panic!("role {role}"),
    };
    if let Some(texts) = body["input"].as_array() {
        return Request::embeddings(texts.iter().map(|text| text.as_str().unwrap()));
    }
    let mut request =
        Request::new(body["messages"].as_array().unwrap().iter().map(message).collect());
    let params = &mut request.params;
    for (key, value) in body.as_object().unwrap() {
        match &**key {
            "model" | "messages" => {}
            "temperature" => params.temperature = value.as_f64(),
            "top_p" => params.top_p = value.as_f64(),
            "seed" => params.seed = value.as_i64(),
            "max_completion_tokens" => params.max_output_tokens = value.as_u64(),
            "reasoning_effort" => params.reasoning_effort = value.as_str().map(str::to_owned),
            "response_format" => {
                let schema = &value["json_schema"];
                let name = schema["name"].as_str().unwrap().to_owned();
                params.json_schema = Some(JsonSchema { name, schema: schema["schema"].clone() });
            }
            key => panic!("the exchange has a parameter that is not known here: {key}"),
        }
    }
    request
}

#[test]
fn recorded_exchanges_are_reproduced() {
    let mut seen = 0;
    for (name, case) in cases("openai") {
        let answered = |exchange: &&Value| exchange["response"]["status"] == 200;
        for exchange in case["exchanges"].as_array().unwrap().iter().filter(answered) {
            let (sent, answer) = (&exchange["request"], &exchange["response"]);
            let server = start(vec![("200 OK", vec![], answer["body"].to_string())]);
            let model = sent["body"]["model"].as_str().unwrap();
            let settings = settings(&format!("{}/v1", server.url()));
            let endpoint = Providers::default().connect(model, &settings).unwrap();
            let request = request_of(&sent["body"]);
            let result = broker().0.ask(&Call::new(&*endpoint, &request));

            let got = &server.requests()[0];
            assert_eq!((&*got.method, &*got.path), ("POST", sent["path"].as_str().unwrap()));
            let body: Value = serde_json::from_slice(&got.body).unwrap();
            assert_eq!(body, sent["body"], "{name}");
            seen += 1;
            if let Some(data) = answer["body"]["data"].as_array() {
                let vectors = result.unwrap().reply.vectors().unwrap();
                let expected: Vec<&Value> = data.iter().map(|item| &item["embedding"]).collect();
                assert_eq!(serde_json::json!(vectors), serde_json::json!(expected));
                continue;
            }
            let choice = &answer["body"]["choices"][0];
            if choice["finish_reason"] == "content_filter" {
                assert_eq!(result.unwrap_err().kind, ErrorKind::Blocked);
            } else {
                let reply = result.unwrap().reply;
                assert_eq!(reply.text, choice["message"]["content"].as_str().unwrap());
                assert_eq!(reply.readable().is_err(), reply.text.is_empty());
                assert_eq!(reply.usage.unwrap().total(), answer["body"]["usage"]["total_tokens"]);
            }
        }
    }
    assert!(seen >= 8);
}
