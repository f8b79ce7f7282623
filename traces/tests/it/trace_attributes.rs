//! The page of attributes lists those that the code reads, and no others.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Literals in the form of such names that are something else: operations, and places in documents.
const OTHERS: [&str; 9] = [
    "Experimental.Microsoft.Extensions.AI",
    "ai.generateObject",
    "ai.generateText",
    "ai.streamObject",
    "ai.streamText",
    "ai.toolCall",
    "ai.workflowAgent.stream",
    "arrayValue.values",
    "kvlistValue.values",
];

/// The names in the first column of the page's tables.
fn listed(page: &str) -> BTreeSet<String> {
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    page.lines().filter_map(name).collect()
}

/// The sources below a directory that read traces.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && !matches!(&*name, "tests.rs" | "testing.rs") {
            found.push(path);
        }
    }
    found
}

/// The string literals of a source that are names of attributes, or prefixes of such names.
fn read_by(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let is_name = |text: &str| {
        let word =
            |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let text = text.strip_suffix('.').unwrap_or(text);
        text.contains('.') && text.split('.').all(|part| !part.is_empty() && word(part))
    };
    // Every other piece between quotes is a literal; escaped quotes are in none of these names.
    code.replace("\\\"", "").split('"').filter(|text| is_name(text)).map(str::to_owned).collect()
}

#[test]
fn the_page_lists_the_attributes_that_are_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page =
        fs::read_to_string(root.join("../docs/reference/trace-attributes.md")).expect("the page");
    let listed = listed(&page);
    let files = ["src/conversation", "src/trace"].map(|directory| sources(&root.join(directory)));
    let read: BTreeSet<String> = files
        .concat()
        .iter()
        .flat_map(|file| read_by(&fs::read_to_string(file).expect("a source")))
        .filter(|name| !OTHERS.contains(&&**name))
        .collect();
    assert!(read.len() > 50, "{read:?}");
    let missing: Vec<_> = read.difference(&listed).collect();
    assert!(missing.is_empty(), "docs/reference/trace-attributes.md does not list {missing:?}");
    let unread: Vec<_> = listed.difference(&read).collect();
    assert!(
        unread.is_empty(),
        "docs/reference/trace-attributes.md lists {unread:?}, which nothing reads"
    );
}
