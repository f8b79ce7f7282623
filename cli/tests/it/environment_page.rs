//! `docs/environment.md` names the variables that the sources read, and no others.

use std::{collections::BTreeSet, fs, path::Path};

/// Variables of this project and of the systems that it works with: each string in the sources that begins so is one.
const FAMILIES: [&str; 6] =
    ["EVALUATOR_", "AGENTEVALS_", "OTEL_EXPORTER_", "OTEL_SDK_", "AGENTV_", "GITHUB_STEP_"];

/// How the sources read a variable by its name.
const READS: [&str; 6] = [
    "env::var(\"",
    "env::var_os(\"",
    "environment.get(\"",
    "env.get(\"",
    "self.get(\"",
    "variable(\"",
];

/// Variables that libraries read, or whose names are put together.
const ELSEWHERE: [&str; 5] =
    ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TMPDIR", "OTEL_EXPORTER_OTLP_"];

/// Names that look like variables and are none that a user sets: cargo sets it for build scripts.
const NOT_READ: [&str; 1] = ["CARGO_MANIFEST_DIR"];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The sources of the published crates without comments and unit tests.
fn sources() -> String {
    fn read(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).expect("it is a directory") {
            let path = entry.expect("it is there").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                read(&path, text);
            } else if name.ends_with(".rs") && !["tests.rs", "testing.rs"].contains(&name.as_str())
            {
                let source = fs::read_to_string(&path).expect("it is there");
                let code = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
                let code = code.split("\n#[cfg(all(test").next().unwrap_or_default();
                let is_code = |line: &&str| !line.trim_start().starts_with("//");
                code.lines().filter(is_code).for_each(|line| text.extend([line, "\n"]));
            }
        }
    }
    let mut text = String::new();
    for folder in [
        "protocol", "sdk", "json", "document", "traces", "metrics", "launch", "hosts", "host",
        "cli",
    ] {
        read(&root().join(folder).join("src"), &mut text);
    }
    text
}

/// The name of a variable at the start of this text.
fn name_at(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    Some(&text[..end]).filter(|name| name.len() > 1 && !name.ends_with('_'))
}

/// The names that stand between such marks.
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
    let page = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let named: BTreeSet<&str> = names(&page, "`").collect();

    let families =
        names(&sources, "\"").filter(|name| FAMILIES.iter().any(|family| name.starts_with(family)));
    let reads = READS.iter().flat_map(|read| names(&sources, read));
    let read: BTreeSet<&str> =
        families.chain(reads).filter(|name| !NOT_READ.contains(name)).collect();
    assert!(read.len() > 20, "{read:?}");
    let missing: Vec<&&str> = read.difference(&named).collect();
    assert!(missing.is_empty(), "docs/environment.md does not name {missing:?}");

    let is_known = |name: &str| {
        sources.contains(&format!("\"{name}\""))
            || ELSEWHERE
                .iter()
                .any(|known| name == *known || (known.ends_with('_') && name.starts_with(known)))
    };
    let unknown: Vec<&&str> = named.iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "nothing reads {unknown:?}, which docs/environment.md names");
}
