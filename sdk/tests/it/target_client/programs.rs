//! Programs whose evaluators ask a model, under the variables of a host.

#![expect(clippy::disallowed_methods, reason = "the programs under test are started here")]

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
};

use evaluator_protocol::{Number, TargetAccess};
use serde_json::Value;

use super::proxy::{Proxy, TOKEN, response};

/// What a program prints and says on standard error, given a document and the variables of a host.
fn program(fixture: &str, document: &str, variables: &[(&str, &str)]) -> (String, String) {
    run(fixture, &[], document, variables)
}

fn run(
    fixture: &str,
    arguments: &[&str],
    input: &str,
    variables: &[(&str, &str)],
) -> (String, String) {
    const NAMES: [&str; 4] = [
        "AGENTV_PROVIDER_PROXY_URL",
        "AGENTV_PROVIDER_PROXY_TOKEN",
        "AGENTV_TARGET_PROXY_URL",
        "AGENTV_TARGET_PROXY_TOKEN",
    ];
    let deps = std::env::current_exe().unwrap();
    let program = deps.parent().unwrap().with_file_name("examples").join("model");
    assert!(
        program.exists(),
        "{} is not built: run all tests of the package, or `cargo build --example model --features target`",
        program.display()
    );
    let mut command = Command::new(program);
    NAMES.iter().for_each(|name| {
        command.env_remove(name);
    });
    let mut child = command
        .args(arguments)
        .env("FIXTURE", fixture)
        .envs(variables.iter().copied())
        // Which would lead elsewhere.
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env("http_proxy", "http://127.0.0.1:9")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    child.wait().unwrap();
    (stdout, stderr)
}

/// Every way to take a model as an argument, with a document for it, and whether the evaluator does without.
const PROGRAMS: [(&str, &str, bool); 5] = [
    ("optional", r#"{"metric_name":"m"}"#, true),
    ("needed", r#"{"candidate_answer":"a"}"#, false),
    ("agentv", r#"{"candidate_answer":"a"}"#, true),
    ("adk", r#"{"eval_metric":{"metric_name":"m"},"actual_invocations":[{}]}"#, true),
    ("agenta", r#"{"inputs":{},"output":"a"}"#, true),
];

/// The score, under whatever name the host has for it.
fn score(answer: &str) -> Option<f64> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    answer["score"].as_f64().or(answer["overall_score"].as_f64())
}

#[test]
fn programs_ask_the_proxy_that_the_environment_names() {
    for generation in ["TARGET", "PROVIDER"] {
        for (fixture, document, _) in PROGRAMS {
            let proxy =
                Proxy::replying(response("200 OK", r#"{"output":[],"rawText":"yes"}"#), 100);
            let names = ["URL", "TOKEN"].map(|name| format!("AGENTV_{generation}_PROXY_{name}"));
            let variables = [(&*names[0], &*proxy.url()), (&*names[1], TOKEN)];
            let (stdout, stderr) = program(fixture, document, &variables);
            assert_eq!(score(&stdout), Some(1.0), "{fixture}: {stdout}{stderr}");
            assert_eq!(proxy.received().json()["question"], "Is it good?");
        }
    }
}

#[test]
fn programs_without_a_proxy_do_without_or_say_what_is_missing() {
    for (fixture, document, optional) in PROGRAMS {
        let (stdout, stderr) = program(fixture, document, &[]);
        if optional {
            assert_eq!(score(&stdout), Some(0.5), "{fixture}: {stdout}{stderr}");
        } else {
            let message = "argument `target`: target not configured";
            assert!(stdout.is_empty() && stderr.contains(message), "{stdout}{stderr}");
        }
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_an_error_also_where_none_is_needed() {
    let (fixture, document, _) = PROGRAMS[0];
    for (url, token, message) in [
        ("http://127.0.0.1:9", "", "AGENTV_TARGET_PROXY_TOKEN: is not set"),
        (
            "http://proxy.example.com",
            TOKEN,
            "AGENTV_TARGET_PROXY_URL: `proxy.example.com` is not this machine",
        ),
        ("http://127.0.0.1:1", TOKEN, "the connection to the target proxy failed: 127.0.0.1:1"),
    ] {
        let variables = [("AGENTV_TARGET_PROXY_URL", url), ("AGENTV_TARGET_PROXY_TOKEN", token)];
        let (stdout, stderr) = program(fixture, document, &variables);
        assert_eq!(stdout, "", "{url}");
        assert!(stderr.contains(message) && !stderr.contains(TOKEN), "{url}: {stderr}");
    }
}

#[test]
fn a_document_of_a_stream_has_a_proxy_of_its_own() {
    let describe = run("optional", &["--describe"], "", &[]).0;
    assert!(describe.contains(r#""capabilities":["stream","numbered","target"]"#), "{describe}");
    let said = |text: &str| {
        let body = serde_json::json!({"output": [], "rawText": text}).to_string();
        Proxy::replying(response("200 OK", &body), 100)
    };
    let (yes, no, environment) = (said("yes"), said("no"), said("yes"));
    let tokens = ["a", "b"].map(|digit| digit.repeat(64));
    let document = PROGRAMS[0].1;
    let input = format!(
        "{}0 {document}\n{}1 {document}\n2 {document}\n{}4 {document}\n",
        TargetAccess::new(yes.url(), &tokens[0]).to_line(Number(0)),
        TargetAccess::new(no.url(), &tokens[1]).to_line(Number(1)),
        // Of a document that does not follow.
        TargetAccess::new("http://127.0.0.1:9", "x").to_line(Number(3)),
    );
    let variables =
        [("AGENTV_TARGET_PROXY_URL", &*environment.url()), ("AGENTV_TARGET_PROXY_TOKEN", TOKEN)];
    let (stdout, stderr) = run("optional", &["--stream"], &input, &variables);
    let scores: Vec<_> = stdout.lines().map(|line| score(&line[2..])).collect();
    // The environment is asked once and answers one connection, so the last document has an error.
    assert_eq!(scores, [Some(1.0), Some(0.0), Some(1.0), None], "{stdout}{stderr}");
    for (proxy, token) in [(yes, &*tokens[0]), (no, &tokens[1]), (environment, TOKEN)] {
        let expected = format!("Bearer {token}");
        assert_eq!(proxy.received().header("authorization"), Some(&*expected));
    }
    assert!(!format!("{stdout}{stderr}").contains(&tokens[0]));
}

#[test]
fn a_line_that_only_looks_like_an_access_is_answered() {
    let (stdout, _) = run("optional", &["--stream"], "\u{1e}{}\n\u{1e}7 {}\n", &[]);
    assert_eq!(stdout.matches(r#""kind":"input""#).count(), 2, "{stdout}");
}
