//! Evaluators from sources: listed, fetched, kept, pinned and confined.
#![cfg(unix)]

mod support;

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use support::{
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
    assert_eq!(place.server.asked(&raw(POLITE)), 1);

    place.server.forget();
    let ran = place.run(&["--locked"]).exits(0);
    assert_eq!(ran.evaluations(0)[0], "polite PASSED");
    assert!(place.server.requests().is_empty(), "{:?}", place.server.requests());
    assert_eq!(place.lock(), lock);
    use std::os::unix::fs::PermissionsExt;
    for folder in ["", "github", "github/evaluators", "github/evaluators/polite"] {
        let mode = fs::metadata(place.cached(folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}

#[test]
fn a_tampered_cache_is_refused_and_update_repairs_it() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(0.25));
    place.run(&[]).exits(1);
    fs::write(place.cached("github").join(POLITE), scores(1.0)).unwrap();
    let ran = place.evaluator(&["check", "c.yaml"]).exits(2);
    assert!(ran.stdout.contains("was changed since it was fetched"), "{}", ran.stdout);
    let ran = place.run(&[]).exits(3);
    assert_eq!(ran.evaluations(0)[0], "polite ERROR prepare_failed");
    let error = ran.error_of("polite");
    assert!(
        error.contains("was changed since it was fetched") && error.contains("evaluator update"),
        "{error}"
    );

    let ran = place.evaluator(&["update", "c.yaml"]).exits(0);
    assert!(ran.stdout.contains("(unchanged)"), "{}", ran.stdout);
    assert_eq!(place.run(&[]).exits(1).evaluations(0)[0], "polite FAILED");
}

#[test]
fn what_changed_at_the_source_is_refused_until_it_is_accepted() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(0.25));
    place.run(&[]).exits(1);
    let lock = place.lock();
    place.server.file(POLITE, scores(1.0));
    // Delete to refresh.
    fs::remove_file(place.cached("github").join(POLITE)).unwrap();
    let ran = place.run(&[]).exits(3);
    let error = ran.error_of("polite");
    assert!(
        error.contains("is pinned to sha256:") && error.contains("`evaluator update`"),
        "{error}"
    );
    assert!(!place.cached("github").join(POLITE).exists(), "what is refused is not kept");
    assert_eq!(place.lock(), lock);

    let ran = place.evaluator(&["update", "c.yaml", "polite"]).exits(0);
    assert!(ran.stdout.contains(" -> sha256:"), "{}", ran.stdout);
    assert_ne!(place.lock(), lock);
    assert_eq!(place.run(&["--locked"]).exits(0).evaluations(0)[0], "polite PASSED");

    // Somebody else's older cache follows the lock file, if the source still has what is pinned.
    place.server.file(POLITE, scores(0.25));
    place.evaluator(&["update", "c.yaml"]).exits(0);
    fs::write(place.folder.path().join("evaluators.lock"), &lock).unwrap();
    assert_eq!(place.run(&[]).exits(1).evaluations(0)[0], "polite FAILED");
}

#[test]
fn a_lock_that_moved_on_takes_an_older_cache_with_it() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(0.25));
    place.run(&[]).exits(1);
    place.server.file(POLITE, scores(1.0));
    let other = Place::new(CONFIG);
    other.server.file(POLITE, scores(1.0));
    other.run(&[]).exits(0);
    fs::write(place.folder.path().join("evaluators.lock"), other.lock()).unwrap();
    let ran = place.evaluator(&["check", "c.yaml"]).exits(0);
    assert!(ran.stdout.contains("to be fetched from"), "{}", ran.stdout);
    assert_eq!(place.run(&["--locked"]).exits(0).evaluations(0)[0], "polite PASSED");
}

#[test]
fn locked_runs_pin_nothing() {
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    let ran = place.run(&["--locked"]).exits(3);
    assert!(ran.error_of("polite").contains("is not pinned in evaluators.lock"));
    assert_eq!(place.lock(), "");
    assert!(place.server.requests().is_empty());
    let ran = place.evaluator(&["check", "c.yaml", "--frozen"]).exits(2);
    assert!(ran.stdout.contains("is not pinned"), "{}", ran.stdout);
}

#[test]
fn a_lock_that_cannot_be_read_is_an_error_and_stays_as_it_is() {
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    for (text, complaint) in [
        ("version = 7\n", "unknown version 7"),
        ("version = 1\n[[evaluator]]\nref = 5\n", "evaluators.lock:3:7: `ref` must be text"),
        ("<<<<<<< HEAD\n", "evaluators.lock:1:"),
    ] {
        place.folder.file("evaluators.lock", text);
        let ran = place.run(&[]).exits(3);
        assert!(ran.error_of("polite").contains(complaint), "{}", ran.error_of("polite"));
        assert_eq!(ran.evaluations(0)[1], "tool_trajectory_avg_score NOT_EVALUATED");
        assert!(place.evaluator(&["update", "c.yaml"]).exits(3).stderr.contains(complaint));
        assert_eq!(place.lock(), text);
    }
    assert!(place.server.requests().is_empty());
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
        (Answer::Status(500, ""), "the server is in trouble"),
        (Answer::Status(204, ""), "answers 204"),
        (Answer::Truncated, "cannot fetch"),
        (Answer::Silence(Duration::from_secs(20)), "no answer from"),
        (Answer::Content(vec![b'#'; (8 << 20) + 1]), "is larger than is taken from a source"),
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
    assert_eq!(place.server.asked("/elsewhere"), 0);
    // The requirements are a part of the evaluator: without them it must not run.
    place.server.file(POLITE, scores(1.0));
    place.server.answer(&raw("evaluators/polite/requirements.txt"), Answer::Truncated);
    assert!(place.run(&[]).exits(3).error_of("polite").contains("requirements.txt"));
    assert!(!place.cached("github").join(POLITE).exists());
}

#[test]
fn nobody_there_and_no_secure_connection_are_told_apart() {
    let place = Place::new(CONFIG);
    let fetch = |base: &str| {
        let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
        let ran = command.env("AGENTEVALS_EVALUATOR_BASE_URL", base).spawn().unwrap();
        finish(ran).exits(3).error_of("polite")
    };
    assert!(fetch("http://127.0.0.1:9").contains("cannot fetch http://127.0.0.1:9/"));
    let plain_where_tls_is_expected = fetch(&place.server.address().replace("http:", "https:"));
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
        requests.iter().all(|(_, headers)| headers.contains("authorization: token s3cr3t")),
        "{requests:?}"
    );
    assert_eq!(place.server.asked("/elsewhere"), 0);
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
    assert_eq!(place.server.asked(&raw(POLITE)), 1, "the others wait for the first");
    assert_eq!(place.lock().matches("[[evaluator]]").count(), 1);
    let left: Vec<_> = fs::read_dir(place.cached("github/evaluators/polite"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["polite.py"]);
}

#[test]
fn several_are_pinned_together_and_one_that_fails_does_not_keep_the_others() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    let mut config = "evaluators:\n".to_owned();
    for number in 0..12 {
        config += &format!("  - {{name: e{number}, type: remote, ref: e/e{number}/e.py}}\n");
        if number != 5 {
            place.server.file(&format!("e/e{number}/e.py"), scores(1.0));
        }
    }
    config += "  - {name: again, type: remote, ref: e/e0/e.py}\n  - {name: lost, type: remote, source: githb, ref: e/e0/e.py}\n";
    place.folder.file("c.yaml", config);
    let ran = place.run(&[]).exits(3);
    let results = ran.evaluations(0);
    assert_eq!(
        results.iter().filter(|result| result.ends_with("PASSED")).count(),
        12,
        "{results:?}"
    );
    assert_eq!(results[5], "e5 ERROR prepare_failed");
    assert_eq!(
        ran.error_of("lost"),
        "Unknown evaluator source 'githb'. Available: ['builtin', 'file', 'github', 'local']"
    );
    assert_eq!(place.lock().matches("[[evaluator]]").count(), 11);
    assert_eq!(place.server.asked(&raw("e/e0/e.py")), 1);
    assert_eq!(place.server.asked(&raw("index.yaml")), 1);
}

#[test]
fn links_in_the_cache_lead_nowhere() {
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    let outside = place.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(place.cached("github")).unwrap();
    std::os::unix::fs::symlink(&outside, place.cached("github/evaluators")).unwrap();
    let ran = place.run(&[]).exits(3);
    assert!(ran.error_of("polite").contains("is a symbolic link"), "{}", ran.error_of("polite"));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_cache_that_agentevals_filled_is_used_and_pinned() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    let path = place.cached("github").join(POLITE);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, scores(1.0)).unwrap();
    assert_eq!(place.run(&[]).exits(0).evaluations(0)[0], "polite PASSED");
    assert!(place.server.requests().is_empty());
    assert!(place.lock().contains(POLITE) && !place.lock().contains("from = "), "{}", place.lock());
    // From now on a change is noticed.
    fs::write(&path, scores(0.5)).unwrap();
    place.run(&[]).exits(3);
}

const INDEX: &str = "evaluators:\n  - name: polite\n    description: |\n      Is it polite?\n      Really?\n    language: python\n    path: evaluators/polite/polite.py\n    tags: [tone]\n    author: me\n";

#[test]
fn lists_are_kept_for_a_day_unless_they_are_asked_for_anew() {
    let place = Place::new(CONFIG);
    place.server.file("index.yaml", INDEX);
    let list = |more: &[&str]| place.evaluator(&[&["list"][..], more].concat());
    let ran = list(&["--source", "github"]).exits(0);
    assert!(
        ran.stdout.contains(
            "polite  github  python    Is it polite? Really?  evaluators/polite/polite.py"
        ),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("builtin"));
    let all = list(&[]).exits(0);
    assert!(
        all.stdout.contains("polite") && all.stdout.contains("tool_trajectory_avg_score"),
        "{}",
        all.stdout
    );
    assert_eq!(place.server.asked(&raw("index.yaml")), 1);

    place.server.forget();
    list(&["--source", "github"]).exits(0);
    let ran = list(&["--source", "github", "--refresh"]).exits(3).reports_nothing();
    assert!(
        ran.stderr.contains("cannot list the source `github`: there is no file at"),
        "{}",
        ran.stderr
    );
    // Among all it is only a warning.
    let ran = place.evaluator(&["evaluator", "list", "--refresh"]).exits(0);
    assert!(ran.stdout.contains("tool_trajectory_avg_score") && ran.stderr.contains("`github`"));
    // An older list is better than none, if that is said.
    let index = place.folder.path().join("home/.cache/agentevals/index");
    let kept = fs::read_dir(index).unwrap().next().unwrap().unwrap().path();
    let old = std::time::SystemTime::now() - Duration::from_secs(25 * 3600);
    fs::File::options().write(true).open(kept).unwrap().set_modified(old).unwrap();
    let ran = list(&["--source", "github"]).exits(0);
    assert!(
        ran.stdout.contains("polite") && ran.stderr.contains("index of an earlier day"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_bad_index_is_refused_with_its_place() {
    let place = Place::new(CONFIG);
    place.server.file("index.yaml", "evaluators:\n  - name: [x]\n");
    let ran = place.evaluator(&["list", "--source", "github"]).exits(3);
    assert!(
        ran.stderr.contains("index.yaml:2:11: `name` must be text, not a list"),
        "{}",
        ran.stderr
    );
    place.folder.file("index.yaml", "evaluators: 7\n");
    let ran = place.evaluator(&["list", "--source", "file", "--index", "index.yaml"]).exits(3);
    assert!(ran.stderr.contains("index.yaml:1:13"), "{}", ran.stderr);
    for source in ["file", "local"] {
        let ran = place.evaluator(&["list", "--source", source]).exits(2);
        assert!(ran.stderr.contains("is not set up"), "{}", ran.stderr);
    }
}

#[test]
fn sources_on_this_machine_are_listed_configured_and_run() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.folder.file(
        "checks/kind/evaluator.yaml",
        "name: kind\ndescription: Is it kind?\nlanguage: python\nentrypoint: kind.py\n",
    );
    place.folder.file("checks/kind/kind.py", scores(1.0));
    place.folder.file("checks/kind/requirements.txt", "");
    place.folder.file(
        "lists/index.yaml",
        "evaluators:\n- {name: brief, language: python, path: brief/brief.py}\n",
    );
    place.folder.file("lists/brief/brief.py", scores(1.0));
    let places = ["--index", "lists", "--folder", "checks"];
    let ran = place.evaluator(&[&["list", "--source", "all"][..], &places].concat()).exits(0);
    assert!(
        ran.stdout.contains("kind/kind.py") && ran.stdout.contains("brief/brief.py"),
        "{}",
        ran.stdout
    );

    let entry =
        |name: &str| place.evaluator(&[&["config", name][..], &places].concat()).exits(0).stdout;
    let (kind, brief) = (entry("kind"), entry("brief"));
    let brief = brief.split_once("evaluators:\n").unwrap().1;
    place.folder.file(
        "deep/c.yaml",
        format!("sources: {{file: ../lists, local: ../checks}}\n{kind}{brief}"),
    );
    let ran = place.evaluator(&["check", "deep/c.yaml"]).exits(0);
    assert!(ran.stdout.contains("not pinned yet"), "{}", ran.stdout);
    let ran = place.evaluator(&["run", &trace(TRACE), "-c", "deep/c.yaml", "-o", "json"]).exits(0);
    assert_eq!(ran.evaluations(0), ["kind PASSED", "brief PASSED"]);
    assert!(place.cached("local/kind/kind.py").is_file(), "{}", ran.stderr);
    assert!(place.folder.path().join("deep/evaluators.lock").is_file());

    // Another project may have an evaluator of the same name.
    place.folder.file("other/kind/kind.py", scores(0.0));
    place.folder.file("o/c.yaml", format!("sources: {{local: other}}\n{kind}"));
    let run = |config: &str| place.evaluator(&["run", &trace(TRACE), "-c", config, "-o", "json"]);
    assert_eq!(run("o/c.yaml").exits(1).evaluations(0), ["kind FAILED"]);
    assert_eq!(run("deep/c.yaml").exits(0).evaluations(0)[0], "kind PASSED");
    assert_eq!(run("o/c.yaml").exits(1).evaluations(0), ["kind FAILED"]);
}

#[test]
fn what_a_source_on_this_machine_does_not_have_is_found_out_by_a_check() {
    let place = Place::new(
        "sources: {local: checks}\nevaluators:\n- {name: a, type: remote, source: local, ref: kind/kin.py}\n\
         - {name: b, type: remote, source: local, ref: brisk/src/mian.rs}\n",
    );
    place.folder.file("checks/kind/kind.py", scores(1.0));
    place.folder.file("checks/brisk/Cargo.toml", "[package]\nname = \"brisk\"\n");
    place.folder.file("checks/brisk/src/main.rs", "fn main() {}");
    let ran = place.evaluator(&["check", "c.yaml"]).exits(2);
    let missing = ["checks/kind/kin.py", "there is no file at brisk/src/mian.rs in the source"];
    assert!(missing.iter().all(|missing| ran.stdout.contains(missing)), "{}", ran.stdout);
    assert!(!place.cached("local").exists(), "a check keeps nothing");
}

/// What a list shows as a `ref` can be written as one.
#[test]
fn paths_that_nobody_can_refer_to_are_told_of() {
    let place = Place::new(CONFIG);
    let manifest = |name: &str, entrypoint: &str| {
        let text = format!("name: {name}\nlanguage: python\nentrypoint: {entrypoint}\n");
        place.folder.file(&format!("checks/{name}/evaluator.yaml"), text);
    };
    manifest("kind", "kind.py");
    manifest("outside", "../kind/kind.py");
    place.folder.file(
        "lists/index.yaml",
        "evaluators:\n- {name: brief, path: ./brief.py}\n- {name: long, path: long.py}\n",
    );
    let list = |source: &[&str]| place.evaluator(&[&["list", "-s"][..], source].concat()).exits(0);
    let ran = list(&["local", "--folder", "checks"])
        .says("outside/evaluator.yaml:3:13: the path of its file must be a relative path");
    assert!(ran.stdout.contains("kind/kind.py") && !ran.stdout.contains(".."), "{}", ran.stdout);
    let ran = list(&["file", "--index", "lists"]).says("`brief` cannot be fetched: `path` must be");
    assert!(ran.stdout.contains("long.py") && !ran.stdout.contains("brief.py"), "{}", ran.stdout);
}

#[test]
fn files_that_are_not_as_the_index_says_are_refused() {
    let place = Place::new(CONFIG);
    let hash = "0123456789abcdef".repeat(4);
    place.folder.file(
        "index.yaml",
        format!(
            "evaluators:\n- name: a\n  path: a/a.py\n  files: [{{path: a.py, sha256: {hash}}}]\n"
        ),
    );
    place.folder.file("a/a.py", scores(1.0));
    place.folder.file("c.yaml", "sources: {file: index.yaml}\nevaluators:\n- {name: a, type: remote, source: file, ref: a/a.py}\n");
    let ran = place.run(&[]).exits(3);
    assert!(
        ran.error_of("a").contains("is not the file its index describes"),
        "{}",
        ran.error_of("a")
    );
}

/// Whoever loses patience with one evaluator keeps the others, each with its pin.
#[test]
fn an_update_that_is_cut_short_leaves_what_it_did_usable() {
    if !has("python3") {
        return;
    }
    const SLOW: &str = "evaluators/slow/slow.py";
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(0.25));
    place.run(&[]).exits(1);
    let lock = place.lock();
    place
        .folder
        .file("both.yaml", format!("{CONFIG}  - {{name: slow, type: remote, ref: {SLOW}}}\n"));
    place.server.file(POLITE, scores(1.0));
    place.server.answer(SLOW, Answer::Silence(Duration::from_secs(600)));
    let mut update = place.command(&["update", "both.yaml"]).spawn().unwrap();
    let long = Instant::now() + Duration::from_secs(25);
    while place.lock() == lock && Instant::now() < long {
        thread::sleep(Duration::from_millis(20));
    }
    update.kill().unwrap();
    update.wait().unwrap();
    assert_eq!(place.run(&["--locked"]).exits(0).evaluations(0)[0], "polite PASSED");
}

#[test]
fn update_says_what_cannot_be_updated() {
    let place = Place::new(CONFIG);
    place
        .evaluator(&["update", "c.yaml", "polit"])
        .exits(2)
        .says("no evaluator is called `polit` (remote ones: polite)");
    place
        .evaluator(&["update", "c.yaml", "tool_trajectory_avg_score"])
        .exits(2)
        .says("not of `type: remote`");
    place.evaluator(&["update"]).exits(2).says("there is no evaluators.lock here");
    let ran = place.evaluator(&["update", "c.yaml"]).exits(3);
    assert!(ran.stdout.contains("not updated"), "{}", ran.stdout);
    assert_eq!(place.lock(), "");
    // It need not be known what the evaluators are called.
    place.server.file(POLITE, scores(1.0));
    place.evaluator(&["update", "c.yaml"]).exits(0);
    place.server.file(POLITE, scores(0.5));
    let ran = place.evaluator(&["evaluator", "update"]).exits(0);
    assert!(ran.stdout.contains(" -> sha256:"), "{}", ran.stdout);
}
