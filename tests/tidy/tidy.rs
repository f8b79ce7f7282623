//! The invariants of ARCHITECTURE.md that a program can check.
//!
//! A package of its own that uses no other crate, so that it is compiled in a second: `cargo test -p evaluator-tidy`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod circles;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Maximum number of lines of a source file without its tests.
const MAX_FILE_LINES: usize = 800;

/// Maximum number of lines of a function, from its name to the closing brace.
const MAX_FUNCTION_LINES: usize = 60;

/// Members of the workspace, each after those that it may depend on, and the allowed edges.
const CRATES: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("sdk-macros", &[]),
    ("sdk", &["protocol", "sdk-macros"]),
    ("json", &[]),
    ("document", &["json"]),
    ("traces", &["json"]),
    ("metrics", &["json", "document", "traces"]),
    ("statistics", &[]),
    ("results", &["protocol", "json", "traces", "statistics"]),
    ("mutation", &["json", "traces", "statistics"]),
    ("sandbox", &[]),
    ("launch", &["protocol", "sandbox"]),
    ("models", &[]),
    ("judging", &["json", "document", "traces", "metrics", "models"]),
    ("hosts", &["protocol", "json", "traces", "launch"]),
    (
        "engine",
        &[
            "protocol", "json", "document", "traces", "metrics", "results", "launch", "models",
            "judging", "hosts",
        ],
    ),
    (
        "host",
        &[
            "protocol", "json", "document", "traces", "metrics", "launch", "models", "judging",
            "hosts", "results", "mutation", "engine",
        ],
    ),
    ("publish", &["protocol", "document", "launch", "hosts", "host"]),
    ("serve", &["protocol", "json", "launch", "hosts", "host", "publish"]),
    ("receive", &["launch", "host", "serve"]),
    ("bundle", &["host"]),
    (
        "agentv",
        &["protocol", "json", "document", "traces", "launch", "models", "judging", "hosts", "host"],
    ),
    ("html", &["json", "results"]),
    (
        "cli",
        &[
            "protocol", "json", "traces", "launch", "hosts", "host", "publish", "serve", "agentv",
            "html", "mutation", "receive", "bundle",
        ],
    ),
    ("examples", &["sdk"]),
    ("examples/community", &["sdk"]),
    // What the tests of all crates share, so it may use none of them.
    ("test-support", &[]),
    ("tests/compile-fail", &["sdk"]),
    ("tests/tidy", &[]),
    // Tests may use everything.
    (
        "tests",
        &[
            "protocol",
            "sdk",
            "json",
            "traces",
            "statistics",
            "sandbox",
            "launch",
            "hosts",
            "host",
            "publish",
            "serve",
            "cli",
            "test-support",
        ],
    ),
    (
        "fuzz",
        &[
            "protocol", "json", "traces", "launch", "sandbox", "models", "hosts", "host",
            "publish", "agentv",
        ],
    ),
];

/// Crates that are published: all of their sources are held to the limits below.
const PUBLISHED: &[&str] = &[
    "protocol",
    "sdk",
    "sdk-macros",
    "json",
    "document",
    "traces",
    "metrics",
    "statistics",
    "results",
    "mutation",
    "launch",
    "sandbox",
    "models",
    "judging",
    "hosts",
    "engine",
    "host",
    "publish",
    "serve",
    "receive",
    "bundle",
    "agentv",
    "html",
    "cli",
];

/// Crates whose interface is promised to others, and listed in `tests/public-api`.
const PROMISED: [&str; 3] = ["protocol", "sdk", "host"];

/// Functions that were longer before there was a limit. A row goes when its function is cut; none is added.
const LONG_FUNCTIONS: &[(&str, &str)] = &[("launch/src/process/session.rs", "exchange")];

/// The only source of the SDK that opens connections: to the proxy of a host, on this machine.
const CONNECTS: &str = "sdk/src/target_client/http.rs";

/// The only source of the SDK that ends the process: after a failure, which must not depend on what `main` returns.
const EXITS: &str = "sdk/src/program/mod.rs";

/// The only sources that start processes, each with what it starts.
const STARTERS: &[(&str, &str)] = &[
    ("cli/src/bin/cargo-evaluator.rs", "the command"),
    ("launch/src/process/os/guardian.rs", "the shell that kills them when this process was killed"),
    ("launch/src/process/spawn.rs", "evaluators"),
    ("launch/src/tool.rs", "compilers, installers, and interpreters' version checks"),
    ("sandbox/src/helper/start.rs", "contained programs, by becoming them"),
    ("sandbox/src/support.rs", "its own helper, for a check"),
];

/// Sources that read the time of day: of a file, of a record, or as a number that differs between processes.
const DATES: [&str; 2] = ["host/src/source/github.rs", "host/src/events/export.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below a directory with that extension, as paths from the root with forward slashes.
fn files(directory: &str, extension: &str) -> Vec<String> {
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
    walk(&root.join(directory), extension, &mut found);
    let mut found: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"))
        .collect();
    found.sort();
    found
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Sources of the published crates.
fn sources() -> Vec<String> {
    PUBLISHED.iter().flat_map(|directory| files(&format!("{directory}/src"), "rs")).collect()
}

/// The text without its unit tests, which are at the end of a file.
fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ").next().unwrap().split("\n#[cfg(all(test").next().unwrap()
}

/// Sources of the published crates that are not tests, without their unit tests.
fn code() -> Vec<(String, String)> {
    let is_test = |path: &String| {
        path.ends_with("/tests.rs") || path.contains("/tests/") || path.ends_with("/testing.rs")
    };
    let sources = sources().into_iter().filter(|path| !is_test(path));
    sources.map(|path| (path.clone(), without_tests(&read(&path)).to_owned())).collect()
}

fn complaints(complaints: Vec<String>, hint: &str) {
    assert!(complaints.is_empty(), "\n{}\n{hint}", complaints.join("\n"));
}

#[test]
fn every_source_begins_with_its_documentation() {
    let mut paths = sources();
    for (directory, _) in CRATES {
        paths.extend(files(directory, "rs"));
    }
    // Cases of compile errors are user code, and templates are rendered.
    paths.retain(|path| !path.contains("/ui/") && !path.contains("/templates/"));
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
fn each_library_says_whether_its_interface_is_promised() {
    let mut wrong = Vec::new();
    for krate in PUBLISHED {
        let source = read(&format!("{krate}/src/lib.rs"));
        let start: String = source.lines().take(10).collect();
        let says = start.contains("This crate makes no promise of stability");
        if says == PROMISED.contains(krate) {
            wrong.push(format!("{krate}/src/lib.rs"));
        }
    }
    complaints(
        wrong,
        "have to say in their first lines that the crate makes no promise of stability, or be in PROMISED",
    );
}

#[test]
fn sources_stay_small() {
    let long = code()
        .into_iter()
        .map(|(path, text)| (text.lines().count(), path))
        .filter(|(lines, _)| *lines > MAX_FILE_LINES)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    complaints(long, "split them by concept");
}

#[test]
fn functions_stay_short() {
    let (mut long, mut excused) = (Vec::new(), BTreeSet::new());
    for (path, text) in code() {
        for (name, lines) in functions(&text).filter(|(_, lines)| *lines > MAX_FUNCTION_LINES) {
            match LONG_FUNCTIONS.iter().position(|it| (it.0, it.1) == (&*path, name)) {
                Some(position) => excused.extend([position]),
                None => long.push(format!("{path}: `{name}` has {lines} lines")),
            }
        }
    }
    complaints(long, &format!("have more than {MAX_FUNCTION_LINES} lines: cut them by step"));
    let stale = (0..LONG_FUNCTIONS.len()).filter(|position| !excused.contains(position));
    let stale = stale.map(|position| format!("{:?}", LONG_FUNCTIONS[position])).collect();
    complaints(stale, "are short or gone: remove the rows from LONG_FUNCTIONS");
}

/// Names and lengths of functions. In text that is formatted, one ends at the first brace with its own indentation.
fn functions(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len()).filter_map(move |start| {
        let line = lines[start];
        let indent = &line[..line.len() - line.trim_start().len()];
        let words = line.trim_start().split(' ');
        let mut rest = words.skip_while(|word| {
            word.starts_with("pub")
                || ["const", "async", "unsafe", "extern", "\"C\""].contains(word)
        });
        let name = rest.next().filter(|word| *word == "fn").and_then(|_| rest.next())?;
        let name = name.split(['(', '<']).next().unwrap();
        let indented = |line: &str| line.len() - line.trim_start().len() == indent.len();
        let end = |line: &&str| indented(line) && line.ends_with(['}', ';']);
        let end = start + lines[start..].iter().position(end)?;
        // A declaration without a body is none.
        (!lines[end].ends_with(';')).then_some((name, end - start + 1))
    })
}

#[test]
fn dependencies_point_one_way() {
    let mut wrong = Vec::new();
    for (position, (directory, allowed)) in CRATES.iter().enumerate() {
        for dependency in *allowed {
            let is_before = CRATES[..position].iter().any(|(earlier, _)| earlier == dependency);
            assert!(is_before, "{dependency} has to come before {directory} in CRATES");
        }
        let mut section = "";
        for line in read(&format!("{directory}/Cargo.toml")).leak().lines() {
            section = if line.starts_with('[') { line } else { section };
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            let Some(name) = name.strip_prefix("evaluator-") else { continue };
            // Tests may use what they share, and crates that theirs does not depend on.
            let is_dev = section.contains("dev-dependencies");
            if section.contains("dependencies") && !is_dev && !allowed.contains(&name) {
                wrong.push(format!("{directory} depends on {name}"));
            }
        }
    }
    complaints(wrong, "the allowed edges are in CRATES");
}

#[test]
fn every_member_of_the_workspace_has_its_edges() {
    let manifest = read("Cargo.toml");
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    let members: BTreeSet<&str> = members.split('"').skip(1).step_by(2).collect();
    let mut known: BTreeSet<&str> = CRATES.iter().map(|(directory, _)| *directory).collect();
    // Has a workspace of its own, since it needs a nightly compiler.
    assert!(known.remove("fuzz"));
    assert_eq!(members, known);
}

#[test]
fn libraries_without_examples_start_no_rustdoc() {
    let mut wrong = Vec::new();
    for (directory, _) in CRATES.iter().filter(|(directory, _)| has_library(directory)) {
        let sources = files(&format!("{directory}/src"), "rs");
        let has_examples = sources.iter().map(|path| read(path)).any(|text| has_example(&text));
        if read(&format!("{directory}/Cargo.toml")).contains("\ndoctest = false\n") == has_examples
        {
            wrong.push(format!("{directory}/Cargo.toml"));
        }
    }
    complaints(
        wrong,
        "have to say `doctest = false` in `[lib]` if, and only if, no code block of the library is a test",
    );
}

fn has_library(directory: &str) -> bool {
    directory != "fuzz" && root().join(directory).join("src/lib.rs").exists()
}

/// Returns true if a text includes documentation or has a code block that rustdoc takes for Rust.
fn has_example(text: &str) -> bool {
    let mut is_inside = false;
    text.lines().map(str::trim_start).any(|line| {
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(fence) = comment.and_then(|it| it.trim_start().strip_prefix("```")) else {
            return line.trim_start_matches(['#', '!']).starts_with("[doc = include_str!(");
        };
        is_inside = !is_inside;
        let language = fence.trim_start_matches('`').split([',', ' ']).next().unwrap_or_default();
        is_inside && ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&language)
    })
}

#[test]
fn modules_of_a_crate_do_not_import_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    let code = code();
    for &krate in PUBLISHED {
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, text) in &code {
            let Some(path) = path.strip_prefix(&format!("{krate}/src/")) else { continue };
            if !["lib.rs", "main.rs"].contains(&path) {
                let module = path.split(['/', '.']).next().unwrap().to_owned();
                imports.entry(module).or_default().extend(imported(path, text));
            }
        }
        let modules: BTreeSet<String> = imports.keys().cloned().collect();
        for (module, imported) in &mut imports {
            imported.retain(|name| modules.contains(name) && name != module);
        }
        for (module, imported) in &imports {
            for name in imported.iter().filter(|name| leads_to(&imports, name, module)) {
                wrong.push(format!("{krate}: `{module}` imports `{name}`"));
            }
        }
    }
    complaints(wrong, "are on circles: move what both need below them");
}

/// Names after `crate::` in a source, and after as many `super::` as lead to the root of its crate.
fn imported(path: &str, text: &str) -> BTreeSet<String> {
    let depth = path.trim_end_matches("/mod.rs").split('/').count();
    let roots = ["crate::".to_owned(), "super::".repeat(depth)];
    let mut found = BTreeSet::new();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let text: String = lines.collect::<Vec<_>>().join("\n");
    for root in roots {
        for (start, _) in text.match_indices(&*root) {
            // A longer chain of `super::` belongs to a module inside of this file.
            if text[..start].ends_with(|before: char| before == ':' || before.is_alphanumeric()) {
                continue;
            }
            let rest = &text[start + root.len()..];
            let name = |text: &str| {
                text.trim()
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
                    .unwrap()
                    .to_owned()
            };
            match rest.strip_prefix('{') {
                None => found.extend([name(rest)]),
                Some(group) => found.extend(items(group).map(name)),
            }
        }
    }
    found
}

/// Items of a group of imports, up to its closing brace.
fn items(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let end = group.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth < 0
    });
    let mut depth = 0;
    group[..end.unwrap()].split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0 && c == ','
    })
}

/// Returns true if imports lead from one module to another, which may be the same.
fn leads_to(imports: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            next.extend(imports[module].iter().map(String::as_str));
        }
    }
    false
}

#[test]
fn processes_are_started_in_few_places() {
    let mut wrong = Vec::new();
    for (path, text) in code() {
        // The command line parser's type of the same name does not occur with `new`.
        let starts = text.contains("Command::new(");
        if starts != STARTERS.iter().any(|(starter, _)| *starter == path) {
            wrong.push(path);
        }
    }
    complaints(wrong, "start processes though they may not, or may and do not: see STARTERS");
}

#[test]
fn crates_leave_alone_what_is_not_theirs() {
    const QUIET: &[&str] =
        &["println!", "eprintln!", "process::exit", "clap::", "io::stdout", "io::stderr"];
    const PURE: &[&str] =
        &["std::fs", "std::io", "std::net", "std::process", "std::thread", "std::env", "async "];
    let banned: [(&str, &[&str]); 9] = [
        ("protocol", PURE),
        ("host", QUIET),
        ("publish", QUIET),
        ("serve", QUIET),
        ("traces", QUIET),
        ("results", QUIET),
        ("launch", QUIET),
        ("models", QUIET),
        ("sdk", &["process::exit", "tokio::net", "TcpStream"]),
    ];
    let mut wrong = Vec::new();
    for (path, text) in code() {
        let words = banned.iter().find(|(krate, _)| path.starts_with(&format!("{krate}/")));
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            wrong.extend(
                words
                    .iter()
                    .flat_map(|(_, words)| *words)
                    .filter(|word| line.contains(**word))
                    .filter(|word| **word != "TcpStream" || path != CONNECTS)
                    .filter(|word| **word != "process::exit" || path != EXITS)
                    .map(|word| format!("{path}: `{word}` in `{}`", line.trim())),
            );
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
    let mut wrong = Vec::new();
    for (directory, _) in CRATES {
        for path in files(directory, "rs") {
            let text = read(&path);
            let found = words.iter().filter(|word| text.contains(**word));
            wrong.extend(found.map(|word| format!("{path}: {word}")));
        }
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

#[test]
fn nothing_is_measured_by_a_clock_that_may_be_set() {
    let wrong = code()
        .into_iter()
        .filter(|(path, text)| text.contains("SystemTime::now") && !DATES.contains(&&**path))
        .map(|(path, _)| path)
        .collect();
    complaints(wrong, "read the clock on the wall, which may be set during a run; use `Instant`");
}

#[test]
fn the_architecture_page_is_short_and_names_what_exists() {
    let page = read("ARCHITECTURE.md");
    assert!(page.len() <= 30 << 10, "ARCHITECTURE.md has {} bytes", page.len());
    let mut wrong = Vec::new();
    for name in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = read(name);
        // Every other piece between backticks is code.
        let code = text.split('`').skip(1).step_by(2);
        let paths = code.filter(|it| it.contains('/') && !it.contains([' ', '<', '~', ':', '*']));
        // Names in capitals stand for the name that the reader chooses; what is in `target` is built later than this runs.
        let paths = paths.filter(|it| !it.contains("NAME") && !it.starts_with("target/"));
        let paths = paths.filter(|it| !it.starts_with(['.', '/', '-']));
        wrong
            .extend(paths.filter(|it| !root().join(it).exists()).map(|it| format!("{name}: {it}")));
    }
    complaints(wrong, "do not exist");
}
