//! Structure of evaluators: Python files that can be imported and started, and Rust packages that build from their directory
//! alone, which is all that hosts fetch.

use std::path::{Component, Path};

use toml_edit::{Document, Item, TableLike};

use evaluator_document::{Place, Span};

use crate::{
    files::{MAX_SOURCE, read_regular},
    hosts::export::{Reads, targets_of},
    manifest::{Language, LoadedManifest},
    runtime::requirements::check_plain,
};

/// Returns the remark about an evaluator that reads documents without an SDK: which hosts take it, and a requirement of the
/// community's repository.
fn sdk_note() -> String {
    let hosts: Vec<&str> = targets_of(Reads::SCRIPT).map(|host| host.name).collect();
    format!(
        "it speaks the protocol itself, so `evaluator export` takes it for {} only, and for another host with `--contract` if it \
         reads that host's documents, too; the agentevals community's repository takes only evaluators that import \
         agentevals_evaluator_sdk and use its @evaluator",
        hosts.join(", ")
    )
}

/// Returns the problems of a Python entrypoint and its `requirements.txt`, and remarks.
pub(super) fn python_problems(entrypoint: &Path) -> (Vec<String>, Vec<String>) {
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    // A file that cannot be read fails the syntax check.
    let source = read_regular(entrypoint, MAX_SOURCE).unwrap_or_default();
    let source = String::from_utf8_lossy(&source);
    let mut lines = source.lines();
    if !lines.any(is_main_guard) {
        problems.push(
            "there is no `if __name__ == \"__main__\":` in it; without, importing it in a test runs it, or starting it does nothing"
                .to_owned(),
        );
    }
    let code = || source.lines().map(str::trim_start);
    let imports_sdk = code().any(|line| {
        (line.starts_with("import ") || line.starts_with("from "))
            && line.contains("agentevals_evaluator_sdk")
    });
    let decorates = code().any(|line| line.starts_with('@') && line.contains("evaluator"));
    match (imports_sdk, decorates) {
        (true, false) => problems.push(
            "it imports agentevals_evaluator_sdk, but no function has its @evaluator".to_owned(),
        ),
        (true, true) => {}
        (false, _) => notes.push(sdk_note()),
    }
    match read_regular(&entrypoint.with_file_name(REQUIREMENTS), MAX_SOURCE) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            if names_nothing(&text) {
                problems.push(format!("{REQUIREMENTS} names no dependency; remove it"));
            } else if let Err(error) = check_plain(&text) {
                problems.push(format!(
                    "{REQUIREMENTS}: {error}; of an evaluator that was fetched, hosts install packages of the index only"
                ));
            }
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            problems.push(format!("{REQUIREMENTS} cannot be read: {error}"));
        }
        Err(_) => {}
    }
    (problems, notes)
}

/// File next to an entrypoint that names its packages.
pub(super) const REQUIREMENTS: &str = "requirements.txt";

/// Returns true if a line is a main guard, whatever its spaces, quotes and parentheses.
fn is_main_guard(line: &str) -> bool {
    let Some(condition) = line.strip_prefix("if").filter(|rest| rest.starts_with([' ', '\t', '(']))
    else {
        return false;
    };
    let plain: String = condition
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '(' | ')'))
        .map(|c| if c == '\'' { '"' } else { c })
        .collect();
    plain.starts_with("__name__==\"__main__\"") || plain.starts_with("\"__main__\"==__name__")
}

fn names_nothing(requirements: &str) -> bool {
    requirements.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

const MANIFEST: &str = "Cargo.toml";

/// Returns the paths in a package's manifest that leave its directory. Absolute paths are allowed: scaffolds in a checkout
/// have one to the SDK. Cargo reports a manifest that cannot be read.
pub(super) fn package_problems(loaded: &LoadedManifest) -> Vec<String> {
    if loaded.language != Language::Rust {
        return Vec::new();
    }
    let file = loaded.directory.join(MANIFEST);
    let text = read_regular(&file, MAX_SOURCE).unwrap_or_default();
    let text = String::from_utf8(text).unwrap_or_default();
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
                    &format!("`{key}` leads to `{path}`, outside of the directory, which is all that hosts fetch"),
                ),
                ("workspace", _, Some(true)) if !is_workspace => self.add(
                    item,
                    "this is inherited from a workspace, and hosts fetch only the directory of the package; write it out here",
                ),
                // Settings of other tools.
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

/// Returns true if a relative path leaves its start, even if it returns.
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
    use evaluator_test_support::Directory;

    use super::*;

    #[test]
    fn guards_are_known_however_they_are_written() {
        for line in [
            "if __name__ == '__main__':",
            "if __name__==\"__main__\": main()",
            "if (__name__ == \"__main__\"):",
            "if \"__main__\" == __name__:",
            "if __name__ == \"__main__\" and True:",
        ] {
            assert!(is_main_guard(line), "{line}");
        }
        for line in ["ifx __name__ == '__main__':", "# if __name__ == '__main__':", "if __name__:"]
        {
            assert!(!is_main_guard(line), "{line}");
        }
    }

    #[test]
    fn the_form_of_a_source() {
        let directory = Directory::new("validate-python");
        let found = |source: &str| {
            let (problems, notes) = python_problems(&directory.file("a.py", source));
            (problems.len(), notes.len())
        };
        let main = "if __name__ == '__main__':\n    x.run()\n";
        let sdk = "from agentevals_evaluator_sdk import evaluator\n";
        assert_eq!(found(&format!("{sdk}@evaluator\ndef x(): pass\n{main}")), (0, 0));
        assert_eq!(found(&format!("{sdk}def x(): pass\n{main}")), (1, 0));
        assert_eq!(found(&format!("{sdk}# @evaluator\n# {main}")), (2, 0), "comments are no code");
        assert_eq!(found(main), (0, 1));
        assert_eq!(found("print(1)\n"), (1, 1));
        directory.file("requirements.txt", "# none\n\n");
        assert_eq!(found(main), (1, 1));
        directory.file("requirements.txt", "numpy\n");
        assert_eq!(found(main), (0, 1));
        directory.file("requirements.txt", "numpy\n-e .\n");
        assert_eq!(found(main), (1, 1));
    }

    fn problems_of(text: &str) -> Vec<String> {
        let document = Document::parse(text).unwrap();
        let mut found = Found { text, file: Path::new(MANIFEST), problems: Vec::new() };
        found.table(document.as_table(), document.get("workspace").is_some());
        found.problems
    }

    #[test]
    fn what_leads_out_of_the_directory_is_found_wherever_it_stands() {
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
