//! `evaluator index`.

use std::fs;

use crate::support::Directory;

const MANIFEST: &str = "name: polite\ndescription: 'Is it: polite?'\nlanguage: python\nentrypoint: polite.py\ntags: [tone, 'yes']\nauthor: me\n";

fn repository() -> Directory {
    let directory = Directory::new();
    directory.file("evaluators/polite/evaluator.yaml", MANIFEST);
    directory.file("evaluators/polite/polite.py", "print('{\"score\": 1}')\n");
    directory.file("evaluators/polite/__pycache__/polite.pyc", "left behind");
    directory.file(
        "evaluators/brief/evaluator.yaml",
        "{name: brief, description: Is it brief?, language: rust, entrypoint: src/main.rs}",
    );
    directory
        .file("evaluators/brief/Cargo.toml", "[package]\nname = \"brief\"\nversion = \"0.1.0\"\n");
    directory.file("evaluators/brief/src/main.rs", "fn main() {}\n");
    directory.file("evaluators/brief/target/debug/brief", "left behind");
    directory
}

const INDEX: &str = r#"# Made by `evaluator index` from the manifests of the evaluators; make it again instead of editing it.
evaluators:
  - name: brief
    description: "Is it brief?"
    language: rust
    path: evaluators/brief/src/main.rs
    tags: []
    author: ""
    files:
      - {path: Cargo.toml, sha256
      - {path: evaluator.yaml, sha256
      - {path: src/main.rs, sha256
  - name: polite
    description: "Is it: polite?"
    language: python
    path: evaluators/polite/polite.py
    tags: ["tone", "yes"]
    author: me
    files:
      - {path: evaluator.yaml, sha256
      - {path: polite.py, sha256
"#;

/// The text with every hash replaced, which the tests of the host look at.
fn without_hashes(text: &str) -> String {
    text.lines()
        .map(|line| match line.split_once("sha256: \"") {
            Some((before, hash)) => {
                assert_eq!(hash.trim_end_matches("\"}").len(), 64, "{line}");
                format!("{before}sha256\n")
            }
            None => format!("{line}\n"),
        })
        .collect()
}

#[test]
fn the_index_of_a_repository_stands_at_its_root() {
    let directory = repository();
    directory.evaluator(&["index", "evaluators"]).exits(0).reports_nothing().says("(2 evaluators)");
    let text = fs::read_to_string(directory.path().join("index.yaml")).unwrap();
    assert_eq!(without_hashes(&text), INDEX);

    // From any place, and under any of its names, it is the same.
    assert_eq!(directory.evaluator(&["index", ".", "-o", "-"]).exits(0).stdout, text);
    let absolute = directory.path().join("evaluators");
    assert_eq!(
        directory.evaluator(&["index", absolute.to_str().unwrap(), "-o", "-"]).exits(0).stdout,
        text
    );
    directory.evaluator(&["index", ".", "--check"]).exits(0).says("is up to date");
}

#[test]
fn the_index_of_any_other_directory_stands_in_it() {
    let directory = repository();
    fs::rename(directory.path().join("evaluators"), directory.path().join("mine")).unwrap();
    directory.evaluator(&["index", "mine"]).exits(0);
    let text = fs::read_to_string(directory.path().join("mine/index.yaml")).unwrap();
    assert!(text.contains("    path: polite/polite.py\n"), "{text}");
    directory.evaluator(&["index", "mine", "-o", "all.yaml"]).exits(0);
    let text = fs::read_to_string(directory.path().join("all.yaml")).unwrap();
    assert!(text.contains("    path: mine/polite/polite.py\n"), "{text}");
}

#[test]
fn an_index_elsewhere_says_where_it_can_be_used() {
    let directory = repository();
    directory.file("out/readme", "");
    directory
        .evaluator(&["index", "evaluators", "-o", "out/index.yaml"])
        .exits(0)
        .says("it can be used only there");
    let text = fs::read_to_string(directory.path().join("out/index.yaml")).unwrap();
    assert!(text.contains("    path: evaluators/polite/polite.py\n"), "{text}");
}

#[test]
fn check_fails_when_a_file_changed_and_writes_nothing() {
    let directory = repository();
    directory.evaluator(&["index", ".", "--check"]).exits(1).says("it does not exist");
    assert!(!directory.path().join("index.yaml").exists());
    directory.evaluator(&["index", "."]).exits(0);
    let before = fs::read_to_string(directory.path().join("index.yaml")).unwrap();
    directory.file("evaluators/polite/helper.py", "");
    directory.evaluator(&["index", ".", "--check"]).exits(1).says("is not up to date: line 21 ");
    assert_eq!(fs::read_to_string(directory.path().join("index.yaml")).unwrap(), before);
}

#[test]
fn all_problems_of_all_manifests_are_reported_and_nothing_is_written() {
    let directory = repository();
    directory.file("index.yaml", "as it was");
    directory.file(
        "evaluators/polite/evaluator.yaml",
        "name: Polite\ndescripton: no\nlanguage: pyhton\nentrypoint: ../polite.py\ntags: tone\nauthor: 5\n",
    );
    directory.file("evaluators/brief/evaluator.yaml", "- a list");
    directory.file("evaluators/other/evaluator.yml", MANIFEST);
    let ran = directory.evaluator(&["index", "evaluators"]).exits(2).reports_nothing();
    for (place, text) in [
        ("evaluators/polite/evaluator.yaml:1:1", "the key `description` is missing"),
        ("evaluators/polite/evaluator.yaml:1:7", "but the directory is called `polite`"),
        ("evaluators/polite/evaluator.yaml:2:1", "did you mean `description`?"),
        ("evaluators/polite/evaluator.yaml:3:11", "did you mean `python`?"),
        ("evaluators/polite/evaluator.yaml:4:13", "`entrypoint` leaves the directory"),
        ("evaluators/polite/evaluator.yaml:5:7", "`tags` must be a list, not text"),
        ("evaluators/polite/evaluator.yaml:6:9", "`author` must be text, not a number"),
        ("evaluators/brief/evaluator.yaml:1:1", "a manifest is a mapping"),
        ("evaluators/other/evaluator.yml", "did you mean `evaluator.yaml`?"),
    ] {
        assert!(ran.stderr.contains(place), "{place}: {}", ran.stderr);
        assert!(ran.stderr.contains(text), "{text}: {}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(directory.path().join("index.yaml")).unwrap(), "as it was");
    directory.evaluator(&["index", "evaluators", "--check"]).exits(2);
}

#[test]
fn entrypoints_are_files_inside_the_directory_and_of_their_language() {
    let directory = Directory::new();
    directory.file("secret.py", "");
    directory.file("all/polite/sub.py/x", "");
    directory.file("all/polite/polite.js", "");
    #[cfg(unix)]
    std::os::unix::fs::symlink("../../secret.py", directory.path().join("all/polite/link.py"))
        .unwrap();
    for (entrypoint, expected) in [
        ("gone.py", "names a file that does not exist"),
        ("/etc/passwd", "is an absolute path"),
        ("a/../../secret.py", "leaves the directory of the evaluator"),
        ("'a\\b.py'", "has a backslash"),
        ("./polite.py", "write `polite.py`"),
        ("sub.py", "is not a file"),
        ("polite.js", "a file like this is `language: javascript`"),
        ("po lite.py", "has a name that hosts do not fetch: `po lite.py`"),
        #[cfg(unix)]
        ("link.py", "leads to"),
    ] {
        directory.file(
            "all/polite/evaluator.yaml",
            MANIFEST.replace("entrypoint: polite.py", &format!("entrypoint: {entrypoint}")),
        );
        let ran = directory.evaluator(&["index", "all"]).exits(2);
        assert!(ran.stderr.contains("evaluator.yaml:4:13"), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_differ_in_case_only_are_the_same() {
    let directory = repository();
    directory.file("evaluators/Polite/evaluator.yaml", MANIFEST.replace("name: p", "name: P"));
    directory.file("evaluators/Polite/polite.py", "");
    let ran = directory.evaluator(&["index", "."]).exits(2);
    let ran = ran.says("the name `polite` is taken by ./evaluators/Polite/evaluator.yaml");
    ran.says("--> ./evaluators/polite/evaluator.yaml:1:7");
}

#[test]
fn an_evaluator_in_rust_is_a_package() {
    let directory = repository();
    fs::remove_file(directory.path().join("evaluators/brief/Cargo.toml")).unwrap();
    directory.evaluator(&["index", "."]).exits(2).says("Cargo.toml does not exist");
}

/// One file whose name no host takes would keep hosts from reading the whole index.
#[test]
fn what_hosts_would_not_read_is_not_written() {
    let directory = repository();
    let index = |code| directory.evaluator(&["index", "."]).exits(code);
    for name in ["my data.json", "naïve.md", "a..b", "(1).txt"] {
        let file = directory.file(&format!("evaluators/polite/{name}"), "");
        index(2).says(&format!("{name} has a name that cannot be fetched"));
        assert!(!directory.path().join("index.yaml").exists());
        fs::remove_file(file).unwrap();
    }
    let large = directory.file("evaluators/brief/data.bin", "");
    fs::File::create(&large).unwrap().set_len((8 << 20) + 1).unwrap();
    index(2).says("data.bin is larger than is fetched of an evaluator: 8388608 bytes a file");
    fs::remove_file(large).unwrap();
    index(0);
    let ran = directory.evaluator(&["list", "-s", "file", "--index", "."]).exits(0);
    assert!(ran.stdout.contains("evaluators/brief/src/main.rs"), "{}", ran.stdout);
}

#[test]
fn a_directory_without_evaluators_has_no_index() {
    let directory = Directory::new();
    directory.file("notes/readme.md", "");
    directory.evaluator(&["index", "."]).exits(2).says("no evaluators in .");
    directory.evaluator(&["index", "nowhere"]).exits(2).says("no such directory");
    directory.evaluator(&["index", "notes/readme.md"]).exits(2).says("not a directory");
}
