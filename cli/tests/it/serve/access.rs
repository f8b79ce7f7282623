//! Who may ask.

use super::{AGENTEVALS, SAME, WEBHOOK};
use crate::support::{self, Directory, serving::Serving};

#[test]
fn a_token_is_asked_for_if_there_is_one() {
    let directory = Directory::new();
    directory.script("same", SAME);
    directory.file("token", "s3cret\n");
    let by_file = Serving::start(&directory, &["same", "--token-file", "token"]);
    let by_variable =
        Serving::start_with(&directory, &["same"], &[("EVALUATOR_SERVE_TOKEN", "s3cret")]);
    for server in [by_file, by_variable] {
        server.get("/healthz").is(200);
        let asked = |headers: &[&str]| server.request("POST", "/evaluators/same", headers, WEBHOOK);
        let refused = asked(&[]).is(401);
        assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
        assert!(refused.text().contains("a token is required"), "{}", refused.body);
        assert_eq!(asked(&["Authorization: Bearer s3cre"]).is(401).text(), "the token is wrong");
        asked(&["Authorization: Basic s3cret"]).is(401);
        asked(&["Authorization: Bearer s3cret"]).is(200);
        for path in ["/evaluators", "/evaluators?token=s3cret", "/openapi.json", "/nowhere"] {
            assert_eq!(server.get(path).is(401).kind(), "unauthorized");
        }
        // With the token, a web page is accepted, too.
        asked(&["Authorization: Bearer s3cret", "Origin: http://example.com"]).is(200);
        assert!(!server.said().contains("s3cret"), "{}", server.said());
    }
}

#[test]
fn without_a_token_only_this_machine_is_served() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let serve = |args: &[&str], token: Option<&str>| {
        let mut command = directory.command(&[&["serve", "same"], args].concat());
        command.env_remove("EVALUATOR_SERVE_TOKEN");
        token.map(|token| command.env("EVALUATOR_SERVE_TOKEN", token));
        support::finish(command.spawn().unwrap())
    };
    serve(&["--addr", "0.0.0.0:0"], None).exits(2).says("can be reached from other machines");
    serve(&["--addr", "0.0.0.0:0"], Some(""))
        .exits(2)
        .says("EVALUATOR_SERVE_TOKEN: the token is empty or has");
    directory.file("empty", "\n");
    serve(&["--token-file", "empty"], Some("good"))
        .exits(2)
        .says("empty: the token is empty or has");
    serve(&["--addr", "nonsense"], None).exits(2);
    serve(&["--addr", "192.0.2.1:1"], Some("good")).exits(3).says("cannot listen on 192.0.2.1:1");
}

#[test]
fn web_pages_are_refused_where_there_is_no_token() {
    let directory = Directory::new();
    directory.script("same", SAME);
    let known = Serving::start(&directory, &["same", "--allow-host", "judge.example"]);
    for (method, path, header) in [
        ("POST", "/evaluators/same", "Origin: http://evil.example\r\nContent-Type: text/plain"),
        ("POST", "/evaluators/same", "Origin: null"),
        ("OPTIONS", "/evaluators/same", "Origin: http://evil.example"),
        ("GET", "/evaluators", "Origin: http://evil.example"),
        // Its name points to this machine.
        ("GET", "/evaluators", "Host: evil.example:8700"),
        ("POST", "/", "Host: evil.example"),
        ("POST", "http://evil.example/", "Accept: */*"),
    ] {
        let refused = known.request(method, path, &[header], AGENTEVALS).is(403);
        assert_eq!(refused.kind(), "web_page", "{method} {path} {header}");
        assert!(!refused.head.contains("access-control"), "{}", refused.head);
    }
    let asked = |header: &str| known.request("POST", "/", &[header], WEBHOOK);
    assert!(asked("Host: evil.example").is(403).text().contains("--allow-host"));
    for host in ["localhost:8700", "[::1]", "host.docker.internal:8700", "judge.example:80"] {
        asked(&format!("Host: {host}")).is(200);
    }
    known.request("GET", "/healthz", &["Host: balancer.example"], "").is(200);
    directory
        .evaluator(&["serve", "same", "--allow-host", "http://judge.example"])
        .exits(2)
        .says("without a scheme or a port");
}
