//! The evaluators of the hosts' guides, run as programs: what they answer to documents of their hosts, ordinary and odd.

#![expect(clippy::disallowed_methods, reason = "the programs under test are started here")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};

/// What a program answers to a document, or what it says on standard error and its exit code.
fn judge_with(
    environment: &[(&str, &str)],
    program: &str,
    document: &Value,
) -> Result<Value, (String, i32)> {
    let mut child = Command::new(program)
        .env_remove("AGENTV_PROVIDER_PROXY_URL")
        .env_remove("AGENTV_TARGET_PROXY_URL")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The documents are smaller than a pipe.
    child.stdin.take().unwrap().write_all(document.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).unwrap());
    }
    assert!(output.stdout.is_empty());
    Err((String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap()))
}

fn judge(program: &str, document: &Value) -> Result<Value, (String, i32)> {
    judge_with(&[], program, document)
}

/// An agentevals document with these turns: what was answered, and how many tools were called.
fn conversation(turns: &[(Value, usize)], config: &Value) -> Value {
    let call = json!({"name": "search", "args": {}});
    let turns = turns.iter().map(|(answer, calls)| {
        json!({"invocation_id": "t", "user_content": "Well?", "final_response": answer,
               "intermediate_steps": {"tool_calls": vec![&call; *calls], "tool_responses": []}})
    });
    json!({"protocol_version": "1.0", "metric_name": "guide", "threshold": 0.7, "config": config,
           "invocations": turns.collect::<Vec<_>>(), "expected_invocations": null})
}

/// An answer in agentevals' terms.
fn scored(score: f64, per_turn: &[f64]) -> Value {
    json!({"score": score, "status": null, "per_invocation_scores": per_turn, "details": null})
}

#[test]
fn response_quality() {
    let program = env!("CARGO_BIN_EXE_response_quality");
    let turns =
        [json!("The answer is 4."), json!("4"), json!(null), json!("")].map(|answer| (answer, 0));
    for (turns, config, expected) in [
        (&turns[..], json!({}), scored(0.375, &[1.0, 0.5, 0.0, 0.0])),
        (&turns[..1], json!({"min_length": 16}), scored(1.0, &[1.0])),
        (&turns[..1], json!({"min_length": 17}), scored(0.5, &[0.5])),
        (&turns[1..2], json!({"min_length": 1, "unknown": true}), scored(1.0, &[1.0])),
        (&[], json!({}), scored(0.0, &[])),
    ] {
        assert_eq!(judge(program, &conversation(turns, &config)), Ok(expected), "{config}");
    }
    let (message, code) =
        judge(program, &conversation(&turns, &json!({"min_length": "20"}))).unwrap_err();
    assert!(message.contains("config.min_length: invalid type: string"), "{message}");
    assert_eq!(code, 3);
}

#[test]
fn tool_check() {
    let program = env!("CARGO_BIN_EXE_tool_check");
    for (calls, score) in [
        (&[1][..], 1.0),
        (&[3, 1], 1.0),
        (&[0], 0.5),
        (&[1, 0, 2], 0.5),
        (&[0, 0], 0.0),
        (&[0, 0, 0, 5], 0.0),
        (&[], 1.0),
    ] {
        let turns: Vec<(Value, usize)> = calls.iter().map(|calls| (json!("4"), *calls)).collect();
        let expected = Ok(scored(score, &[]));
        assert_eq!(judge(program, &conversation(&turns, &json!({}))), expected, "{calls:?}");
    }
}

/// The parts of an answer that AgentV 2.5 reads.
fn rows(answer: &Value) -> Value {
    let mut rows = json!({});
    for key in ["score", "hits", "misses", "reasoning"] {
        rows[key] = answer[key].clone();
    }
    rows
}

#[test]
fn keyword_check() {
    let program = env!("CARGO_BIN_EXE_keyword_check");
    for (document, expected) in [
        (
            json!({"candidate_answer": "async fn f() {}", "question": "q", "expected_outcome": "o"}),
            json!({"score": 0.5, "hits": ["Contains required keyword: async"],
                   "misses": ["Missing required keyword: await"], "reasoning": "Found 1/2 required keywords"}),
        ),
        (
            // The form of 4.40 and later.
            json!({"criteria": "", "output": "ASYNC", "config": {"keywords": ["ASYNC"]}}),
            json!({"score": 1.0, "hits": ["Contains required keyword: ASYNC"], "misses": [],
                   "reasoning": "Found 1/1 required keywords"}),
        ),
    ] {
        assert_eq!(rows(&judge(program, &document).unwrap()), expected, "{document}");
    }
    let nothing = json!({"candidate_answer": "async", "config": {"keywords": []}});
    let (message, code) = judge(program, &nothing).unwrap_err();
    assert_eq!(
        (message.as_str(), code),
        ("error: keyword_check: there are no keywords in the config\n", 1)
    );
}

#[test]
fn expected_outcome() {
    let program = env!("CARGO_BIN_EXE_expected_outcome");
    let document = json!({
        "candidate_answer": "Paris is the capital, see map.pdf.", "question": "q", "expected_outcome": "Paris",
        "guideline_files": ["/evals/style.md"], "input_files": ["/evals/files/map.pdf", "map.pdf"],
    });
    assert_eq!(
        rows(&judge(program, &document).unwrap()),
        json!({"score": 0.75,
               "hits": ["Answer matches expected outcome", "Mentions attachment: map.pdf", "Mentions attachment: map.pdf"],
               "misses": ["Missing attachment: style.md"], "reasoning": "Passed 3/4 checks"})
    );
    let document =
        json!({"candidate_answer": "paris", "question": "q", "expected_outcome": "Paris"});
    assert_eq!(judge(program, &document).unwrap()["score"], 0.0);
    let (message, code) = judge(program, &json!({"criteria": "", "output": "Paris"})).unwrap_err();
    assert!(message.contains("the document has no expected outcome"), "{message}");
    assert_eq!(code, 1);
}

#[test]
fn execution_metrics() {
    let program = env!("CARGO_BIN_EXE_execution_metrics");
    for (summary, expected) in [
        (
            json!({"event_count": 10, "tool_names": [], "tool_calls_by_name": {}, "error_count": 0}),
            json!({"score": 1.0, "hits": ["Efficient execution"], "misses": [], "reasoning": null}),
        ),
        (
            json!({"event_count": 11, "tool_names": [], "tool_calls_by_name": {}, "error_count": 0}),
            json!({"score": 0.5, "hits": [], "misses": ["Too many tool calls"], "reasoning": null}),
        ),
        (
            json!(null),
            json!({"score": 0.5, "hits": [], "misses": [], "reasoning": "No trace available"}),
        ),
    ] {
        let document = json!({"candidate_answer": "a", "question": "q", "trace_summary": summary});
        assert_eq!(rows(&judge(program, &document).unwrap()), expected, "{document}");
    }
}

/// A proxy that answers one batch, and the texts it answers with.
fn proxy(texts: &[&str]) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let responses: Vec<Value> =
        texts.iter().map(|text| json!({"outputMessages": [], "rawText": text})).collect();
    let body = json!({"responses": responses}).to_string();
    let asked = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut from = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            from.read_line(&mut head).unwrap();
        }
        let (_, length) = head.split_once("Content-Length: ").unwrap();
        let mut question = vec![0; length.lines().next().unwrap().parse().unwrap()];
        from.read_exact(&mut question).unwrap();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        )
        .unwrap();
        head + &String::from_utf8(question).unwrap()
    });
    (url, asked)
}

#[test]
fn contextual_precision() {
    let program = env!("CARGO_BIN_EXE_contextual_precision");
    let found = json!({"results": ["Paris is the capital of France.", 5, "The Eiffel Tower is in Paris.", "France is in Europe."]});
    let document = json!({
        "question": "What is the capital of France?", "expected_outcome": "Paris is the capital",
        "candidate_answer": "Paris.", "expected_messages": [
            {"role": "assistant", "tool_calls": [{"tool": "vector_search", "input": {"query": "capital"}, "output": found}]},
            {"role": "assistant", "content": "Paris is the capital of France."}],
    });
    let alone = judge(program, &document).unwrap();
    assert_eq!(
        (&alone["score"], &alone["misses"]),
        (&json!(0.0), &json!(["Target not configured"]))
    );

    for (texts, score) in [
        (
            [r#"{"relevant": true}"#, r#"{"relevant": false}"#, r#"{"relevant": true}"#],
            (1.0 + 2.0 / 3.0) / 2.0,
        ),
        (["no", r#"{"relevant": "true"}"#, r#"{"relevant": true, "reasoning": "x"}"#], 1.0 / 3.0),
        (["{}", "", r#"{"relevant": null}"#], 0.0),
    ] {
        let (url, asked) = proxy(&texts);
        let environment =
            [("AGENTV_TARGET_PROXY_URL", &*url), ("AGENTV_TARGET_PROXY_TOKEN", "secret")];
        let answer = judge_with(&environment, program, &document).unwrap();
        assert!((answer["score"].as_f64().unwrap() - score).abs() < 1e-9, "{answer}");
        let asked = asked.join().unwrap();
        assert!(asked.starts_with("POST /invokeBatch HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("Authorization: Bearer secret\r\n"), "{asked}");
        assert_eq!(asked.matches("\"question\"").count(), 3, "{asked}");
    }
    let (url, _) = proxy(&[r#"{"relevant": true}"#, "Error: boom", "{}"]);
    let environment =
        [("AGENTV_PROVIDER_PROXY_URL", &*url), ("AGENTV_PROVIDER_PROXY_TOKEN", "secret")];
    let (message, code) = judge_with(&environment, program, &document).unwrap_err();
    assert!(message.contains("the target failed: boom"), "{message}");
    assert_eq!(code, 1);
}

/// An ADK document with the recorded and the expected answer of each turn.
fn metric(turns: &[(Value, Value)], expected: bool) -> Value {
    let turn = |parts: &Value| {
        json!({"invocation_id": "e-1", "user_content": {"parts": [{"text": "Well?"}]},
                                      "final_response": {"parts": parts, "role": "model"}})
    };
    let all = |which: fn(&(Value, Value)) -> &Value| {
        turns.iter().map(|pair| turn(which(pair))).collect::<Vec<_>>()
    };
    json!({"eval_metric": {"metric_name": "guide", "criterion": {"threshold": 0.8}},
           "actual_invocations": all(|(actual, _)| actual),
           "expected_invocations": expected.then(|| all(|(_, expected)| expected)),
           "conversation_scenario": null})
}

#[test]
fn adk_exact_match() {
    let program = env!("CARGO_BIN_EXE_adk_exact_match");
    let noon = json!([{"text": "At noon."}]);
    let noon_in_parts = json!([{"text": "At "}, {"text": "noon."}]);
    let same = (noon.clone(), noon_in_parts);
    let other = (noon.clone(), json!([{"text": "At one."}]));
    let passed = json!({"score": 1.0, "eval_status": 1});
    let failed = json!({"score": 0.0, "eval_status": 2});
    assert_eq!(
        judge(program, &metric(&[same.clone(), same.clone()], true)),
        Ok(
            json!({"overall_score": 1.0, "overall_eval_status": 1, "per_invocation_results": [passed, passed]})
        )
    );
    assert_eq!(
        judge(program, &metric(&[same.clone(), other], true)),
        Ok(
            json!({"overall_score": 0.5, "overall_eval_status": 2, "per_invocation_results": [passed, failed]})
        )
    );
    assert_eq!(
        judge(program, &metric(&[same], false)),
        Ok(json!({"overall_score": 0.0, "overall_eval_status": 3, "per_invocation_results": []}))
    );
    let picture = json!([{"inline_data": {"data": "AAAA", "mime_type": "image/png"}}]);
    let (message, code) = judge(program, &metric(&[(picture, noon)], true)).unwrap_err();
    assert!(message.contains("the final response of the turn `e-1` is not all text"), "{message}");
    assert_eq!(code, 1);
}

#[test]
fn adk_profanity() {
    let program = env!("CARGO_BIN_EXE_adk_profanity");
    let said = |text: &str| (json!([{"text": text}]), json!([]));
    assert_eq!(
        judge(program, &metric(&[said("Gladly."), said("What PROFANITY!")], false)),
        Ok(json!({"overall_score": 0.5, "overall_eval_status": 2, "per_invocation_results": [
            {"score": 1.0, "eval_status": 1}, {"score": 0.0, "eval_status": 2}]}))
    );
    let mut document = metric(&[said("What PROFANITY!"), said("Drat.")], true);
    document["eval_metric"]["criterion"] = json!({"threshold": 0.5, "words": ["DRAT"]});
    let answer = judge(program, &document).unwrap();
    assert_eq!(
        (&answer["overall_score"], &answer["overall_eval_status"]),
        (&json!(0.5), &json!(1))
    );
}

#[test]
fn agenta_exact_match() {
    let program = env!("CARGO_BIN_EXE_agenta_exact_match");
    for (output, score) in [("Paris", 1.0), ("paris", 0.0), ("Paris ", 0.0), ("", 0.0)] {
        let inputs = json!({"country": "France", "correct_answer": "Paris"});
        for document in [
            json!({"app_params": {}, "inputs": inputs, "output": output, "correct_answer": "Paris"}),
            json!({"inputs": inputs, "outputs": output, "trace": null}),
            json!({"inputs": inputs, "output": output}),
        ] {
            let expected = json!({"score": score, "success": score == 1.0});
            assert_eq!(judge(program, &document), Ok(expected), "{document}");
        }
    }
    let number = json!({"app_params": {}, "inputs": {}, "output": "4", "correct_answer": 4});
    let (message, code) = judge(program, &number).unwrap_err();
    assert!(
        message.contains("correct_answer: invalid type: integer `4`, expected a string"),
        "{message}"
    );
    assert_eq!(code, 3);
}
