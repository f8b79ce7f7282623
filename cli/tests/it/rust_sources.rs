//! Rust evaluators from sources: whole packages, built where they are kept.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use crate::support::{
    self, finish, has,
    place::{Place, TRACE},
    server::{Answer, raw},
    trace,
};

const MANIFEST: &str =
    "[package]\nname = \"brisk\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";

/// Says in its details what it and its build script saw of a secret.
const MAIN: &str = r#"mod words;
fn main() {
    let mut input = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin(), &mut input).unwrap();
    let seen = std::env::var("GITHUB_TOKEN").is_ok();
    println!("{{\"score\": 1.0, \"details\": {{\"built\": \"{}\", \"ran\": {seen}, \"word\": \"{}\"}}}}", env!("SEEN"), words::WORD);
}
"#;

const BUILD: &str = r#"fn main() {
    println!("cargo::rustc-env=SEEN={}", std::env::var("GITHUB_TOKEN").is_ok());
}
"#;

const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", MANIFEST),
    ("build.rs", BUILD),
    ("src/main.rs", MAIN),
    ("src/words.rs", "pub const WORD: &str = \"hello\";\n"),
];

const CONFIG: &str =
    "evaluators:\n  - {name: brisk, type: remote, ref: evaluators/brisk/src/main.rs}\n";

fn run_with_a_secret(place: &Place) -> support::Ran {
    let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
    finish(command.env("GITHUB_TOKEN", "s3cr3t").spawn().unwrap())
}

fn details(ran: &support::Ran) -> String {
    ran.json()["traces"][0]["metrics"][0]["details"].to_string()
}

#[test]
fn a_package_is_fetched_whole_built_confined_and_unchanged_by_its_build() {
    if !has("cargo") {
        return;
    }
    let place = Place::new(CONFIG);
    let blob = |path: &str| {
        format!(
            r#"{{"path": "evaluators/brisk/{path}", "mode": "100644", "type": "blob", "size": 9}}"#
        )
    };
    let tree: Vec<String> = FILES.iter().map(|(path, _)| blob(path)).collect();
    let list = format!(r#"{{"sha": "x", "truncated": false, "tree": [{}]}}"#, tree.join(","));
    let api = "/repos/agentevals-dev/evaluators/git/trees/main?recursive=1";
    place.server.answer(api, Answer::Content(list.into_bytes()));
    for (path, text) in FILES {
        place.server.file(&format!("evaluators/brisk/{path}"), text);
    }
    let ran = run_with_a_secret(&place).exits(0);
    assert_eq!(details(&ran), r#"{"built":"false","ran":false,"word":"hello"}"#);
    let package = place.cached("github/evaluators/brisk");
    assert!(
        package.join("Cargo.lock").is_file() && package.join("target").is_dir(),
        "it was built there"
    );

    // Neither of them makes it another evaluator, and it needs no network.
    place.server.forget();
    let lock = place.lock();
    run_with_a_secret(&place).exits(0);
    assert!(place.server.requests().is_empty());
    assert_eq!(place.lock(), lock);

    // A file that cargo would pick up does.
    fs::create_dir_all(package.join("src/bin")).unwrap();
    fs::write(package.join("src/bin/other.rs"), "fn main() {}").unwrap();
    let ran = run_with_a_secret(&place).exits(3);
    assert!(
        ran.error_of("brisk").starts_with("the package in ")
            && ran.error_of("brisk").contains("brisk was changed since it was fetched"),
        "{}",
        ran.error_of("brisk")
    );
}

#[test]
fn an_index_that_lists_the_files_makes_the_api_unnecessary() {
    if !has("cargo") {
        return;
    }
    let place = Place::new(CONFIG);
    let listed =
        FILES.map(|(path, text)| format!("    - {{path: {path}, sha256: '{}'}}\n", sha256(text)));
    let index = format!(
        "evaluators:\n  - name: brisk\n    path: evaluators/brisk/src/main.rs\n    files:\n{}",
        listed.concat()
    );
    place.server.file("index.yaml", index);
    for (path, text) in FILES {
        place.server.file(&format!("evaluators/brisk/{path}"), text);
    }
    assert!(details(&run_with_a_secret(&place).exits(0)).contains("hello"));
    assert!(place.server.requests().iter().all(|it| it.path.starts_with(&raw(""))));

    fs::remove_dir_all(place.cached("github")).unwrap();
    place.server.file("evaluators/brisk/src/words.rs", "pub const WORD: &str = \"evil\";\n");
    let ran = run_with_a_secret(&place).exits(3);
    assert!(
        ran.error_of("brisk").contains("words.rs is not the file its index describes"),
        "{}",
        ran.error_of("brisk")
    );
    assert!(!place.cached("github/evaluators/brisk").exists());
}

#[test]
fn a_package_in_a_directory_of_this_machine_is_taken_without_its_builds() {
    if !has("cargo") {
        return;
    }
    let place = Place::new(
        "sources: {local: mine}\nevaluators:\n  - {name: brisk, type: remote, source: local, ref: brisk/src/main.rs}\n",
    );
    for (path, text) in FILES {
        place.directory.file(&format!("mine/brisk/{path}"), text);
    }
    place.directory.file("mine/brisk/target/debug/large", "x");
    assert!(details(&run_with_a_secret(&place).exits(0)).contains("hello"));
    let slot = &place.slots("local")[0];
    assert!(slot.join("brisk/src").is_dir() && !slot.join("brisk/target/debug/large").exists());
    assert!(place.lock().contains("from = \"mine\""), "{}", place.lock());
    // What is edited there is noticed, and taken over when that is asked for.
    place.directory.file("mine/brisk/src/words.rs", "pub const WORD: &str = \"bye\";\n");
    let edited = run_with_a_secret(&place).exits(3).error_of("brisk");
    assert!(edited.contains("and the source now is sha256:"), "{edited}");
    place.evaluator(&["update", "c.yaml"]).exits(0);
    assert!(details(&run_with_a_secret(&place).exits(0)).contains("bye"));
}

/// As the system has it.
fn sha256(text: &str) -> String {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };
    #[expect(clippy::disallowed_methods, reason = "a tool of the system")]
    let mut child =
        Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let printed = finish(child).stdout;
    printed.split(' ').next().unwrap().to_owned()
}
