//! `docs/reference/environment.md` names the variables that the sources read, and no others.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{collections::BTreeSet, fs, path::Path};

/// Prefixes of variables of this project and of the systems that it works with. Every string in the sources with such a prefix
/// is a variable.
const FAMILIES: [&str; 6] =
    ["EVALUATOR_", "AGENTEVALS_", "OTEL_EXPORTER_", "OTEL_SDK_", "AGENTV_", "GITHUB_STEP_"];

/// Code that reads a variable by its name.
const READS: [&str; 6] = [
    "env::var(\"",
    "env::var_os(\"",
    "environment.get(\"",
    "env.get(\"",
    "self.get(\"",
    "variable(\"",
];

/// Variables that libraries read, or whose names are composed at run time.
const ELSEWHERE: [&str; 9] = [
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "TMPDIR",
    "OTEL_EXPORTER_OTLP_",
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
];

/// Names that users do not set: cargo sets the first two for build scripts, the third one is a variable of AgentV's prompts, the
/// last one is named for clients of `receive`.
const NOT_READ: [&str; 4] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
    "EVALUATOR_RESULTS_JSON",
    "OTEL_METRICS_EXPORTER",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Packages of the repository that are not published.
const UNPUBLISHED: [&str; 4] = ["examples", "fuzz", "test-support", "tests"];

/// Returns the sources of the published crates without comments and unit tests.
fn sources() -> String {
    fn read(directory: &Path, text: &mut String) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                read(&path, text);
            } else if name.ends_with(".rs") && !["tests.rs", "testing.rs"].contains(&name.as_str())
            {
                let source = fs::read_to_string(&path).unwrap();
                let code = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
                let code = code.split("\n#[cfg(all(test").next().unwrap_or_default();
                let is_code = |line: &&str| !line.trim_start().starts_with("//");
                code.lines().filter(is_code).for_each(|line| text.extend([line, "\n"]));
            }
        }
    }
    let mut text = String::new();
    let (mut crates, mut unpublished) = (0, 0);
    for entry in fs::read_dir(root()).unwrap() {
        let directory = entry.unwrap().path();
        let is_crate = directory.join("Cargo.toml").is_file() && directory.join("src").is_dir();
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        if UNPUBLISHED.contains(&&*name) {
            unpublished += 1;
        } else if is_crate {
            crates += 1;
            read(&directory.join("src"), &mut text);
        }
    }
    assert!(crates >= 11 && unpublished == UNPUBLISHED.len(), "{crates} crates, {unpublished}");
    text
}

/// Returns the name of a variable at the start of a text.
fn name_at(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    Some(&text[..end]).filter(|name| name.len() > 1 && !name.ends_with('_'))
}

/// Returns the names between two marks.
fn names<'t>(text: &'t str, mark: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(mark).filter_map(move |(at, _)| {
        let name = name_at(&text[at + mark.len()..])?;
        let after = &text[at + mark.len() + name.len()..];
        after.starts_with(&mark[mark.len() - 1..]).then_some(name)
    })
}

#[test]
fn the_page_names_what_is_read() {
    let sources = sources();
    let page = fs::read_to_string(root().join("docs/reference/environment.md")).unwrap();
    let named: BTreeSet<&str> = names(&page, "`").collect();

    let families =
        names(&sources, "\"").filter(|name| FAMILIES.iter().any(|family| name.starts_with(family)));
    let reads = READS.iter().flat_map(|read| names(&sources, read));
    let read: BTreeSet<&str> =
        families.chain(reads).filter(|name| !NOT_READ.contains(name)).collect();
    assert!(read.len() > 20, "{read:?}");
    let missing: Vec<&&str> = read.difference(&named).collect();
    assert!(missing.is_empty(), "docs/reference/environment.md does not name {missing:?}");

    let is_known = |name: &str| {
        sources.contains(&format!("\"{name}\""))
            || ELSEWHERE
                .iter()
                .any(|known| name == *known || (known.ends_with('_') && name.starts_with(known)))
    };
    let unknown: Vec<&&str> = named.iter().filter(|name| !is_known(name)).collect();
    assert!(
        unknown.is_empty(),
        "nothing reads {unknown:?}, which docs/reference/environment.md names"
    );
}
