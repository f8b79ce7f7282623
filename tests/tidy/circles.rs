//! Files that import each other in a circle.
//!
//! An import through a `mod.rs` counts as one of the file that defines the item, so re-exports hide no circle. Declarations and
//! re-exports of a `mod.rs` are no imports.

use std::collections::{BTreeMap, BTreeSet};

use super::{PUBLISHED, code, complaints, read};

/// Circles of files that are allowed: crate, the files in their order, reason. A row goes with its circle.
const ALLOWED: &[(&str, &[&str], &str)] = &[
    (
        "agentv",
        &["read/entry.rs", "read/list.rs"],
        "a list has entries, and the entry of a composite has a list",
    ),
    (
        "agentv",
        &["run/composite.rs", "run/evaluate.rs"],
        "an evaluator may be a composite, whose members are evaluators",
    ),
    (
        "engine",
        &["pool/shared.rs", "pool/worker.rs"],
        "a worker takes its work from what all workers share, which starts them",
    ),
    (
        "sdk",
        &["target_client/client.rs", "target_client/fake.rs"],
        "a client may answer from a script, and a fake target makes such clients",
    ),
];

/// A source and what it imports.
struct Source {
    /// Path from the crate's `src` directory.
    path: String,
    /// Names of the module that the file is.
    module: Vec<String>,
    /// The text without comments.
    text: String,
    /// Names that imports and re-exports define here, with their absolute paths. `*` is the name of a glob.
    names: Vec<(String, Vec<String>)>,
    /// Absolute paths of everything else that is mentioned.
    uses: Vec<Vec<String>>,
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let (mut wrong, mut excused) = (Vec::new(), BTreeSet::new());
    let code = code();
    for &krate in PUBLISHED {
        let prefix = format!("{krate}/src/");
        let sources = code.iter().filter_map(|(full, _)| {
            let path = full.strip_prefix(&prefix)?;
            // A program of its own is a crate of its own.
            (!path.starts_with("bin/") && path != "main.rs").then(|| Source::new(path, &read(full)))
        });
        let sources: Vec<Source> = sources.collect();
        let imports = imports(&sources);
        let circles = circles(&imports);
        for circle in circles {
            match excuse(krate, &circle) {
                Some(row) => excused.extend([row]),
                None => wrong.push(format!(
                    "{krate}: {} files{}",
                    circle.len(),
                    edges(&imports, &circle)
                )),
            }
        }
    }
    complaints(wrong, "are in circles: move what they share below them");
    let stale = (0..ALLOWED.len()).filter(|row| !excused.contains(row));
    let stale = stale.map(|row| format!("{:?}", ALLOWED[row])).collect();
    complaints(stale, "are gone: remove the rows from ALLOWED");
}

fn excuse(krate: &str, circle: &[&str]) -> Option<usize> {
    ALLOWED.iter().position(|row| row.0 == krate && circle == row.1)
}

type Imports<'s> = BTreeMap<&'s str, BTreeSet<&'s str>>;

fn edges(imports: &Imports<'_>, circle: &[&str]) -> String {
    let within = circle.iter().flat_map(|from| {
        imports[from]
            .iter()
            .filter(|to| circle.contains(to))
            .map(move |to| format!("\n    {from} -> {to}"))
    });
    within.collect()
}

/// Sets of files of which each leads to every other, of two files and more.
fn circles<'s>(imports: &Imports<'s>) -> Vec<Vec<&'s str>> {
    let reached = |from: &'s str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(path) = next.pop() {
            next.extend(imports[path].iter().copied().filter(|path| seen.insert(*path)));
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|path| (*path, reached(path))).collect();
    let circles = reached.iter().filter(|(path, to)| to.contains(*path)).map(|(path, to)| {
        to.iter().copied().filter(|other| reached[other].contains(path)).collect::<Vec<_>>()
    });
    circles.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The files that each file imports, without itself.
fn imports(sources: &[Source]) -> Imports<'_> {
    let crate_names =
        Crate { sources: sources.iter().map(|source| (&*source.module, source)).collect() };
    sources
        .iter()
        .map(|source| {
            let is_parent = source.path.ends_with("mod.rs") || source.path == "lib.rs";
            // What a parent re-exports is named there and not used.
            let own = source.names.iter().map(|(_, path)| path).filter(|_| !is_parent);
            let found = own.chain(&source.uses).filter_map(|path| crate_names.definition(path, 0));
            let found = found.map(|found| &*found.path).filter(|path| *path != source.path);
            (&*source.path, found.collect())
        })
        .collect()
}

struct Crate<'s> {
    sources: BTreeMap<&'s [String], &'s Source>,
}

impl<'s> Crate<'s> {
    /// Returns the file that defines what a path names; `None` for a module that only holds others, and for other crates.
    fn definition(&self, path: &[String], depth: usize) -> Option<&'s Source> {
        if depth > 16 {
            return None;
        }
        let length =
            (0..=path.len()).rev().find(|length| self.sources.contains_key(&path[..*length]))?;
        let source = self.sources[&path[..length]];
        let Some(name) = path.get(length) else {
            let has_children =
                self.sources.keys().any(|module| module.len() > length && module.starts_with(path));
            return (!has_children).then_some(source);
        };
        let through = |target: &[String]| {
            let target: Vec<String> = target.iter().chain(&path[length + 1..]).cloned().collect();
            (target != path).then(|| self.definition(&target, depth + 1)).flatten()
        };
        if let Some((_, target)) = source.names.iter().find(|(own, _)| own == name) {
            return through(target);
        }
        if source.defines(name) {
            return Some(source);
        }
        let globs = source.names.iter().filter(|(own, _)| own == "*");
        let mut targets = globs.map(|(_, module)| [module, &path[length..]].concat());
        targets.find_map(|target| self.definition(&target, depth + 1))
    }
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        // Unit tests are at the end of a file; modules of tests are sources that `code` leaves out.
        let end = text.match_indices("\n#[cfg(").find(|(at, _)| {
            let mut lines = text[at + 1..].lines();
            lines.next().is_some_and(|line| line.contains("test"))
                && lines.next().is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
        });
        let text = &text[..end.map_or(text.len(), |(at, _)| at)];
        let lines = text.lines().map(|line| line.split("// ").next().unwrap());
        let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
        let text = flattened(&without_strings(&lines.collect::<Vec<_>>().join("\n")));
        let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
        let module: Vec<String> = match stem {
            "lib" => Vec::new(),
            stem => stem.split('/').map(str::to_owned).collect(),
        };
        let mut source =
            Self { path: path.to_owned(), module, text, names: Vec::new(), uses: Vec::new() };
        source.read();
        source
    }

    /// Returns true if an item of this name is declared here.
    fn defines(&self, name: &str) -> bool {
        ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "union", "macro_rules!"]
            .iter()
            .any(|kind| {
                self.text
                    .match_indices(&format!("{kind} {name}"))
                    .any(|(start, found)| !self.text[start + found.len()..].starts_with(is_word))
            })
    }

    fn read(&mut self) {
        let text = self.text.clone();
        let mut rest = String::new();
        for (index, statement) in text.split("use ").enumerate() {
            // `use` begins a line, behind its visibility.
            let before = rest.rsplit('\n').next().unwrap().trim_start();
            let is_import = index > 0
                && (before.is_empty() || (before.starts_with("pub") && rest.ends_with(' ')));
            match statement.split_once(';').filter(|_| is_import) {
                Some((tree, behind)) => {
                    for (name, path) in leaves(tree) {
                        if let Some(path) = self.absolute(&path) {
                            self.names.push((name, path));
                        }
                    }
                    rest.push_str(behind);
                }
                None => {
                    rest.push_str(if index > 0 { "use " } else { "" });
                    rest.push_str(statement);
                }
            }
        }
        let children: Vec<String> = rest
            .split("mod ")
            .skip(1)
            .filter_map(|behind| behind.split_once(';').map(|(name, _)| name.to_owned()))
            .collect();
        for path in mentions(&rest) {
            let first = &path[0];
            let named = self.names.iter().find(|(name, _)| name == first);
            let path = match named {
                Some((_, target)) => Some([target, &path[1..]].concat()),
                None if children.contains(first) => Some([&*self.module, &path].concat()),
                None => self.absolute(&path),
            };
            self.uses.extend(path);
        }
        if self.path.ends_with("mod.rs") || self.path == "lib.rs" {
            // What a parent imports counts if it is mentioned.
            for (name, path) in &self.names {
                let mentioned =
                    |at: usize| is_whole(&rest, at, name.len()) && !rest[..at].ends_with("mod ");
                if rest.match_indices(&**name).any(|(at, _)| mentioned(at)) {
                    self.uses.push(path.clone());
                }
            }
        }
    }

    /// Returns the path from the root of the crate; `None` for other crates.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let up = path.iter().take_while(|name| *name == "super").count();
        match &*path[0] {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([&*self.module, &path[1..]].concat()),
            "super" => {
                // More of them belong to a module inside of this file.
                let parent = self.module.get(..self.module.len().checked_sub(up)?)?;
                Some([parent, &path[up..]].concat())
            }
            _ if self.path.ends_with("mod.rs") || self.path == "lib.rs" => {
                Some([&*self.module, path].concat())
            }
            _ => None,
        }
    }
}

/// The text without the contents of its strings. Raw strings have no quotes in them as far as imports go.
fn without_strings(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('"') {
        let (code, string) = rest.split_at(start);
        let is_quoted = code.ends_with('\'') || code.ends_with("b'") || code.ends_with("'\\");
        let hashes = code.len() - code.trim_end_matches('#').len();
        let is_raw = code.trim_end_matches('#').ends_with('r');
        let end = if is_quoted {
            Some(1)
        } else if is_raw {
            let end = format!("\"{}", "#".repeat(hashes));
            string[1..].find(&end).map(|at| at + 1 + end.len())
        } else {
            let mut escaped = false;
            let quote = string[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            quote.map(|at| at + 2)
        };
        kept.push_str(code);
        rest = &string[end.unwrap_or(string.len())..];
    }
    kept + rest
}

/// The text, with the paths of modules inside of it as seen from outside of them.
fn flattened(text: &str) -> String {
    let mut module = None;
    let lines = text.lines().map(|line| {
        let indent = &line[..line.len() - line.trim_start().len()];
        match module {
            None => {
                let words = line.split_whitespace().rev().take(3).collect::<Vec<_>>();
                module = matches!(words[..], ["{", _, "mod"]).then_some(indent);
                line.to_owned()
            }
            Some(outer) => {
                module = module.filter(|_| line.trim() != "}" || indent != outer);
                line.replace("super::super::", "\0")
                    .replace("super::", "self::")
                    .replace('\0', "super::")
            }
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_whole(text: &str, at: usize, length: usize) -> bool {
    !text[..at].ends_with(|c: char| is_word(c) || c == ':')
        && !text[at + length..].starts_with(is_word)
}

/// Names and paths of a tree of imports such as `super::{a::{B as C}, d}`.
fn leaves(tree: &str) -> Vec<(String, Vec<String>)> {
    let tree = tree.trim();
    if tree.is_empty() {
        return Vec::new();
    }
    let Some((prefix, group)) = tree.split_once('{') else {
        let (path, alias) =
            tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let path: Vec<String> = path.split("::").map(|name| name.trim().to_owned()).collect();
        let (last, parent) = path.split_last().unwrap();
        let path = if ["self", "*"].contains(&&**last) { parent.to_vec() } else { path.clone() };
        return vec![(alias.unwrap_or(last).trim().to_owned(), path)];
    };
    let prefix: Vec<String> = prefix
        .split("::")
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    let leaves = super::items(group).flat_map(leaves);
    leaves
        .map(|(name, path)| {
            let name = if name == "self" { prefix.last().unwrap().clone() } else { name };
            (name, [&*prefix, &path].concat())
        })
        .collect()
}

/// Paths with `::` in a text.
fn mentions(text: &str) -> Vec<Vec<String>> {
    let part = |c: char| is_word(c) || c == ':';
    let paths = text.split(|c: char| !part(c)).filter(|path| path.contains("::"));
    let paths = paths
        .map(|path| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect());
    paths.filter(|path: &Vec<String>| !path.is_empty()).collect()
}

#[test]
fn circles_are_found_behind_reexports_and_not_in_strings_comments_and_tests() {
    let parent = "mod a;\npub(crate) mod b;\npub use a::{A, Other as Renamed};\n";
    let user = "//! super::b::B\nuse super::b::{self, B};\n\npub struct A(B);\npub struct Other;\n";
    let circle = |text: &str| {
        let sources = [("x/mod.rs", parent), ("x/a.rs", user), ("x/b.rs", text)]
            .map(|(path, text)| Source::new(path, text));
        circles(&imports(&sources)) == [["x/a.rs", "x/b.rs"]]
    };
    for text in [
        "use super::A;\n",
        "use crate::x::{Renamed as R};\n",
        "use std::fmt;\nuse crate::{x::{A}};\n",
        "fn f() { super::A::new() }\n",
        "use super::a;\nfn f() { a::f() }\n",
        "mod inner {\n    use super::super::A;\n}\n",
    ] {
        assert!(circle(text), "{text}");
    }
    for text in [
        "pub struct B; // super::A\n",
        "const TEXT: &str = \"super::A \\\" super::A\";\n",
        "pub struct A;\nmod inner {\n    use super::A;\n}\n",
        "pub struct B;\n#[cfg(test)]\nmod tests {\n    use super::super::A;\n}\n",
    ] {
        assert!(!circle(text), "{text}");
    }
}
