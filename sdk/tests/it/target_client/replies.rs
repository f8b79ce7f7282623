//! What is in an answer, and what in it no proxy says.

use evaluator_sdk::target::{Request, TargetClient, TargetError};
use serde_json::json;

use super::proxy::{Proxy, TOKEN, response};

#[test]
fn tools_and_tokens_are_read() {
    let body = include_str!("../../data/proxy/tools-and-usage.json");
    let reply = Proxy::replying(response("200 OK", body), 3).client().invoke("q").unwrap();
    assert_eq!(reply.text(), Ok("final"));
    let call = &reply.output[0].tool_calls[0];
    assert_eq!((call.tool.as_str(), call.duration_ms), ("grep", Some(5.0)));
    assert_eq!(call.input, Some(json!({"a": 1})));
    assert_eq!(reply.output[1].text(), "final");
    let usage = reply.token_usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cached), (Some(11), Some(7), Some(2)));
}

#[test]
fn answers_without_text_are_replies_without_text() {
    for body in [r#"{"output":[]}"#, r#"{"outputMessages":[],"rawText":null,"tokenUsage":null}"#] {
        let reply = Proxy::replying(response("200 OK", body), 100).client().invoke("q").unwrap();
        assert_eq!(reply.raw_text, None);
        assert_eq!(
            reply.text().unwrap_err().to_string(),
            "the target's answer cannot be read: it has no text"
        );
    }
}

#[test]
fn answers_that_are_no_proxys_are_told_apart() {
    for (body, reason) in [
        ("", "EOF while parsing"),
        ("[]", "invalid type: sequence"),
        (r#"[[],null,"x",null]"#, "invalid type: sequence"),
        ("<html>Welcome</html>", "expected value at line 1 column 1, in `<html>Welcome</html>`"),
        ("{}", "a reply without `output`"),
        (r#"{"output":5}"#, "a reply that cannot be read: invalid type: integer `5`"),
        (r#"{"output":[],"rawText":7}"#, "a reply that cannot be read"),
        ("{\"output\":[],\"rawText\":\"\u{0}\"}", "control character"),
    ] {
        let error =
            Proxy::replying(response("200 OK", body), 100).client().invoke("q").unwrap_err();
        assert!(matches!(error, TargetError::Protocol { .. }), "{body}: {error:?}");
        assert!(error.to_string().contains(reason), "{body}: {error}");
    }
    let body = r#"{"maxCalls":9,"callCount":0}"#;
    let error = Proxy::replying(response("200 OK", body), 100).client().info().unwrap_err();
    assert!(error.to_string().contains("without `targetName` or `providerLabel`"), "{error}");
}

#[test]
fn a_batch_has_as_many_replies_as_requests() {
    let body = r#"{"responses":[{"output":[],"rawText":"a"}]}"#;
    let client = Proxy::replying(response("200 OK", body), 100).client();
    let error = client.invoke_batch(["a", "b"]).unwrap_err();
    assert!(error.to_string().contains("1 replies to a batch of 2"), "{error}");
    // One that cannot be read says nothing of the others.
    let body = r#"{"responses":[{"output":[],"rawText":"a"},{"x":1}]}"#;
    let client = Proxy::replying(response("200 OK", body), 100).client();
    let replies = client.invoke_batch(["a", "b"]).unwrap();
    assert_eq!(replies[0].as_ref().unwrap().text(), Ok("a"));
    assert!(matches!(replies[1], Err(TargetError::Protocol { .. })));
}

#[test]
fn statuses_without_a_proxys_words_keep_what_was_said() {
    for (status, body, expected) in [
        (
            "503 Service Unavailable",
            r#"{"error":"Proxy is shutting down"}"#,
            "the target proxy is shutting down",
        ),
        ("500 Oops", "plain\nwords", "the target failed: plain words"),
        ("429 Too Many", "{}", "the limit of calls of the target is used up: {}"),
        ("302 Found", "", "the response is not one of a target proxy: status 302: "),
        ("201 Created", "{}", "the response is not one of a target proxy: status 201: {}"),
        ("403 Forbidden", "no", "the response is not one of a target proxy: status 403: no"),
    ] {
        let error = Proxy::replying(response(status, body), 100).client().invoke("q").unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn without_requests_nobody_is_asked() {
    let client = TargetClient::new("http://127.0.0.1:9", TOKEN).unwrap();
    assert_eq!(client.invoke_batch(Vec::<Request>::new()), Ok(Vec::new()));
    assert!(!format!("{client:?}").contains(TOKEN));
}
