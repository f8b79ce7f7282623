//! The invariants of ARCHITECTURE.md that a program can check, and the order of the house.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Maximum number of lines of a source file without its tests.
const MAX_LINES: usize = 800;

/// Crates and what they may depend on inside the workspace.
const DEPENDENCIES: [(&str, &[&str]); 12] = [
    ("protocol", &[]),
    ("sdk-macros", &[]),
    ("sdk", &["evaluator-protocol", "evaluator-sdk-macros"]),
    ("json", &[]),
    ("traces", &["evaluator-json"]),
    ("launch", &["evaluator-protocol"]),
    ("host", &["evaluator-protocol", "evaluator-json", "evaluator-traces", "evaluator-launch"]),
    ("cli", &["evaluator-host", "evaluator-protocol"]),
    ("examples", &["evaluator-sdk"]),
    ("examples/community", &["evaluator-sdk"]),
    ("tests/compile-fail", &["evaluator-sdk"]),
    // Tests may look at everything.
    ("tests", &["evaluator-protocol", "evaluator-sdk", "evaluator-host", "evaluator-cli"]),
];

/// The only source of the SDK that opens connections: to the proxy of a host, on this machine.
const CONNECTS: &str = "sdk/src/target_client/http.rs";

/// The only source of the SDK that ends the process: after a failure, which must not depend on what `main` returns.
const EXITS: &str = "sdk/src/program/mod.rs";

/// The only sources that start processes, each with what it starts.
const STARTERS: [(&str, &str); 2] = [
    ("launch/src/process/spawn.rs", "evaluators"),
    ("launch/src/runtime/tool.rs", "compilers, installers, and interpreters' version checks"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file below `folder` with that extension, as paths from the root with forward slashes.
fn files(folder: &str, extension: &str) -> Vec<String> {
    fn walk(path: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name();
            if entry.file_type().unwrap().is_dir() {
                if name != "target" {
                    walk(&path, extension, found);
                }
            } else if path.extension().is_some_and(|other| other == extension) {
                found.push(path);
            }
        }
    }
    let root = root();
    let mut found = Vec::new();
    walk(&root.join(folder), extension, &mut found);
    let mut found: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"))
        .collect();
    found.sort();
    found
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Sources of the published crates.
fn sources() -> Vec<String> {
    ["protocol", "sdk", "sdk-macros", "json", "traces", "launch", "host", "cli"]
        .iter()
        .flat_map(|folder| files(&format!("{folder}/src"), "rs"))
        .collect()
}

/// The text without its unit tests, which stand at the end of a file.
fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ").next().unwrap().split("\n#[cfg(all(test").next().unwrap()
}

/// A source whose whole content is tests.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.ends_with("/testing.rs")
}

fn complaints(complaints: Vec<String>, hint: &str) {
    assert!(complaints.is_empty(), "\n{}\n{hint}", complaints.join("\n"));
}

#[test]
fn every_source_begins_with_its_documentation() {
    let mut paths = sources();
    for folder in [
        "examples",
        "fuzz",
        "tests",
        "cli/tests",
        "traces/tests",
        "host/tests",
        "sdk/tests",
        "protocol/tests",
    ] {
        paths.extend(files(folder, "rs"));
    }
    // Cases of compile errors are numbered lines of user code, and templates are rendered.
    paths.retain(|path| !path.starts_with("tests/compile-fail/ui/"));
    let missing =
        paths.into_iter().filter(|path| !begins_with_documentation(&read(path))).collect();
    complaints(missing, "do not begin with a `//!` line that says what the file contains");
}

/// Returns true if the first line that is not an attribute or a shebang is a `//!` comment, or if a file is included.
fn begins_with_documentation(text: &str) -> bool {
    text.starts_with("#![doc = include_str!(")
        || text
            .lines()
            .find(|line| !line.starts_with("#!"))
            .is_some_and(|line| line.starts_with("//!"))
}

#[test]
fn sources_stay_small() {
    let long = sources()
        .into_iter()
        .filter(|path| !is_test(path))
        .map(|path| (without_tests(&read(&path)).lines().count(), path))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    complaints(long, "split them by concept");
}

#[test]
fn dependencies_point_one_way() {
    let mut wrong = Vec::new();
    for (folder, allowed) in DEPENDENCIES {
        for line in read(&format!("{folder}/Cargo.toml")).lines() {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if name.starts_with("evaluator-") && !allowed.contains(&name) {
                wrong.push(format!("{folder} depends on {name}"));
            }
        }
    }
    complaints(wrong, "the direction is protocol <- sdk, protocol <- host <- cli");
}

#[test]
fn processes_are_started_in_two_places() {
    let mut wrong = Vec::new();
    for path in sources() {
        let starts = without_tests(&read(&path)).contains("Command::new(");
        let may = STARTERS.iter().any(|(starter, _)| *starter == path);
        // The command line parser's type of the same name does not occur with `new`.
        if starts != may && !is_test(&path) {
            wrong.push(path);
        }
    }
    complaints(wrong, "start processes though they may not, or may and do not: see STARTERS");
}

#[test]
fn crates_leave_alone_what_is_not_theirs() {
    let banned: [(&str, &[&str]); 4] = [
        (
            "protocol",
            &[
                "std::fs",
                "std::io",
                "std::net",
                "std::process",
                "std::thread",
                "std::env",
                "async ",
            ],
        ),
        ("host", &["println!", "eprintln!", "process::exit", "clap::", "io::stdout", "io::stderr"]),
        (
            "launch",
            &[
                "println!",
                "eprintln!",
                "process::exit",
                "io::stdout",
                "io::stderr",
                "ureq",
                "rustls",
            ],
        ),
        ("sdk", &["process::exit", "tokio::net", "TcpStream"]),
    ];
    let mut wrong = Vec::new();
    for (folder, words) in banned {
        for path in files(&format!("{folder}/src"), "rs") {
            let text = read(&path);
            let code =
                without_tests(&text).lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                wrong.extend(
                    words
                        .iter()
                        .filter(|word| line.contains(**word))
                        .filter(|word| **word != "TcpStream" || path != CONNECTS)
                        .filter(|word| **word != "process::exit" || path != EXITS)
                        .map(|word| format!("{path}: `{word}` in `{}`", line.trim())),
                );
            }
        }
    }
    complaints(wrong, "these crates do not do that: see the table in ARCHITECTURE.md");
}

#[test]
fn unfinished_work_is_not_committed() {
    // Spelled in two halves so that this file does not find itself.
    let words = [
        concat!("to", "do!("),
        concat!("unimpl", "emented!("),
        concat!("FIX", "ME"),
        concat!("db", "g!("),
        concat!("#[ign", "ore]"),
    ];
    let mut paths = sources();
    paths.extend(files("tests", "rs"));
    paths.extend(files("examples", "rs"));
    let mut wrong = Vec::new();
    for path in paths {
        let text = read(&path);
        wrong.extend(
            words.iter().filter(|word| text.contains(**word)).map(|word| format!("{path}: {word}")),
        );
    }
    complaints(wrong, "finish it, or leave it out");
}

#[test]
fn every_ui_case_has_its_golden() {
    let cases = files("tests/compile-fail/ui", "rs");
    assert!(cases.len() >= 20, "only {} cases of mistakes", cases.len());
    let missing = cases
        .into_iter()
        .filter(|path| !root().join(path).with_extension("stderr").exists())
        .collect();
    complaints(
        missing,
        "have no golden: run the UI tests with TRYBUILD=overwrite and read what it wrote",
    );
}

#[test]
fn templates_hold_no_manifest_that_cargo_would_take_for_its_own() {
    let manifests = files("templates", "toml")
        .into_iter()
        .filter(|path| path.ends_with("/Cargo.toml"))
        .collect();
    complaints(manifests, "call them Cargo.toml.tmpl");
}

#[test]
fn unsafe_code_stays_in_the_module_for_the_operating_system() {
    let wrong = sources()
        .into_iter()
        .filter(|path| read(path).contains("unsafe {") && !path.contains("/os/"))
        .collect();
    complaints(wrong, "have unsafe code; it belongs into an `os` module");
}

/// Files in which the date is meant: of a file, of a record, and any number that differs from process to process.
const DATES: [&str; 3] = [
    "host/src/source/index_cache.rs",
    "host/src/events/export/mod.rs",
    "host/src/events/resource.rs",
];

#[test]
fn nothing_is_measured_by_a_clock_that_may_be_set() {
    let asks = |path: &String| without_tests(&read(path)).contains("SystemTime::now");
    let wrong = sources()
        .into_iter()
        .filter(|path| asks(path) && path.contains("/src/") && !DATES.contains(&path.as_str()))
        .collect();
    complaints(wrong, "read the clock on the wall, which may be set during a run; use `Instant`");
}
