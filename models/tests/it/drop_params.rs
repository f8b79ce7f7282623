//! Parameters that a server refuses by name.

use std::{fs, io::Write as _, path::Path};

use evaluator_models::{
    Answer, Broker, Call, Cassette, ErrorKind, JsonSchema, Limits, Mode, ModelError, Params,
    Providers, Redactor, Request,
};
use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

use crate::server::{DECOY, chat, connect, request, settings};

/// Starts a server that answers `text`, but refuses requests with one of these parameters: at `place` of the body, with the
/// status and the body of the error.
fn refusing(
    place: &'static str,
    refusals: Vec<(&'static str, &'static str, Value)>,
    answer: String,
) -> Server {
    Server::start(move |request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let params = body.pointer(place).unwrap_or(&Value::Null);
        let refused = refusals.iter().find(|(name, ..)| params.get(name).is_some());
        stream.write_all(&match refused {
            Some((_, status, error)) => response(status, &[], error.to_string()),
            None => response("200 OK", &[], answer.clone()),
        })
    })
}

fn unsupported(name: &'static str) -> (&'static str, &'static str, Value) {
    let message = format!("Unsupported value: '{name}' does not support 0 with this model.");
    let error = json!({"message": message, "type": "invalid_request_error", "param": name, "code": "unsupported_value"});
    (name, "400 Bad Request", json!({"error": error}))
}

fn with(params: Params) -> Request {
    Request { params, ..request() }
}

fn temperature_and_seed() -> Request {
    with(Params { temperature: Some(0.0), seed: Some(7), ..Params::default() })
}

fn ask(broker: &Broker, server: &Server, request: &Request) -> Result<Answer, ModelError> {
    let endpoint = connect(server, "openai/gpt-5");
    broker.ask(&Call { drop_params: true, ..Call::new(&*endpoint, request) })
}

fn bodies(server: &Server) -> Vec<Value> {
    server.requests().iter().map(|it| serde_json::from_slice(&it.body).unwrap()).collect()
}

#[test]
fn a_refused_parameter_is_left_out_of_the_next_request() {
    let anthropic =
        json!({"content": [{"type": "text", "text": "valid"}], "stop_reason": "end_turn"});
    let gemini = json!({"candidates": [{"content": {"parts": [{"text": "valid"}]}, "finishReason": "STOP"}]});
    let deprecated = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."}});
    let unknown = json!([{"error": {"code": 400, "status": "INVALID_ARGUMENT",
        "message": "Invalid JSON payload received. Unknown name \"seed\" at 'generation_config': Cannot find field."}}]);
    let format = json!({"error": {"message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "type": "invalid_request_error", "param": "response_format", "code": null}});
    let forbidden = json!({"object": "error", "type": "invalid_request_error", "param": null, "message":
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 7}]}});
    let schema = JsonSchema { name: "reply".to_owned(), schema: json!({"type": "object"}) };
    let temperature = Params { temperature: Some(0.0), top_p: Some(0.5), ..Params::default() };
    let seed = Params { seed: Some(7), top_p: Some(0.5), ..Params::default() };
    let schema = Params { json_schema: Some(schema), top_p: Some(0.5), ..Params::default() };
    let (status, unprocessable) = ("400 Bad Request", "422 Unprocessable Entity");
    for (model, place, params, refusal, answer) in [
        ("openai/gpt-5", "", &temperature, unsupported("temperature"), chat("valid")),
        ("azure/judge", "", &schema, ("response_format", status, format), chat("valid")),
        ("mistral/m", "", &seed, ("seed", unprocessable, forbidden), chat("valid")),
        ("claude-x", "", &temperature, ("temperature", status, deprecated), anthropic.to_string()),
        ("gemini-x", "/generationConfig", &seed, ("seed", status, unknown), gemini.to_string()),
    ] {
        let name = refusal.0;
        let server = refusing(place, vec![refusal], answer);
        let (broker, clock) = crate::server::broker();
        let endpoint = connect(&server, model);
        let request = with(params.clone());
        let call = Call::new(&*endpoint, &request);
        let answer = broker.ask(&Call { drop_params: true, ..call }).unwrap();
        assert_eq!((&*answer.reply.text, answer.attempts), ("valid", 2), "{model}");
        assert_eq!(answer.dropped_params, [name], "{model}");
        assert!(clock.waits().is_empty(), "{model}: it is not a failure that passes");
        let sent = bodies(&server);
        let params = |at: usize| sent[at].pointer(place).unwrap();
        assert!(params(0).get(name).is_some() && params(1).get(name).is_none(), "{model}");
        let top_p = |at: usize| params(at).get("top_p").or(params(at).get("topP")).cloned();
        assert_eq!((top_p(0), top_p(1)), (Some(json!(0.5)), Some(json!(0.5))), "{model}");

        // The next call leaves it out at once; one that does not permit it is an error.
        let answer = broker.ask(&Call { drop_params: true, ..call }).unwrap();
        assert_eq!((answer.attempts, answer.dropped_params), (1, vec![name.to_owned()]), "{model}");
        let error = broker.ask(&call).unwrap_err();
        assert_eq!((error.kind, error.attempts), (ErrorKind::InvalidRequest, 1), "{model}");
        assert_eq!(server.requests().len(), 4, "{model}");
    }
}

#[test]
fn each_refused_parameter_is_dropped_once_and_other_refusals_are_errors() {
    let server = refusing("", vec![unsupported("temperature"), unsupported("seed")], chat("valid"));
    let (broker, _) = crate::server::broker();
    let answer = ask(&broker, &server, &temperature_and_seed()).unwrap();
    assert_eq!(
        (answer.attempts, answer.dropped_params.join(" ")),
        (3, "seed temperature".to_owned())
    );

    // The server refuses what is not sent any more.
    let (_, status, body) = unsupported("temperature");
    let server = Server::always(response(status, &[], body.to_string()));
    let error = ask(&broker, &server, &temperature_and_seed()).unwrap_err();
    assert_eq!((error.kind, error.attempts), (ErrorKind::InvalidRequest, 2));
    assert_eq!(server.requests().len(), 2);

    // A limit of tokens is sent or the call fails.
    let server = refusing("", vec![unsupported("max_completion_tokens")], chat("valid"));
    let limited = with(Params { max_output_tokens: Some(9), ..Params::default() });
    assert_eq!(ask(&broker, &server, &limited).unwrap_err().kind, ErrorKind::InvalidRequest);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn failures_that_pass_have_all_their_attempts_after_a_refusal() {
    let (_, status, body) = unsupported("temperature");
    let failed = ("503 Unavailable", vec![], String::new());
    let server = crate::server::start(vec![(status, vec![], body.to_string()), failed]);
    let (broker, clock) = crate::server::broker();
    let error = ask(&broker, &server, &temperature_and_seed()).unwrap_err();
    assert_eq!((error.kind, error.attempts), (ErrorKind::Unavailable, 7));
    assert_eq!(clock.waits().len(), 5);
}

#[test]
fn debug_text_of_a_refusal_has_no_key() {
    let message = format!("Unrecognized request argument supplied: seed ({DECOY})");
    let body = json!({"error": {"message": message}}).to_string();
    let server = Server::always(response("400 Bad Request", &[], body));
    let error = ask(&crate::server::broker().0, &server, &temperature_and_seed()).unwrap_err();
    assert!(!format!("{error:?}").contains("decoy"), "{error:?}");
}

fn recording(path: &Path, mode: Mode) -> Broker {
    let cassette = Cassette::open(path, mode, Redactor::default()).unwrap();
    Broker::new(Limits::default()).with_cassette(cassette)
}

#[test]
fn a_replay_finds_what_was_asked_without_the_parameter() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let server = refusing("", vec![unsupported("temperature"), unsupported("seed")], chat("valid"));
    let broker = recording(&path, Mode::Auto);
    let recorded = ask(&broker, &server, &temperature_and_seed()).unwrap();
    broker.cassette().unwrap().save().unwrap();
    let lines: Vec<Value> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [record] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&record["params"], &record["key"]), (&json!({}), &json!(recorded.key)));
    let dropped: Vec<&Value> = record["dropped"].as_object().unwrap().values().collect();
    assert_eq!(dropped, [&json!(["seed", "temperature"])]);

    let endpoint =
        Providers::default().connect("openai/gpt-5", &settings("http://127.0.0.1:9")).unwrap();
    for mode in [Mode::Replay, Mode::Auto] {
        let broker = recording(&path, mode);
        let request = temperature_and_seed();
        let call = Call { drop_params: true, ..Call::new(&*endpoint, &request) };
        for answer in [broker.recorded(&call).unwrap().unwrap(), broker.ask(&call).unwrap()] {
            assert_eq!((answer.is_replayed, answer.attempts), (true, 0), "{mode:?}");
            assert_eq!((&answer.key, &answer.reply), (&recorded.key, &recorded.reply), "{mode:?}");
            assert_eq!(answer.dropped_params, recorded.dropped_params, "{mode:?}");
        }
    }
    // Other parameters are another request, and so is one that may not drop any.
    let broker = recording(&path, Mode::Replay);
    for (seed, drop_params) in [(8, true), (7, false)] {
        let params = Params { temperature: Some(0.0), seed: Some(seed), ..Params::default() };
        let call = with(params);
        let call = Call { drop_params, ..Call::new(&*endpoint, &call) };
        let error = broker.ask(&call).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotInCassette, "{error}");
    }
    // What is recorded again is asked again.
    let broker = recording(&path, Mode::Record);
    assert_eq!(ask(&broker, &server, &temperature_and_seed()).unwrap().attempts, 3);
    broker.cassette().unwrap().save().unwrap();
    let again: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(again, *record);
}

#[test]
fn a_request_without_the_parameter_shares_the_record_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let plain = request();
    let mut texts = Vec::new();
    for (name, plain_first) in [("first", true), ("last", false)] {
        let path = directory.path().join(name);
        let server =
            refusing("", vec![unsupported("temperature"), unsupported("seed")], chat("valid"));
        let broker = recording(&path, Mode::Auto);
        let order = if plain_first { [true, false] } else { [false, true] };
        for is_plain in order {
            let asked = if is_plain { &plain } else { &temperature_and_seed() };
            ask(&broker, &server, asked).unwrap();
        }
        broker.cassette().unwrap().save().unwrap();
        let answers = bodies(&server).iter().filter(|it| it.get("seed").is_none()).count();
        assert_eq!(answers, 1, "the second call takes the reply of the first");
        texts.push(fs::read_to_string(&path).unwrap());
    }
    assert_eq!(texts[0], texts[1]);
    // The records of two branches that were merged.
    let merged = directory.path().join("merged");
    let record: Value = serde_json::from_str(&texts[0]).unwrap();
    let mut without = record.clone();
    without.as_object_mut().unwrap().remove("dropped");
    fs::write(&merged, format!("{without}\n{record}\n{without}\n")).unwrap();
    evaluator_models::tidy(&merged, None, &evaluator_models::Waits::default()).unwrap();
    assert_eq!(fs::read_to_string(&merged).unwrap(), texts[0]);
}
