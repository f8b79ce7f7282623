//! Malicious sources and files.

use std::{fs, net::TcpListener, os::unix::fs::symlink, time::Duration};

use evaluator_test_support::server::Server;

use super::*;

#[test]
fn answers_without_end_are_errors_and_nothing_is_kept() {
    let place = Place::new(CONFIG);
    let (quick, slow) = (Duration::ZERO, Duration::from_millis(100));
    for (server, expected) in [
        (Server::endless("HTTP/1.1 200 OK\r\n\r\n", &[b'#'; 65536], quick), ""),
        (Server::endless("HTTP/1.1 200 OK\r\n\r\n", b"#", slow), "no answer from"),
        (Server::endless("HTTP/1.1 200 OK\r\n", b"x: y\r\n", slow), "no answer from"),
        (Server::endless("HTTP/1.1 200 OK\r\nx: ", b"yyyyyyyyyyyyyyyy", quick), ""),
        (Server::endless("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", b"#", slow), ""),
    ] {
        let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
        command
            .env("AGENTEVALS_EVALUATOR_BASE_URL", server.url())
            .env("AGENTEVALS_EVALUATOR_TIMEOUT", "2");
        let ran = finish(command.spawn().unwrap()).exits(3);
        let error = ran.error_of("polite");
        // A body that comes fast is too large, or too slow on a slow machine.
        let known = ["exceeds the limit for fetched files", "no answer from", "cannot fetch"];
        assert!(known.iter().any(|known| error.contains(known)), "{error}");
        assert!(error.contains(expected), "{error}");
        assert!(!place.cached("github").join(POLITE).exists());
        assert_eq!(place.lock(), "");
    }
}

#[test]
fn a_redirect_takes_nothing_anywhere_else() {
    let place = Place::new(CONFIG);
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let other = elsewhere.local_addr().unwrap();
    for (status, target) in [
        (301, format!("http://{other}/x")),
        (302, format!("//{other}/x")),
        (303, format!("http://user:pass@{other}/x")),
        (307, "file:///etc/passwd".to_owned()),
        (308, format!("https://{other}/x")),
    ] {
        let header: &'static str = format!("Location: {target}").leak();
        place.server.answer(&raw(POLITE), Answer::Status(status, header));
        let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
        let ran = finish(command.env("AGENTEVALS_GITHUB_TOKEN", "s3cr3t").spawn().unwrap());
        let ran = ran.exits(3);
        assert!(ran.error_of("polite").contains("redirects are not followed"), "{target}");
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("s3cr3t"));
    }
    assert!(elsewhere.accept().is_err(), "the client was redirected");
}

#[test]
fn a_lock_file_that_was_tampered_with_is_refused_and_kept() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    place.run(&[]).exits(0);
    let lock = place.lock();
    let entry = &lock[lock.find("[[evaluator]]").unwrap()..];
    let hash = lock.find("sha256:").unwrap() + "sha256:".len();
    let mut other_hash = lock.clone();
    other_hash.replace_range(
        hash..hash + 4,
        if &lock[hash..hash + 4] == "0000" { "1111" } else { "0000" },
    );
    let repeated = format!("{lock}\n{entry}");
    for (text, what) in [
        (repeated.clone(), "an entry twice"),
        (repeated.replacen("sha256:", "sha256:00", 1), "an entry twice, differently"),
        (other_hash, "another hash"),
        (lock[..lock.find("hash = ").unwrap()].to_owned(), "cut before the hash"),
        (lock[..hash + 10].to_owned(), "cut in the hash"),
        (lock[..hash + 10].to_owned() + "\"\n", "a short hash"),
        (lock.replace("sha256:", "md5:"), "another kind of hash"),
        (lock.replace(POLITE, "../../etc/passwd"), "a path that leads out"),
        (lock.replace(POLITE, "/etc/passwd"), "an absolute path"),
        (lock.replace("\"github\"", "\"../github\""), "a source that leads out"),
        (lock.replace("version = 1", "version = 18446744073709551616"), "a huge version"),
        (lock.replace("[[evaluator]]", "[evaluator]"), "a table"),
        (format!("\u{feff}\u{feff}{lock}"), "marks"),
        ("[".repeat(100_000), "depth"),
        ("\0".to_owned(), "NUL"),
    ] {
        place.directory.file("evaluators.lock", &text);
        let ran = place.run(&[]).exits(3);
        assert_eq!(ran.evaluations(0)[0], "polite ERROR prepare_failed", "{what}");
        assert!(
            ran.error_of("polite").contains("evaluators.lock"),
            "{what}: {}",
            ran.error_of("polite")
        );
        assert_eq!(place.lock(), text, "{what}");
        place.run(&["--locked"]).exits(3);
    }
}

#[test]
fn a_lock_file_or_an_index_that_is_not_a_file_does_not_hang_a_run() {
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    let fifo = place.directory.pipe("evaluators.lock");
    let error = place.run(&[]).exits(3).error_of("polite");
    assert!(error.contains("evaluators.lock") && error.contains("not a regular file"), "{error}");
    fs::remove_file(&fifo).unwrap();
    fs::create_dir(&fifo).unwrap();
    let error = place.run(&[]).exits(3).error_of("polite");
    assert!(error.contains("evaluators.lock"), "{error}");
    fs::remove_dir(&fifo).unwrap();
    place.directory.pipe("index.yaml");
    let ran = place.evaluator(&["list", "--source", "file", "--index", "index.yaml"]).exits(3);
    assert!(ran.stderr.contains("index.yaml"), "{}", ran.stderr);
}

#[test]
fn an_index_cannot_lead_out_speak_to_the_terminal_or_grow_without_end() {
    let place = Place::new(CONFIG);
    let out = "evaluators:\n\
         - {name: up, path: ../secret.py}\n\
         - {name: absolute, path: /etc/passwd.py}\n\
         - {name: back, path: 'a\\..\\b.py'}\n\
         - {name: inside, path: a/../../b.py}\n\
         - {name: \"esc\\e[2J\", path: a/a.py, description: \"\\e]0;title\\a\\e[31mred\"}\n\
         - {name: fine, path: fine/fine.py, description: fine}\n";
    place.directory.file("index.yaml", out);
    let ran = place.evaluator(&["list", "--source", "file", "--index", "index.yaml"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said:?}");
    assert!(!ran.stdout.contains("..") && !ran.stdout.contains("passwd"), "{}", ran.stdout);
    // Aliases of aliases.
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (from, to) in ('a'..='h').zip('b'..='i') {
        let items = vec![format!("*{from}"); 9].join(", ");
        bomb += &format!("{to}: &{to} [{items}]\n");
    }
    place.directory.file("index.yaml", format!("{bomb}evaluators: *i\n"));
    let ran = place.evaluator(&["list", "--source", "file", "--index", "index.yaml"]).exits(3);
    assert!(ran.stderr.contains("index.yaml"), "{}", ran.stderr);
    assert!(ran.stderr.len() < 10_000, "{}", ran.stderr.len());
    // One of the network is not larger than what is taken.
    place.server.file("index.yaml", vec![b'#'; 64 << 20]);
    let ran = place.evaluator(&["list", "--source", "github"]).exits(3);
    assert!(ran.stderr.contains("exceeds the limit for fetched files"), "{}", ran.stderr);
}

#[test]
fn a_source_on_this_machine_does_not_lead_out_by_links() {
    let place = Place::new(
        "evaluators: [{name: a, type: remote, source: local, ref: a/a.py}]\nsources: {local: shelf}\n",
    );
    place.directory.file("outside/a.py", scores(1.0));
    place.directory.file("shelf/a/evaluator.yaml", "name: a\nlanguage: python\nentrypoint: a.py\n");
    symlink("../../outside/a.py", place.directory.path().join("shelf/a/a.py")).unwrap();
    let error = place.run(&[]).exits(3).error_of("a");
    assert!(error.contains("link") || error.contains("a.py"), "{error}");
    fs::remove_dir_all(place.directory.path().join("shelf/a")).unwrap();
    symlink("../outside", place.directory.path().join("shelf/a")).unwrap();
    place.run(&[]).exits(3);
}
