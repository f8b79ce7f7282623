//! Whether a Rust package can be built from its folder alone, which is all that is fetched of it.

use std::path::{Component, Path};

use evaluator_document::{Place, Span};
use toml_edit::{Document, Item, TableLike};

use crate::manifest::{Language, LoadedManifest};

const MANIFEST: &str = "Cargo.toml";

/// What in the manifest of a package leads out of its folder. What cannot be read, cargo complains of.
///
/// A path that is absolute is built from anywhere on this machine, and scaffolds of a checkout have one to the SDK.
pub(super) fn problems(loaded: &LoadedManifest) -> Vec<String> {
    if loaded.language != Language::Rust {
        return Vec::new();
    }
    let file = loaded.folder.join(MANIFEST);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let Ok(document) = Document::parse(&text) else { return Vec::new() };
    let mut found = Found { text: &text, file: &file, problems: Vec::new() };
    found.table(document.as_table(), document.get("workspace").is_some());
    found.problems
}

struct Found<'a> {
    text: &'a str,
    file: &'a Path,
    problems: Vec<String>,
}

impl Found<'_> {
    fn table(&mut self, table: &dyn TableLike, is_workspace: bool) {
        for (key, item) in table.iter() {
            match (key, item.as_str(), item.as_bool()) {
                ("path" | "workspace", Some(path), _) if leaves(path) => self.add(
                    item,
                    &format!("`{key}` leads to `{path}`, outside of the folder, which is all that hosts fetch"),
                ),
                ("workspace", _, Some(true)) if !is_workspace => self.add(
                    item,
                    "this is inherited from a workspace, and hosts fetch only the folder of the package; write it out here",
                ),
                // What other tools read.
                ("metadata", ..) => continue,
                _ => {}
            }
            if let Some(inner) = item.as_table_like() {
                self.table(inner, is_workspace);
            }
            for inner in item.as_array_of_tables().into_iter().flatten() {
                self.table(inner, is_workspace);
            }
        }
    }

    fn add(&mut self, item: &Item, message: &str) {
        let span = item.span().unwrap_or_default();
        let place = Place::new(self.text, Span { start: span.start, end: span.end });
        let (file, line, column) = (self.file.display(), place.line, place.column);
        self.problems.push(format!("{file}:{line}:{column}: {message}"));
    }
}

/// Whether a relative path ends, or passes through, above where it begins.
fn leaves(path: &str) -> bool {
    let mut depth = 0_usize;
    for component in Path::new(path).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(text: &str) -> Vec<String> {
        let document = Document::parse(text).unwrap();
        let mut found = Found { text, file: Path::new(MANIFEST), problems: Vec::new() };
        found.table(document.as_table(), document.get("workspace").is_some());
        found.problems
    }

    #[test]
    fn what_leads_out_of_the_folder_is_found_wherever_it_stands() {
        for (text, place) in [
            ("[dependencies]\nshared = { path = \"../shared\" }\n", "2:19"),
            ("[dependencies.shared]\npath = \"a/../../b\"\n", "2:8"),
            ("[target.'cfg(unix)'.dev-dependencies]\na.path = \"..\"\n", "2:10"),
            ("[[bin]]\nname = \"a\"\npath = \"../a.rs\"\n", "3:8"),
            ("[package]\nworkspace = \"../..\"\n", "2:13"),
            ("[package]\nversion.workspace = true\n", "2:21"),
            ("[dependencies]\nserde = { workspace = true }\n", "2:23"),
        ] {
            let found = problems_of(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with(&format!("Cargo.toml:{place}: ")), "{found:?}");
        }
    }

    #[test]
    fn what_stays_inside_or_is_absolute_is_no_problem() {
        for text in [
            "[dependencies]\na = { path = \"crates/a\" }\nb = { path = \"crates/../b\" }\nc = { path = \"/sdk\" }\n",
            "[workspace]\n[workspace.package]\nversion = \"1.0.0\"\n[package]\nversion.workspace = true\n",
            "[package.metadata.tool]\npath = \"../x\"\n",
            "[package]\nname = \"path\"\n",
        ] {
            assert_eq!(problems_of(text), [""; 0], "{text}");
        }
    }
}
