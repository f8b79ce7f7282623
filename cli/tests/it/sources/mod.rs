//! Evaluators from sources: listed, fetched, kept, pinned and confined.
#![cfg(unix)]

mod hostile;
mod listed;
mod pins;

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use crate::support::{
    finish, has,
    place::{Place, TRACE},
    server::{Answer, raw},
    trace,
};

const POLITE: &str = "evaluators/polite/polite.py";
const CONFIG: &str = "evaluators:\n  - {name: polite, type: remote, ref: evaluators/polite/polite.py}\n  - {name: tool_trajectory_avg_score, type: builtin}\n";

/// A Python evaluator with this score.
fn scores(score: f64) -> String {
    format!("import json, sys\njson.load(sys.stdin)\nprint(json.dumps({{'score': {score}}}))\n")
}

#[test]
fn an_evaluator_is_fetched_once_pinned_and_then_needs_no_network() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    place.server.file("evaluators/polite/requirements.txt", "# none\n");
    let ran = place.run(&[]).exits(0).says("pinned polite in evaluators.lock");
    assert_eq!(ran.evaluations(0), ["polite PASSED", "tool_trajectory_avg_score NOT_EVALUATED"]);
    let cached = place.cached("github/evaluators/polite");
    assert!(cached.join("polite.py").is_file() && cached.join("requirements.txt").is_file());
    let lock = place.lock();
    for part in [
        "version = 1",
        "source = \"github\"",
        POLITE,
        "hash = \"sha256:",
        "agentevals-dev/evaluators/main\"",
    ] {
        assert!(lock.contains(part), "{part}: {lock}");
    }
    assert_eq!(place.server.count(&raw(POLITE)), 1);

    place.server.forget();
    let ran = place.run(&["--locked"]).exits(0);
    assert_eq!(ran.evaluations(0)[0], "polite PASSED");
    assert!(place.server.requests().is_empty(), "{:?}", place.server.requests());
    assert_eq!(place.lock(), lock);
    use std::os::unix::fs::PermissionsExt;
    for directory in ["", "github", "github/evaluators", "github/evaluators/polite"] {
        let mode = fs::metadata(place.cached(directory)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{directory}");
    }
}

#[test]
fn whatever_goes_wrong_while_fetching_is_the_evaluators_error_and_nothing_is_kept() {
    let place = Place::new(CONFIG);
    let url = raw(POLITE);
    for (answer, expected) in [
        (Answer::Status(404, ""), "there is no file at"),
        (Answer::Status(302, "Location: /elsewhere"), "redirects are not followed"),
        (Answer::Status(401, ""), "access denied; set AGENTEVALS_GITHUB_TOKEN or GITHUB_TOKEN"),
        (Answer::Status(403, "X-RateLimit-Remaining: 0"), "too many requests"),
        (Answer::Status(429, ""), "too many requests"),
        (Answer::Status(500, ""), "the server failed"),
        (Answer::Status(204, ""), "answers 204"),
        (Answer::Truncated, "cannot fetch"),
        (Answer::Silence(Duration::from_secs(20)), "no answer from"),
        (Answer::Content(vec![b'#'; (8 << 20) + 1]), "exceeds the limit for fetched files"),
    ] {
        place.server.answer(&url, answer.clone());
        let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
        let ran =
            finish(command.env("AGENTEVALS_EVALUATOR_TIMEOUT", "2").spawn().unwrap()).exits(3);
        let error = ran.error_of("polite");
        assert!(error.contains(expected) && error.contains(&url), "{answer:?}: {error}");
        assert_eq!(ran.evaluations(0)[1], "tool_trajectory_avg_score NOT_EVALUATED");
        assert!(!place.cached("github").join(POLITE).exists(), "{answer:?}");
        assert_eq!(place.lock(), "");
    }
    assert_eq!(place.server.count("/elsewhere"), 0);
    // The requirements are a part of the evaluator: without them it must not run.
    place.server.file(POLITE, scores(1.0));
    place.server.answer(&raw("evaluators/polite/requirements.txt"), Answer::Truncated);
    assert!(place.run(&[]).exits(3).error_of("polite").contains("requirements.txt"));
    assert!(!place.cached("github").join(POLITE).exists());
}

#[test]
fn a_missing_server_and_an_insecure_connection_have_different_errors() {
    let place = Place::new(CONFIG);
    let fetch = |base: &str| {
        let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
        let ran = command.env("AGENTEVALS_EVALUATOR_BASE_URL", base).spawn().unwrap();
        finish(ran).exits(3).error_of("polite")
    };
    assert!(fetch("http://127.0.0.1:9").contains("cannot fetch http://127.0.0.1:9/"));
    let plain_where_tls_is_expected = fetch(&place.server.url().replace("http:", "https:"));
    assert!(
        plain_where_tls_is_expected.contains("no secure connection"),
        "{plain_where_tls_is_expected}"
    );
    let error = fetch("http://mirror.example");
    assert!(error.starts_with("AGENTEVALS_EVALUATOR_BASE_URL must begin with https://"), "{error}");
}

#[test]
fn a_token_goes_to_this_machine_and_is_never_shown() {
    let place = Place::new(CONFIG);
    place.server.answer(&raw(POLITE), Answer::Status(302, "Location: /elsewhere"));
    let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-vv"]);
    command.env("GITHUB_TOKEN", "s3cr3t").env("HTTP_PROXY", "http://127.0.0.1:9");
    let ran = finish(command.spawn().unwrap()).exits(3);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("s3cr3t"));
    let requests = place.server.requests();
    assert!(
        requests.iter().all(|it| it.headers["authorization"] == "token s3cr3t"),
        "{requests:?}"
    );
    assert_eq!(place.server.count("/elsewhere"), 0);
}

#[test]
fn a_fetched_evaluator_sees_no_secrets() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    let program = "import json, os, sys\njson.load(sys.stdin)\n\
                   print(json.dumps({'score': 1.0, 'details': {'seen': sorted(os.environ)}}))\n";
    place.server.file(POLITE, program);
    let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
    command.env("GITHUB_TOKEN", "a").env("OPENAI_API_KEY", "b").env("LC_ALL", "C").env("TZ", "UTC");
    let ran = finish(command.spawn().unwrap()).exits(0);
    let seen = ran.json()["traces"][0]["metrics"][0]["details"]["seen"].clone();
    let seen: Vec<&str> =
        seen.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for name in ["PATH", "HOME", "LC_ALL", "TZ"] {
        assert!(seen.contains(&name), "{name}: {seen:?}");
    }
    let allowed = |name: &&str| {
        ["PATH", "HOME", "TZ", "LANG", "LANGUAGE", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH"].contains(name)
            || name.starts_with("LC_")
            // Systems set these themselves.
            || name.starts_with("__")
    };
    assert!(seen.iter().all(allowed), "{seen:?}");
}

#[test]
fn two_runs_at_once_get_the_same_whole_evaluator() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0) + &"# long\n".repeat(50_000));
    let args = ["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"];
    let children: Vec<_> = (0..4).map(|_| place.command(&args).spawn().unwrap()).collect();
    for child in children {
        assert_eq!(finish(child).exits(0).evaluations(0)[0], "polite PASSED");
    }
    assert_eq!(place.server.count(&raw(POLITE)), 1, "the others wait for the first");
    assert_eq!(place.lock().matches("[[evaluator]]").count(), 1);
    let left: Vec<_> = fs::read_dir(place.cached("github/evaluators/polite"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["polite.py"]);
}

#[test]
fn links_in_the_cache_lead_nowhere() {
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    let outside = place.directory.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(place.cached("github")).unwrap();
    std::os::unix::fs::symlink(&outside, place.cached("github/evaluators")).unwrap();
    let ran = place.run(&[]).exits(3);
    assert!(ran.error_of("polite").contains("is a symbolic link"), "{}", ran.error_of("polite"));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

const INDEX: &str = "evaluators:\n  - name: polite\n    description: |\n      Is it polite?\n      Really?\n    language: python\n    path: evaluators/polite/polite.py\n    tags: [tone]\n    author: me\n";
