//! Files that exist on this machine and that a contained program did not find: the hint that goes with its error.
//!
//! The messages of the program are untrusted. A path in them is only looked up, a bounded number of times, and named only
//! if it is printable.

use std::path::{Component, Path, PathBuf};

use crate::files::read_regular;

/// Lines of standard error that are read, from the last one.
const LINES: usize = 40;

/// Characters of a line that are read.
const LINE: usize = 4096;

/// Texts in quotes of a source that may be directories of modules.
const LITERALS: usize = 200;

/// Maximum number of bytes of a source.
const LONGEST_SOURCE: u64 = 1 << 20;

/// Directories of which every contained program has its own, and directories that may be mounted when they are looked up.
const PASSED_OVER: [&str; 5] = ["/proc", "/dev", "/sys", "/net", "/misc"];

/// Paths that a contained program sees, and its working directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// Paths that it sees, each with everything below it.
    pub(crate) paths: Vec<PathBuf>,
    /// File of the program.
    pub(crate) source: PathBuf,
    /// Directories in which its entry makes Python look for modules.
    pub(crate) search_path: Vec<PathBuf>,
    /// Working directory.
    pub(crate) cwd: PathBuf,
}

impl Shown {
    /// Returns a path that a message in `text` calls missing, although it exists: the program does not see it.
    pub(crate) fn hidden_in(&self, text: &str) -> Option<PathBuf> {
        let lines: Vec<&str> = text.lines().rev().take(LINES).collect();
        lines.iter().enumerate().find_map(|(at, line)| {
            let line: String = line.chars().take(LINE).collect();
            // Node.js names the importing file in the next line but one; `lines` is reversed.
            let importer = at.checked_sub(2).and_then(|at| lines[at].strip_prefix("- "));
            self.missing_in(&line, importer.map(Path::new))
        })
    }

    fn missing_in(&self, line: &str, importer: Option<&Path>) -> Option<PathBuf> {
        if let Some((_, module)) = line.split_once("No module named ") {
            return self.python_module(quoted(module).next()?);
        }
        if let Some((_, rest)) = line.split_once("Cannot find ") {
            let name = quoted(rest).next()?;
            let named = rest.split_once(" imported from ").map(|(_, path)| Path::new(path.trim()));
            return self.node_module(name, named.or(importer).unwrap_or(&self.source));
        }
        let (before, after) =
            [": cannot open shared object", "No such file", "ENOENT", ": not found"]
                .iter()
                .find_map(|sign| line.split_once(sign))?;
        // As in `ENOENT: .., open 'PATH'` and in `open PATH: No such file or directory`.
        let in_message = before.trim_end().trim_end_matches([':', '(']);
        let last = in_message.rsplit(": ").next().unwrap_or_default();
        let candidates = [
            quoted(after).last(),
            quoted(before).last(),
            Some(last),
            last.split_whitespace().last(),
        ];
        candidates.into_iter().flatten().find_map(|path| self.hidden(&self.cwd.join(path)))
    }

    /// Returns the text of the file of the program; empty if it is not a source.
    pub(crate) fn source_text(&self) -> String {
        let text = read_regular(&self.source, LONGEST_SOURCE).unwrap_or_default();
        String::from_utf8(text).unwrap_or_default()
    }

    /// Returns the path if it exists and the program does not see it.
    fn hidden(&self, path: &Path) -> Option<PathBuf> {
        let path = without_dots(path);
        let is_plain = path.to_str().is_some_and(|text| !text.contains(char::is_control));
        let is_shown = |shown: &PathBuf| path.starts_with(shown);
        let is_passed_over = PASSED_OVER.iter().any(|own| path.starts_with(own));
        let is_named = path.parent().is_some();
        if !is_plain || !is_named || is_passed_over || self.paths.iter().any(is_shown) {
            return None;
        }
        path.exists().then_some(path)
    }

    /// Returns the directory of a module that the program finds without a sandbox, because its entry or its source changes
    /// the search path.
    fn python_module(&self, module: &str) -> Option<PathBuf> {
        let name = module.split('.').next().filter(|name| is_name(name))?;
        let text = self.source_text();
        let changes_path = text.contains("sys.path") || text.contains("addsitedir");
        let is_path = |text: &&str| text.len() < 256 && !text.contains(char::is_whitespace);
        let literals = text.lines().flat_map(quoted).filter(is_path).take(LITERALS);
        // As in `join(dirname(__file__), "..", "lib")`, `dirname(__file__) + "/../lib"` and `f"{here}/lib"`.
        let relative = |text| [text, after_brace(text).trim_start_matches('/')];
        let literals = literals.flat_map(relative);
        let above = || self.source.ancestors().skip(1).take(3).chain([&*self.cwd]);
        let named = literals.chain([""]).filter(|_| changes_path);
        let named = named.flat_map(|named| above().map(move |it| it.join(named)));
        let of_entry = self.search_path.iter().map(|directory| self.cwd.join(directory));
        of_entry.chain(named).find_map(|directory| {
            let file = self.hidden(&directory.join(format!("{name}.py")));
            file.or_else(|| self.hidden(&directory.join(name)))?;
            Some(without_dots(&directory))
        })
    }

    /// Returns the file that a file of JavaScript imports. Packages in directories above the file are always shown.
    fn node_module(&self, name: &str, importer: &Path) -> Option<PathBuf> {
        let path = importer.parent()?.join(name).into_os_string();
        ["", ".js", ".cjs", ".json"].iter().filter(|_| name.starts_with(['.', '/'])).find_map(
            |end| {
                let mut path = path.clone();
                path.push(end);
                self.hidden(Path::new(&path))
            },
        )
    }
}

/// Returns true if the text can be the name of a Python module.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// Returns the end of a literal, after the expressions in it.
fn after_brace(text: &str) -> &str {
    text.rsplit('}').next().unwrap_or_default()
}

/// Returns the texts in quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(['\'', '"', '`'])?;
        let quote = rest[start..].chars().next()?;
        let inner = &rest[start + 1..];
        let (found, after) = inner.split_once(quote).unwrap_or((inner, ""));
        rest = after;
        Some(found)
    })
}

/// Returns the path without `.` and `..`, which are resolved by the names alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            component => plain.push(component),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_exists_and_is_not_shown() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let shown = Shown {
            paths: vec![root.join("src/run")],
            source: root.join("src/run/check.js"),
            cwd: root.to_owned(),
            ..Shown::default()
        };
        let library = root.join("src/lib.rs").display().to_string();
        let lines = |start: &str, end: &str| format!("{start}{library}{end}");
        for text in [
            lines("x\nFileNotFoundError: [Errno 2] No such file or directory: '", "'\n"),
            lines("cat: ", ": No such file or directory"),
            lines("/bin/sh: 3: .: cannot open ", ": No such file"),
            lines("/bin/sh: 1: ", ": not found\nlast line"),
            lines("error: cannot read ", ": No such file or directory (os error 2)"),
            lines("Error: ENOENT: no such file or directory, open '", "'\n    at open (node:fs)\n"),
            lines("OSError: ", ": cannot open shared object file: No such file or directory"),
            lines("Error: Cannot find module '", "'\nRequire stack:\n- /x.js\n"),
            format!(
                "Error: Cannot find module '../lib.rs'\nRequire stack:\n- {}/src/run/x.js",
                root.display()
            ),
            format!(
                "Cannot find module '../lib.rs' imported from {}/src/run/x.mjs",
                root.display()
            ),
            "open src/lib.rs: No such file or directory".to_owned(),
        ] {
            assert_eq!(shown.hidden_in(&text), Some(root.join("src/lib.rs")), "{text}");
        }
        for text in [
            lines("read ", ""),
            lines("", "/: No such file or directory").replace("lib.rs", "run/mod.rs"),
            "cat: /proc/self/status: No such file or directory".to_owned(),
            "cat: /no/such/file: No such file or directory".to_owned(),
            "No module named 'lib'".to_owned(),
            "Cannot find module 'lib'".to_owned(),
            format!("cat: {}: No such file or directory", "/x".repeat(100_000)),
            "': No such file or directory: '\u{1b}[31m/etc/passwd'".to_owned(),
            lines("", &"\nx".repeat(LINES)),
        ] {
            assert_eq!(shown.hidden_in(&text), None, "{text:.200}");
        }
    }
}
