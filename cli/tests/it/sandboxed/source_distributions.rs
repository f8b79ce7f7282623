//! Packages that an index has only as source distributions: they are built in the sandbox, if the entry says so.

use std::{
    fs,
    io::Write as _,
    process::{Child, Command},
};

use evaluator_test_support::server::{Server, response};
use serde_json::json;

use super::{World, evaluations, running};
use crate::support::{
    finish,
    processes::{assert_gone, wait_until},
    trace,
};

const FILES: &str = include_str!("index.py");

/// A world with a package index.
struct Index {
    world: World,
    server: Server,
    /// SHA-256 of second-2.tar.gz.
    hash: String,
}

impl Index {
    /// `None`, with a message, if this machine cannot contain programs or has no Python.
    #[expect(clippy::disallowed_methods, reason = "Python writes the packages")]
    fn new() -> Option<Self> {
        let world = World::new()?;
        if !world.requirements() {
            return None;
        }
        let place = world.directory.join("index");
        fs::create_dir(&place).unwrap();
        let port = world.server.local_addr().unwrap().port().to_string();
        let written = Command::new("python3")
            .args(["-c", FILES])
            .args([&place, &world.directory.join("secret"), &world.directory.join("src/left")])
            .arg(port)
            .output()
            .unwrap();
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        let server = Server::start(move |request, stream| {
            let path = request.path.trim_matches('/').to_owned();
            let answer = match path.split_once('/') {
                Some(("simple", name)) => {
                    let names = fs::read_dir(&place).unwrap().map(|it| it.unwrap().file_name());
                    let names = names.map(|it| it.into_string().unwrap());
                    let links: String = names
                        .filter(|it| it.split('-').next() == Some(name))
                        .map(|it| format!("<a href=\"/files/{it}\">{it}</a>"))
                        .collect();
                    let status = if links.is_empty() { "404 Not Found" } else { "200 OK" };
                    response(status, &["Content-Type: text/html"], links)
                }
                Some(("files", name)) => {
                    response("200 OK", &[], fs::read(place.join(name)).unwrap())
                }
                _ => response("404 Not Found", &[], ""),
            };
            stream.write_all(&answer)
        });
        Some(Self { world, server, hash: String::from_utf8(written.stdout).unwrap() })
    }

    /// Starts evaluations of files that import modules and answer with what these tried: names, requirements, modules, and
    /// settings of the sandbox.
    fn start(&self, entries: &[(&str, &str, &str, &str)]) -> Child {
        let directory = &self.world.directory;
        let mut config = "evaluators:\n".to_owned();
        for (name, requirements, modules, sandbox) in entries {
            let text = format!(
                "import json, {modules}\nfound = [{modules}]\n\
                 details = {{'done': sum((it.done for it in found), []), 'version': getattr(found[0], 'version', '')}}\n\
                 print(json.dumps({{'score': 0.75, 'details': details}}))\n"
            );
            directory.file(&format!("src/{name}/check.py"), text);
            directory.file(&format!("src/{name}/requirements.txt"), requirements);
            config += &format!(
                "- {{name: {name}, type: code, path: src/{name}/check.py, executor: sandbox, sandbox: {{{sandbox}}}}}\n"
            );
        }
        directory.file("c.yaml", config);
        let traces = trace("a01_otlp_basic_parts");
        let args = ["run", "-c", "c.yaml", "-o", "json", "-v", &traces];
        let mut command = crate::requirements::command(directory, &args);
        command
            .env_remove("PIP_NO_INDEX")
            .env_remove("PIP_FIND_LINKS")
            .env("PIP_INDEX_URL", format!("{}/simple/", self.server.url()))
            .env("PIP_CACHE_DIR", directory.join("pip"))
            .env("EVALUATOR_PYTHON_SDK", "none");
        command.spawn().unwrap()
    }

    /// Checks that packages are built, and that no attempt of theirs worked. Returns the version of the first module.
    #[track_caller]
    fn builds(&self, requirements: &str, modules: &str) -> String {
        let entry = ("built", requirements, modules, "builds: true");
        let ran = finish(self.start(&[entry])).exits(0);
        let (score, details) = evaluations(&ran.json(), "built").remove(0);
        assert_eq!((score, &details["done"]), (Some(0.75), &json!([])), "{}", ran.stderr);
        self.nothing_happened();
        details["version"].as_str().unwrap().to_owned()
    }

    /// Checks that packages are refused, with these parts in the message.
    fn refuses(&self, expected: &[(&str, &str, &[&str])]) {
        let requirements: Vec<String> =
            expected.iter().map(|(package, ..)| format!("{package}\n")).collect();
        let names: Vec<String> = (0..expected.len()).map(|it| format!("number-{it}")).collect();
        let entries = expected.iter().zip(&requirements).zip(&names);
        let entries: Vec<_> = entries
            .map(|(((_, sandbox, _), requirements), name)| {
                (&**name, &**requirements, "json", *sandbox)
            })
            .collect();
        let ran = finish(self.start(&entries)).exits(3);
        for ((_, _, parts), name) in expected.iter().zip(&names) {
            let error = ran.error_of(name);
            assert!(error.lines().count() <= 20, "{error}");
            assert!(error.lines().last().unwrap().starts_with("hint: "), "{error}");
            for part in *parts {
                assert!(error.contains(part), "`{part}` in {error}");
            }
        }
        self.nothing_happened();
    }

    #[track_caller]
    fn nothing_happened(&self) {
        assert_eq!(self.world.connections(), 0);
        assert!(!self.world.directory.join("src/left").exists());
    }
}

#[test]
fn they_are_built_with_everything_that_they_need() {
    let Some(index) = Index::new() else { return };
    let all = "first[more]>1 # not 1\nsecond<2; python_version > '3'\nbuilt\nlegacy\n";
    assert_eq!(index.builds(all, "first, second, third, built, legacy"), "2");
    assert_eq!(index.builds(&format!("second==2 --hash=sha256:{}\n", index.hash), "second"), "2");
}

#[test]
fn they_are_refused_without_the_key() {
    let Some(index) = Index::new() else { return };
    index.refuses(&[
        ("first", "", &["No matching distribution found for first", "`sandbox: {builds: true}`"]),
        // Dependencies that name something else than a package are not looked up in the index.
        ("pointing", "", &["failing-1.tar.gz is a source distribution"]),
        ("cloned", "", &["x.git is a repository, and cannot be downloaded"]),
        ("cloned", "builds: true", &["x.git is a repository, and cannot be downloaded"]),
        ("beside", "builds: true", &["/index", " is not a package of an index"]),
    ]);
    assert_eq!(index.server.count("/files/first-2.tar.gz"), 0);
}

#[test]
fn builds_that_fail_name_the_package() {
    let Some(index) = Index::new() else { return };
    let builds = "builds: true";
    let hash = format!("second==2 --hash=sha256:{}", "0".repeat(64));
    index.refuses(&[
        (
            "failing",
            builds,
            &["python cannot build failing-1.tar.gz of ", "ValueError: no compiler here", "without network"],
        ),
        ("linking", builds, &["the build of linking-1.tar.gz left no wheel"]),
        ("moving", builds, &["the build of moving-1.tar.gz left no wheel"]),
        ("forging", builds, &["the build of forging-1.tar.gz left no wheel"]),
        ("renamed", builds, &["pip cannot download packages of ", "renamed"]),
        ("options", builds, &["the build of options-1.tar.gz needs `--index-url http://127.0.0.1:"]),
        (
            "cycle",
            builds,
            &["cycle-1.tar.gz is needed to build itself: cycle-1.tar.gz needs circle-1.tar.gz needs cycle-1.tar.gz"],
        ),
        ("upward", builds, &["python cannot build upward-1.tar.gz of "]),
        ("absolute", builds, &["python cannot build absolute-1.tar.gz of "]),
        ("linked", builds, &["python cannot build linked-1.tar.gz of "]),
        (&hash, builds, &["DO NOT MATCH THE HASHES"]),
    ]);
}

#[test]
fn a_build_ends_with_the_command() {
    let Some(index) = Index::new() else { return };
    let mut command = index.start(&[("check", "endless\n", "endless", "builds: true")]);
    let archive = "endless-1.tar.gz";
    let mut found = Vec::new();
    // Both processes of the helper, and the interpreter.
    wait_until("the build runs", || {
        found = running(archive);
        found.len() >= 3
    });
    command.kill().unwrap();
    command.wait().unwrap();
    found.iter().for_each(|process| assert_gone(process));
}
