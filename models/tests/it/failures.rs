//! What the broker does with every failure of a provider: requests, waits, kind of the error, and what is recorded.

use std::fs;

use evaluator_models::{Broker, Call, Cassette, Limits, Mode, Redactor, VirtualClock};
use serde_json::json;

use crate::server::{DECOY, Scripted, chat, connect, request, start};

const OPENAI: &str = "openai/gpt-4o-mini";
const CLAUDE: &str = "claude-sonnet-4";
const GEMINI: &str = "gemini-2.5-flash";
const AZURE: &str = "azure/judge";

/// A row: what the server does, and what must come of it.
struct Row {
    name: &'static str,
    model: &'static str,
    script: Vec<Scripted>,
    requests: usize,
    /// Seconds of waits.
    waits: &'static [f64],
    /// Kind of the error; `ok` for an answer; `unreadable: CAUSE` for an answer that cannot be read.
    result: &'static str,
    /// A text of the error.
    message: &'static str,
    is_recorded: bool,
}

/// Waits of six requests without a wait of the server.
const BACKOFF: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0];

fn error(status: &'static str, headers: &[&'static str], body: serde_json::Value) -> Scripted {
    (status, headers.to_vec(), json!({ "error": body }).to_string())
}

fn good() -> Scripted {
    ("200 OK", vec![], chat("valid"))
}

fn answer(choice: serde_json::Value) -> Scripted {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 512,
        "completion_tokens_details": {"reasoning_tokens": 500}});
    let body = json!({"model": "gpt-4o-mini", "choices": [choice], "usage": usage});
    ("200 OK", vec![], body.to_string())
}

fn gemini(body: serde_json::Value) -> Scripted {
    ("200 OK", vec![], body.to_string())
}

fn failed(
    name: &'static str,
    model: &'static str,
    script: Vec<Scripted>,
    requests: usize,
    waits: &'static [f64],
    result: &'static str,
    message: &'static str,
) -> Row {
    let is_recorded = result == "ok" || result.starts_with("unreadable");
    Row { name, model, script, requests, waits, result, message, is_recorded }
}

/// A failure that is the server's final answer, so it is recorded.
fn refused(
    name: &'static str,
    model: &'static str,
    script: Scripted,
    result: &'static str,
    message: &'static str,
) -> Row {
    Row { is_recorded: true, ..failed(name, model, vec![script], 1, &[], result, message) }
}

fn transient() -> Vec<Row> {
    let limited = |headers: &[&'static str]| {
        error(
            "429 Too Many",
            headers,
            json!({"message": "slow", "type": "requests", "code": "rate_limit_exceeded"}),
        )
    };
    let gemini_limited = |delay: &str, quota: &str| {
        let details = json!([
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
        ]);
        error(
            "429 Too Many",
            &[],
            json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota", "details": details}),
        )
    };
    let good_gemini = || {
        gemini(
            json!({"candidates": [{"content": {"parts": [{"text": "valid"}]}, "finishReason": "STOP"}]}),
        )
    };
    let closed = || ("", vec![], String::new());
    vec![
        failed("rate limit", OPENAI, vec![limited(&["retry-after: 7"]), good()], 2, &[7.0], "ok", ""),
        failed("rate limit in ms", AZURE, vec![limited(&["retry-after: 9", "retry-after-ms: 250"]), good()], 2, &[0.25], "ok", ""),
        failed("rate limit without a wait", OPENAI, vec![limited(&[])], 6, BACKOFF, "rate_limited", "after 6 requests"),
        failed("rate limit for hours", OPENAI, vec![limited(&["retry-after: 36000"])], 1, &[], "rate_limited", "retry after 10h"),
        failed("rate limit, Anthropic", CLAUDE, vec![
            error("429 Too Many", &["retry-after: 3"], json!({"type": "rate_limit_error", "message": "slow"})),
            error("429 Too Many", &["retry-after: 5"], json!({"type": "rate_limit_error", "message": "slow"})),
            ("200 OK", vec![], json!({"content": [{"type": "text", "text": "valid"}], "stop_reason": "end_turn"}).to_string()),
        ], 3, &[3.0, 5.0], "ok", ""),
        failed("per minute, Gemini", GEMINI, vec![gemini_limited("45.5s", "PerMinutePerProject"), good_gemini()], 2, &[45.5], "ok", ""),
        failed("per day, Gemini", GEMINI, vec![gemini_limited("4s", "GenerateRequestsPerDayPerProject")], 1, &[], "rate_limited", ""),
        failed("longer than permitted, Gemini", GEMINI, vec![gemini_limited("61s", "PerMinute")], 1, &[], "rate_limited", "retry after 61.0s"),
        failed("overloaded, Anthropic", CLAUDE, vec![error("529 Overloaded", &[], json!({"type": "overloaded_error", "message": "x"}))], 6, BACKOFF, "unavailable", ""),
        failed("overloaded with status 200", CLAUDE, vec![error("200 OK", &[], json!({"type": "overloaded_error", "message": "x"}))], 6, BACKOFF, "unavailable", ""),
        failed("500", OPENAI, vec![error("500 Internal", &[], json!({"message": "x"})), good()], 2, &[1.0], "ok", ""),
        failed("502", OPENAI, vec![("502 Bad Gateway", vec![], "<html>".to_owned()), good()], 2, &[1.0], "ok", ""),
        failed("503", GEMINI, vec![error("503 Unavailable", &[], json!({"status": "UNAVAILABLE", "message": "x"})), good_gemini()], 2, &[1.0], "ok", ""),
        failed("504, 408, 409", OPENAI, vec![("504 X", vec![], String::new()), ("408 X", vec![], String::new()), ("409 X", vec![], String::new()), good()], 4, &[1.0, 2.0, 4.0], "ok", ""),
        failed("connection closed", OPENAI, vec![closed(), closed(), good()], 3, &[1.0, 2.0], "ok", ""),
        failed("connection always closed", OPENAI, vec![closed()], 6, BACKOFF, "network", "after 6 requests"),
    ]
}

fn never_repeated() -> Vec<Row> {
    let row = |name, model, status, body, result, message| {
        failed(name, model, vec![error(status, &[], body)], 1, &[], result, message)
    };
    vec![
        row(
            "quota",
            OPENAI,
            "429 X",
            json!({"message": "quota", "type": "insufficient_quota", "code": "insufficient_quota"}),
            "quota",
            "",
        ),
        row(
            "credit",
            OPENAI,
            "429 X",
            json!({"message": "x", "code": "credit_balance_exhausted"}),
            "quota",
            "",
        ),
        row(
            "spend limit, Anthropic",
            CLAUDE,
            "429 X",
            json!({"type": "rate_limit_error", "message": "x", "details": {"error_code": "enforced_spend_limit_reached"}}),
            "quota",
            "",
        ),
        row("payment", OPENAI, "402 X", json!({"message": "pay"}), "quota", ""),
        row(
            "invalid",
            OPENAI,
            "400 X",
            json!({"message": "bad sk-decoy-0123456789 value", "code": "invalid_value"}),
            "invalid_request",
            "bad <redacted:OPENAI_API_KEY> value",
        ),
        row(
            "no model",
            OPENAI,
            "404 X",
            json!({"message": "no such model", "code": "model_not_found"}),
            "not_found",
            "no such model",
        ),
        row(
            "too large",
            CLAUDE,
            "413 X",
            json!({"type": "request_too_large", "message": "x"}),
            "invalid_request",
            "413",
        ),
        row("unprocessable", OPENAI, "422 X", json!({"message": "x"}), "invalid_request", "422"),
        row(
            "too long",
            OPENAI,
            "400 X",
            json!({"message": "x", "code": "context_length_exceeded"}),
            "too_long",
            "",
        ),
        row(
            "too long, Anthropic",
            CLAUDE,
            "400 X",
            json!({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"}),
            "too_long",
            "",
        ),
        row(
            "key",
            OPENAI,
            "401 X",
            json!({"message": "Incorrect API key: sk-decoy-0123456789", "code": "invalid_api_key"}),
            "unauthorized",
            "OPENAI_API_KEY",
        ),
        row(
            "key, Anthropic",
            CLAUDE,
            "401 X",
            json!({"type": "authentication_error", "message": "x"}),
            "unauthorized",
            "ANTHROPIC_API_KEY",
        ),
        row(
            "key, Gemini",
            GEMINI,
            "400 X",
            json!({"status": "INVALID_ARGUMENT", "message": "x", "details": [{"reason": "API_KEY_INVALID"}]}),
            "unauthorized",
            "GEMINI_API_KEY",
        ),
        row(
            "scope, Gemini",
            GEMINI,
            "403 X",
            json!({"status": "PERMISSION_DENIED", "message": "x"}),
            "unauthorized",
            "GEMINI_API_KEY",
        ),
        row(
            "temperature",
            OPENAI,
            "400 X",
            json!({"message": "x", "code": "unsupported_value", "param": "temperature"}),
            "invalid_request",
            "remove `params.temperature`",
        ),
        row(
            "max_tokens",
            "hosted_vllm/m",
            "400 X",
            json!({"message": "x", "code": "unsupported_parameter", "param": "max_tokens"}),
            "invalid_request",
            "max_tokens_key: max_completion_tokens",
        ),
        row(
            "input filter, Azure",
            AZURE,
            "400 X",
            json!({"message": "filtered", "code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}),
            "blocked",
            "judged text",
        ),
        failed(
            "redirect",
            OPENAI,
            vec![("302 Found", vec!["location: http://127.0.0.1:1/"], String::new())],
            1,
            &[],
            "invalid_request",
            "redirects",
        ),
    ]
}

fn answers() -> Vec<Row> {
    let message =
        |content, reason: &str| json!({"message": {"content": content}, "finish_reason": reason});
    let unreadable = |name, script, result| failed(name, OPENAI, vec![script], 1, &[], result, "");
    let once =
        |name, script: Scripted| failed(name, OPENAI, vec![script], 2, &[1.0], "bad_answer", "");
    let broken = |reason: &'static str| {
        let content = json!({"parts": [{"text": "valid"}]});
        let script = gemini(json!({"candidates": [{"content": content, "finishReason": reason}]}));
        let result = format!("unreadable: broken: the server ended it with `{reason}`");
        failed(reason, GEMINI, vec![script], 1, &[], result.leak(), "")
    };
    let candidate = |reason| gemini(json!({"candidates": [{"finishReason": reason}]}));
    vec![
        unreadable(
            "cut off",
            answer(message(json!("valid"), "length")),
            "unreadable: cut off at 512 tokens (500 of them thinking)",
        ),
        unreadable("empty", answer(message(json!(""), "stop")), "unreadable: empty"),
        unreadable("null", answer(message(json!(null), "stop")), "unreadable: empty"),
        unreadable(
            "tool call",
            answer(message(json!(null), "tool_calls")),
            "unreadable: a tool call",
        ),
        unreadable(
            "thinking only",
            answer(
                json!({"message": {"content": "<think>valid</think>", "reasoning_content": "valid"}, "finish_reason": "stop"}),
            ),
            "unreadable: empty",
        ),
        failed(
            "cut off, Gemini",
            GEMINI,
            vec![candidate("MAX_TOKENS")],
            1,
            &[],
            "unreadable: cut off",
            "",
        ),
        unreadable(
            "ended by its length, in other words",
            answer(message(json!("valid"), "model_length")),
            "unreadable: broken: the server ended it with `model_length`",
        ),
        unreadable(
            "ended by an error",
            answer(message(json!("valid"), "error")),
            "unreadable: broken: the server ended it with `error`",
        ),
        unreadable(
            "ended for no reason",
            answer(json!({"message": {"content": "valid"}})),
            "unreadable: of unknown length: the server does not say why it ended",
        ),
        failed(
            "paused, Anthropic",
            CLAUDE,
            vec![(
                "200 OK",
                vec![],
                json!({"content": [{"type": "text", "text": "valid"}], "stop_reason": "pause_turn"})
                    .to_string(),
            )],
            1,
            &[],
            "unreadable: broken: the server ended it with `pause_turn`",
            "",
        ),
        broken("OTHER"),
        broken("MALFORMED_RESPONSE"),
        broken("LANGUAGE"),
        broken("MALFORMED_FUNCTION_CALL"),
        once(
            "choices by number",
            (
                "200 OK",
                vec![],
                json!({"choices": {"0": message(json!("valid"), "stop")}}).to_string(),
            ),
        ),
        refused(
            "output filter",
            OPENAI,
            answer(message(json!("half"), "content_filter")),
            "blocked",
            "withheld",
        ),
        refused("output filter, Gemini", GEMINI, candidate("SAFETY"), "blocked", "SAFETY"),
        refused("recitation, Gemini", GEMINI, candidate("RECITATION"), "blocked", "RECITATION"),
        refused(
            "input filter, Gemini",
            GEMINI,
            gemini(json!({"promptFeedback": {"blockReason": "OTHER"}})),
            "blocked",
            "judged text",
        ),
        refused(
            "refusal",
            OPENAI,
            answer(
                json!({"message": {"content": null, "refusal": "I cannot"}, "finish_reason": "stop"}),
            ),
            "refused",
            "I cannot",
        ),
        refused(
            "refusal, Anthropic",
            CLAUDE,
            ("200 OK", vec![], json!({"content": [], "stop_reason": "refusal"}).to_string()),
            "refused",
            "",
        ),
        once("no choices", ("200 OK", vec![], json!({"choices": []}).to_string())),
        once("html", ("200 OK", vec![], "<html>hello</html>".to_owned())),
        once("error object", error("200 OK", &[], json!({"message": "proxy failed"}))),
        once("half an answer", ("200 OK", vec![], "{\"choices\":".to_owned())),
        failed(
            "bad, then good",
            OPENAI,
            vec![("200 OK", vec![], "[]".to_owned()), good()],
            2,
            &[1.0],
            "ok",
            "",
        ),
    ]
}

#[test]
fn every_failure_is_handled_as_the_table_says() {
    let rows = transient().into_iter().chain(never_repeated()).chain(answers());
    for row in rows {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.jsonl");
        let server = start(row.script);
        let endpoint = connect(&server, row.model);
        let clock = VirtualClock::default();
        let cassette = Cassette::open(&path, Mode::Auto, Redactor::default()).unwrap();
        let broker =
            Broker::new(Limits::default()).with_clock(clock.clone()).with_cassette(cassette);
        let result = broker.ask(&Call::new(&*endpoint, &request()));
        broker.cassette().unwrap().save().unwrap();

        let came = match &result {
            Ok(answer) => match answer.reply.readable() {
                Ok(_) => "ok".to_owned(),
                Err(cause) => format!("unreadable: {cause}"),
            },
            Err(error) => error.kind.to_string(),
        };
        let name = row.name;
        assert!(came.starts_with(row.result), "{name}: {came}, {result:?}");
        let text = result.as_ref().map_or_else(ToString::to_string, |_| String::new());
        assert!(text.contains(row.message), "{name}: {text}");
        assert_eq!(server.requests().len(), row.requests, "{name}: requests");
        let waits: Vec<f64> = clock.waits().iter().map(std::time::Duration::as_secs_f64).collect();
        assert_eq!(waits, row.waits, "{name}: waits");
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(recorded.lines().count(), usize::from(row.is_recorded), "{name}: {recorded}");

        // The key was sent, and is nowhere else.
        assert!(format!("{:?}", server.requests()).contains(DECOY), "{name}");
        for text in [recorded, text, format!("{result:#?} {broker:#?} {endpoint:#?}")] {
            assert!(!text.contains("decoy"), "{name}: {text}");
        }
    }
}

#[test]
fn a_wrong_key_or_a_spent_quota_stops_the_queue() {
    for (status, body) in [
        ("401 X", json!({"message": "x", "code": "invalid_api_key"})),
        ("429 X", json!({"message": "x", "code": "insufficient_quota"})),
    ] {
        let server = start(vec![error(status, &[], body)]);
        let (broker, _) = crate::server::broker();
        let endpoint = connect(&server, OPENAI);
        let first = broker.ask(&Call::new(&*endpoint, &request())).unwrap_err();
        // Another model of the same server and key.
        let other = connect(&server, "gpt-5");
        let second = broker.ask(&Call::new(&*other, &request())).unwrap_err();
        assert_eq!((first.kind, &first.message), (second.kind, &second.message));
        assert_eq!((first.attempts, second.attempts), (1, 0));
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_long_wait_of_the_server_holds_the_whole_queue() {
    let body = json!({"message": "x", "code": "rate_limit_exceeded"});
    let server = start(vec![error("429 X", &["retry-after: 36000"], body)]);
    let (broker, clock) = crate::server::broker();
    let endpoint = connect(&server, OPENAI);
    for _ in 0..3 {
        let error = broker.ask(&Call::new(&*endpoint, &request())).unwrap_err();
        assert!(error.message.contains("retry after 10h"), "{error}");
    }
    assert_eq!((server.requests().len(), clock.waits().len()), (1, 0));
}
