//! What real proxies were asked and answered, of all generations.

use evaluator_sdk::target::{Info, Reply, Request, TargetClient, TargetError};
use serde_json::{Value, json};

use super::proxy::{Exchange, Proxy, TOKEN, recording};

const GENERATIONS: [&str; 3] = ["agentv-2.5.1.txt", "agentv-4.42.4.txt", "agentv-5.txt"];

fn request(value: &Value) -> Request {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let mut request = Request::new(text("question").unwrap_or_default());
    request.system_prompt = text("systemPrompt").or_else(|| text("system_prompt"));
    request.eval_case_id = text("evalCaseId");
    request.attempt = value["attempt"].as_u64().map(|number| number.try_into().unwrap());
    request.target = text("target");
    request
}

fn requests(value: &Value) -> Vec<Request> {
    value
        .as_array()
        .map_or_else(|| vec![Request::new("x")], |items| items.iter().map(request).collect())
}

/// What a client makes of it, as a line.
fn outcome(exchange: &Exchange, client: &TargetClient) -> String {
    let said = |reply: Reply| {
        assert_eq!(reply.output.len(), 1);
        assert_eq!(reply.output[0].text(), reply.text().unwrap());
        format!("said {}", reply.raw_text.unwrap())
    };
    let none = Value::Null;
    let body = exchange.body.as_ref().unwrap_or(&none);
    let line = match exchange.line.as_str() {
        "POST /invoke" => client.invoke(request(body)).map(said),
        "POST /invokeBatch" => client.invoke_batch(requests(&body["requests"])).map(|replies| {
            let line = |reply: Result<Reply, TargetError>| {
                reply.map(said).unwrap_or_else(|error| error.to_string())
            };
            format!("{:?}", replies.into_iter().map(line).collect::<Vec<_>>())
        }),
        _ => client.info().map(
            |Info { target_name, max_calls, call_count, available_targets, .. }| {
                format!("{target_name} {call_count}/{max_calls} {}", available_targets.join(" "))
            },
        ),
    };
    line.unwrap_or_else(|error| error.to_string())
}

/// What has to come of each.
fn expected(generation: &str, name: &str) -> String {
    let echo = |text: &str| match generation {
        "agentv-2.5.1.txt" => format!("said judge-echo {text}"),
        _ => format!("said judge-echo[{text}]"),
    };
    const FINE: &str = r#"said {"score": 0.75, "reasoning": "mock judge says fine"}"#;
    const UNKNOWN: &str =
        "there is no target `nope`; there are local_agent, mock_judge, cli_judge, bad_judge";
    const MISSING: &str = "the request cannot be used: Missing required field: question";
    const FAILED: &str = "the target failed: boom (exit code 3)";
    const EXHAUSTED: &str =
        "the limit of 9 calls of the target is used up (the host's `max_calls` sets it)";
    let info =
        |calls: u32| format!("mock_judge {calls}/9 local_agent mock_judge cli_judge bad_judge");
    match name {
        "info ok" => info(0),
        "info after" => info(4),
        "info after batch" => info(7),
        "info end" => info(9),
        "bad token" | "no token" => "the target proxy does not accept the token".to_owned(),
        "wrong path" | "info with query" | "GET invoke" => {
            "the response is not one of a target proxy: it does not know the path (Not found)"
                .to_owned()
        }
        "invoke default" | "invoke question only" => FINE.to_owned(),
        "invoke named target" => echo("hello 'quoted' judge"),
        "invoke unknown target" => UNKNOWN.to_owned(),
        "invoke missing question" | "invoke empty question" => MISSING.to_owned(),
        "invoke bad json" => {
            "the target failed: Expected property name or '}' in JSON at position 1".to_owned()
        }
        "invoke failing provider" => FAILED.to_owned(),
        "batch ok+bad" => format!("{:?}", [FINE, &echo("q2"), UNKNOWN, MISSING, FAILED]),
        "batch not array" => {
            "the request cannot be used: Missing required field: requests (array)".to_owned()
        }
        "batch empty" => "[]".to_owned(),
        "snake_case system prompt" | "camelCase system prompt" => echo("sp?"),
        "batch exceeding" | "last allowed" | "exceeded" | "exceeded, missing question" => {
            EXHAUSTED.to_owned()
        }
        other => panic!("nothing is expected of `{other}`"),
    }
}

#[test]
fn every_recorded_answer_means_the_same_however_it_comes() {
    for generation in GENERATIONS {
        let recording = recording(generation);
        assert_eq!(recording.len(), 26, "{generation}");
        for exchange in &recording {
            for pieces in [1, 2, 5, 61, usize::MAX] {
                let proxy = Proxy::replying(exchange.response.clone(), pieces);
                let outcome = outcome(exchange, &proxy.client());
                assert_eq!(
                    outcome,
                    expected(generation, &exchange.name),
                    "{generation}: {}",
                    exchange.name
                );
            }
        }
    }
}

#[test]
fn requests_are_those_that_real_proxies_were_asked() {
    for generation in GENERATIONS {
        for exchange in recording(generation) {
            // The others a client cannot send, or has no reason to.
            const SENT: [&str; 8] = [
                "info ok",
                "invoke default",
                "invoke question only",
                "invoke named target",
                "invoke unknown target",
                "invoke empty question",
                "batch ok+bad",
                "camelCase system prompt",
            ];
            if !SENT.contains(&exchange.name.as_str()) {
                continue;
            }
            let proxy = Proxy::replying(exchange.response.clone(), usize::MAX);
            outcome(&exchange, &proxy.client());
            let received = proxy.received();
            assert_eq!(received.line, format!("{} HTTP/1.1", exchange.line));
            assert_eq!(received.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
            assert_eq!(received.header("connection"), Some("close"));
            let mut body = exchange.body.clone();
            if exchange.name == "batch ok+bad" {
                body.as_mut().unwrap()["requests"][3] = json!({"question": ""});
            }
            match body {
                Some(body) => {
                    assert_eq!(received.header("content-type"), Some("application/json"));
                    assert_eq!(received.json(), body, "{generation}: {}", exchange.name);
                }
                None => {
                    assert_eq!((received.header("content-length"), received.body.len()), (None, 0))
                }
            }
        }
    }
}
