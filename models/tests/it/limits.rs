//! Budgets, deadlines, cancellation and concurrency of calls.

use std::{
    io::Write as _,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use evaluator_models::{
    Broker, Budget, BudgetLimits, Call, Cancel, ErrorKind, Fake, Limits, ModelError, Price, Prices,
    Providers, Reply, Retries, Usage, VirtualClock,
};
use evaluator_test_support::server::{Server, read_request, response};

use crate::server::{DECOY, broker, chat, connect, request, settings, start};

fn budget(limits: BudgetLimits) -> Budget {
    Budget::new("the run", limits, Prices::default())
}

#[test]
fn a_spent_budget_of_calls_is_exact_and_an_error() {
    let server = start(vec![("200 OK", vec![], chat("valid"))]);
    let (broker, _) = broker();
    let endpoint = connect(&server, "gpt-4o-mini");
    let budgets = [budget(BudgetLimits { calls: Some(5), ..BudgetLimits::default() })];
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let request = request();
                let call = Call { budgets: &budgets, ..Call::new(&*endpoint, &request) };
                match broker.ask(&call) {
                    Ok(_) => drop(answered.fetch_add(1, Ordering::SeqCst)),
                    Err(error) => assert_eq!(error.kind, ErrorKind::BudgetExceeded),
                }
            });
        }
    });
    assert_eq!((server.requests().len(), answered.into_inner()), (5, 5));
    assert_eq!(budgets[0].spent().tokens, 260);
}

#[test]
fn repetitions_count_as_calls() {
    let server = start(vec![("500 X", vec![], String::new())]);
    let (broker, _) = broker();
    let budgets = [budget(BudgetLimits { calls: Some(3), ..BudgetLimits::default() })];
    let (endpoint, request) = (connect(&server, "gpt-4o-mini"), request());
    let call = Call { budgets: &budgets, ..Call::new(&*endpoint, &request) };
    let error = broker.ask(&call).unwrap_err();
    assert_eq!((error.kind, server.requests().len()), (ErrorKind::BudgetExceeded, 3));
}

#[test]
fn answers_have_their_cost() {
    let price = |text: &str| text.parse().unwrap();
    let prices = Prices::new([(
        "fake/script".to_owned(),
        Price { input: price("0.15"), output: price("0.6"), cached_input: None },
    )]);
    let usage = Some(Usage { input: 1000, output: 10, ..Usage::default() });
    let model = Fake::replies([Ok(Reply { text: "valid".to_owned(), usage, ..Reply::default() })]);
    let (broker, request) = (Broker::new(Limits::default()), request());
    let call = Call { prices: Some(&prices), ..Call::new(&model, &request) };
    let answer = broker.ask(&call).unwrap();
    assert_eq!(answer.cost.unwrap().to_string(), "0.000156");
}

#[test]
fn an_answer_without_usage_under_a_budget_of_tokens_is_an_error() {
    let body = r#"{"choices": [{"message": {"content": "valid"}, "finish_reason": "stop"}]}"#;
    let server = start(vec![("200 OK", vec![], body.to_owned())]);
    let (broker, _) = broker();
    let (endpoint, request) = (connect(&server, "gpt-4o-mini"), request());
    let budgets = [budget(BudgetLimits { tokens: Some(100), ..BudgetLimits::default() })];
    let call = Call { budgets: &budgets, ..Call::new(&*endpoint, &request) };
    assert_eq!(broker.ask(&call).unwrap_err().kind, ErrorKind::UsageMissing);
    broker.ask(&Call::new(&*endpoint, &request)).unwrap();
}

#[test]
fn counts_of_tokens_that_are_no_counts_are_as_absent_ones() {
    const OPENAI: (&str, &str) = (
        "gpt-4o-mini",
        r#"{"choices": [{"message": {"content": "valid"}, "finish_reason": "stop"}], "usage": USAGE}"#,
    );
    const CLAUDE: (&str, &str) = (
        "claude-sonnet-4",
        r#"{"content": [{"type": "text", "text": "valid"}], "stop_reason": "end_turn", "usage": USAGE}"#,
    );
    const GEMINI: (&str, &str) = (
        "gemini-2.5-flash",
        r#"{"candidates": [{"content": {"parts": [{"text": "valid"}]}, "finishReason": "STOP"}], "usageMetadata": USAGE}"#,
    );
    let mut rows = vec![
        (OPENAI, r#"{"prompt_tokens": 1, "completion_tokens": null}"#.to_owned()),
        (CLAUDE, r#"{"input_tokens": 1, "output_tokens": "2"}"#.to_owned()),
        (CLAUDE, r#"{"input_tokens": 1, "cache_read_input_tokens": -1}"#.to_owned()),
        (GEMINI, r#"{"promptTokenCount": 1, "thoughtsTokenCount": 0.5}"#.to_owned()),
    ];
    for count in ["null", "\"40\"", "0.5", "-1", "18446744073709551616", "[]"] {
        for (shape, key) in
            [(OPENAI, "prompt_tokens"), (CLAUDE, "input_tokens"), (GEMINI, "promptTokenCount")]
        {
            rows.push((shape, format!(r#"{{"{key}": {count}}}"#)));
        }
    }
    for ((model, answer), usage) in rows {
        let server = start(vec![("200 OK", vec![], answer.replace("USAGE", &usage))]);
        let (broker, _) = broker();
        let (endpoint, request) = (connect(&server, model), request());
        let budgets = [budget(BudgetLimits { tokens: Some(100), ..BudgetLimits::default() })];
        let call = Call { budgets: &budgets, ..Call::new(&*endpoint, &request) };
        let error = broker.ask(&call).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UsageMissing, "{model} {usage}");
        let answer = broker.ask(&Call::new(&*endpoint, &request)).unwrap();
        assert_eq!(answer.reply.usage, None, "{model} {usage}");
    }
    // Counts that servers leave empty because there is nothing to count.
    let usage = r#"{"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": null}"#;
    let server = start(vec![("200 OK", vec![], CLAUDE.1.replace("USAGE", usage))]);
    let endpoint = connect(&server, CLAUDE.0);
    let answer = broker().0.ask(&Call::new(&*endpoint, &request())).unwrap();
    assert_eq!(answer.reply.usage.unwrap().total(), 3);
}

/// Starts a server that keeps connections open, and sends a surplus answer `late` after the first answer of each.
fn surplus(late: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let answer = |text: &str| {
        let response = String::from_utf8(response("200 OK", &[], chat(text))).unwrap();
        response.replace("Connection: close\r\n", "")
    };
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let connections = Arc::clone(&connections);
            thread::spawn(move || -> std::io::Result<()> {
                for number in 0.. {
                    if read_request(&stream)?.method.is_empty() {
                        break;
                    }
                    let first = connections.fetch_add(1, Ordering::SeqCst);
                    // The first answer of the server is followed by one that nothing asked for.
                    stream.write_all(answer(&format!("answer {first}")).as_bytes())?;
                    if number == 0 {
                        thread::sleep(late);
                        stream.write_all(answer("surplus").as_bytes())?;
                    }
                }
                Ok(())
            });
        }
    });
    url
}

#[test]
fn a_surplus_answer_never_answers_the_next_request() {
    // While the connection is idle, and while the next request is under way.
    for (late, pause) in
        [(0, 100), (150, 0)].map(|(a, b)| (Duration::from_millis(a), Duration::from_millis(b)))
    {
        let endpoint =
            Providers::default().connect("gpt-4o-mini", &settings(&surplus(late))).unwrap();
        let (broker, _) = broker();
        for number in 0..3 {
            let answer = broker.ask(&Call::new(&*endpoint, &request())).unwrap();
            assert_eq!(answer.reply.text, format!("answer {number}"), "{late:?}");
            thread::sleep(pause);
        }
    }
}

#[test]
fn no_text_of_an_answer_contains_the_key_that_the_server_repeats() {
    let body = serde_json::json!({
        "model": format!("gpt {DECOY}"),
        "choices": [{"message": {"content": DECOY, "reasoning": DECOY}, "finish_reason": DECOY}],
    });
    let server = start(vec![("200 OK", vec![], body.to_string())]);
    let endpoint = connect(&server, "gpt-4o-mini");
    let answer = broker().0.ask(&Call::new(&*endpoint, &request())).unwrap();
    assert_eq!(answer.reply.model_reported.as_deref(), Some("gpt <redacted:OPENAI_API_KEY>"));
    assert!(!format!("{answer:?}").contains(DECOY), "{answer:?}");
}

#[test]
fn a_call_gives_up_after_the_total_time() {
    let retries = Retries { attempts: 100, total: Duration::from_secs(40), ..Retries::default() };
    let clock = VirtualClock::default();
    let broker = Broker::new(Limits { retries, ..Limits::default() }).with_clock(clock.clone());
    let model = Fake::answering(|_| Err(ModelError::new(ErrorKind::Network, "no answer")));
    let error = broker.ask(&Call::new(&model, &request())).unwrap_err();
    // 1 + 2 + 4 + 8 + 16 seconds; the next wait would end after 63.
    assert_eq!((error.kind, clock.waits().len()), (ErrorKind::Network, 5));
    assert!(error.message.starts_with("gave up after 31 s"), "{error}");
}

#[test]
fn waits_do_not_count_against_the_limit_of_an_evaluation() {
    let server = start(vec![
        ("429 X", vec!["retry-after: 50"], String::new()),
        ("200 OK", vec![], chat("valid")),
    ]);
    let (broker, clock) = broker();
    let (endpoint, request) = (connect(&server, "gpt-4o-mini"), request());
    let time_limit = Some(Duration::from_secs(10));
    let call = Call { time_limit, ..Call::new(&*endpoint, &request) };
    let answer = broker.ask(&call).unwrap();
    assert_eq!((answer.attempts, answer.waited), (2, Duration::from_secs(50)));
    assert_eq!(clock.waits(), [Duration::from_secs(50)]);
    let call = Call { time_limit: Some(Duration::ZERO), ..call };
    assert_eq!(broker.ask(&call).unwrap_err().kind, ErrorKind::DeadlineExceeded);
}

#[test]
fn a_server_that_does_not_answer_is_a_timeout() {
    let server = Server::start(|_, _| {
        thread::sleep(Duration::from_secs(5));
        Ok(())
    });
    let retries = Retries { attempts: 1, ..Retries::default() };
    let limits = Limits { timeout: Duration::from_millis(50), retries, ..Limits::default() };
    let error = Broker::new(limits)
        .ask(&Call::new(&*connect(&server, "gpt-4o-mini"), &request()))
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
}

#[test]
fn cancelling_ends_waiting_calls_and_sends_no_more() {
    let server = start(vec![("429 X", vec!["retry-after: 50"], String::new())]);
    let cancel = Cancel::default();
    // The clock of the system: without the cancellation, this would wait for 50 seconds.
    let broker = Broker::new(Limits::default()).cancelled_by(cancel.clone());
    let (endpoint, request) = (connect(&server, "gpt-4o-mini"), request());
    thread::scope(|scope| {
        let call = scope.spawn(|| broker.ask(&Call::new(&*endpoint, &request)));
        while server.requests().is_empty() {
            thread::yield_now();
        }
        cancel.cancel();
        assert_eq!(call.join().unwrap().unwrap_err().kind, ErrorKind::Cancelled);
    });
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn no_more_calls_than_the_limit_are_in_flight() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, highest) = (Arc::clone(&now), Arc::clone(&most));
    let server = Server::start(move |_, stream| {
        highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(2));
        counted.fetch_sub(1, Ordering::SeqCst);
        stream.write_all(&response("200 OK", &[], chat("valid")))
    });
    let (broker, _) = broker();
    let endpoint = connect(&server, "gpt-4o-mini");
    thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| broker.ask(&Call::new(&*endpoint, &request())).unwrap());
        }
    });
    assert_eq!(server.requests().len(), 40);
    assert!(most.load(Ordering::SeqCst) <= 8, "{most:?}");
}
