//! Inline script metadata of a Python file: the `# /// script` block of PEP 723.

use std::{path::Path, str::FromStr};

use pep440_rs::{Version, VersionSpecifiers};
use toml_edit::{Document, Item};

use super::plain;

/// Type of the block that names dependencies. Blocks of other types are meant for other tools.
const TYPE: &str = "script";

/// What the block of a file says. A `[tool]` table in it is for other tools, and is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    /// Requirements, as they are written.
    pub(super) dependencies: Vec<String>,
    /// True if each dependency names packages of the index and nothing else.
    pub(super) is_plain: bool,
    requires_python: Option<(usize, VersionSpecifiers)>,
}

impl Metadata {
    /// Reads the block of `text`, the content of `file`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The file, the line, and what is wrong there. A `fetched` file may only name packages of the index.
    pub(super) fn read(file: &Path, text: &str, fetched: bool) -> Result<Option<Self>, String> {
        let found = find(text).and_then(|block| block.map(|it| it.parse(fetched)).transpose());
        found.map_err(|Problem { line, reason }| format!("{}:{line}: {reason}", file.display()))
    }

    /// Checks the version of an interpreter.
    ///
    /// # Errors
    ///
    /// The line of `requires-python` and the versions it accepts.
    pub(super) fn accepts(&self, version: &str) -> Result<(), (usize, String)> {
        let Some((line, wanted)) = &self.requires_python else { return Ok(()) };
        // Builds from a checkout call themselves `3.14.0a1+`.
        match Version::from_str(version.trim_end_matches('+')) {
            Ok(version) if wanted.contains(&version) => Ok(()),
            _ => Err((*line, wanted.to_string())),
        }
    }
}

/// A mistake in a block.
#[derive(Debug)]
struct Problem {
    /// Line of the file, from 1.
    line: usize,
    reason: String,
}

/// The TOML of a block.
#[derive(Debug)]
struct Block {
    /// Lines of the file before the first line of `toml`.
    lines_before: usize,
    toml: String,
}

/// Finds the block. It goes on for as long as there are comments, and ends with the last `# ///` among them.
fn find(text: &str) -> Result<Option<Block>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut found: Option<Block> = None;
    let mut at = 0;
    while at < lines.len() {
        let Some(kind) = opening(lines[at]) else {
            at += 1;
            continue;
        };
        let comments = lines[at + 1..].iter().take_while(|line| content(line).is_some()).count();
        let body = &lines[at + 1..=at + comments];
        let Some(length) = body.iter().rposition(|line| *line == "# ///") else {
            if kind != TYPE {
                at += 1;
                continue;
            }
            return Err(Problem {
                line: at + 1,
                reason: "this block of metadata is not closed; end it with a line `# ///`"
                    .to_owned(),
            });
        };
        if kind == TYPE {
            if found.is_some() {
                let reason = "there is a second `# /// script` block; keep one".to_owned();
                return Err(Problem { line: at + 1, reason });
            }
            let toml = body[..length].iter().filter_map(|line| content(line));
            let toml = toml.collect::<Vec<_>>().join("\n");
            found = Some(Block { lines_before: at + 1, toml });
        }
        at += length + 2;
    }
    Ok(found)
}

/// The type of the block that this line opens.
fn opening(line: &str) -> Option<&str> {
    let kind = line.strip_prefix("# /// ")?;
    let is_type = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!kind.is_empty() && kind.chars().all(is_type)).then_some(kind)
}

/// What a line of a block holds, without its comment sign.
fn content(line: &str) -> Option<&str> {
    if line == "#" { Some("") } else { line.strip_prefix("# ") }
}

impl Block {
    fn parse(&self, fetched: bool) -> Result<Metadata, Problem> {
        let document = Document::parse(self.toml.as_str()).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.problem(at, error.message().trim_end().replace('\n', ", "))
        })?;
        let mut metadata =
            Metadata { dependencies: Vec::new(), is_plain: true, requires_python: None };
        for (key, item) in document.iter() {
            let at = item.span().map_or(0, |span| span.start);
            match key {
                "dependencies" => self.dependencies(item, fetched, &mut metadata)?,
                "requires-python" => {
                    let text = item.as_str().ok_or("this is not a string".to_owned());
                    let wanted = text.and_then(|text| {
                        VersionSpecifiers::from_str(text)
                            .map_err(|_| format!("`{text}` is not a range of versions"))
                    });
                    let wanted = wanted.map_err(|reason| {
                        self.problem(
                            at,
                            format!("requires-python: {reason}; write e.g. \">=3.10\""),
                        )
                    })?;
                    metadata.requires_python = Some((self.line(at), wanted));
                }
                "tool" => {}
                other => {
                    return Err(self.problem(
                        at,
                        format!("unknown key `{other}`; known are dependencies, requires-python and tool"),
                    ));
                }
            }
        }
        Ok(metadata)
    }

    fn dependencies(
        &self,
        item: &Item,
        fetched: bool,
        metadata: &mut Metadata,
    ) -> Result<(), Problem> {
        let at = |span: Option<std::ops::Range<usize>>| span.map_or(0, |span| span.start);
        let Some(array) = item.as_array() else {
            let reason = "dependencies: this is not a list of strings".to_owned();
            return Err(self.problem(at(item.span()), reason));
        };
        for value in array {
            let at = at(value.span());
            let Some(text) = value.as_str() else {
                return Err(self.problem(at, "dependencies: this is not a string".to_owned()));
            };
            let text = text.trim();
            let is_plain = plain::parse(text).is_ok_and(|parsed| parsed == [text]);
            if !is_plain && (fetched || !plain::is_direct_reference(text)) {
                let allowed = if fetched {
                    "an evaluator that was fetched may only name packages of the index, such as `rapidfuzz>=3`"
                } else {
                    "this is not a requirement, such as `rapidfuzz>=3` or `name @ https://..`"
                };
                let shown = text.escape_debug();
                return Err(self.problem(at, format!("dependencies: `{shown}`: {allowed}")));
            }
            metadata.is_plain &= is_plain;
            metadata.dependencies.push(text.to_owned());
        }
        Ok(())
    }

    fn problem(&self, at: usize, reason: String) -> Problem {
        Problem { line: self.line(at), reason }
    }

    /// Line of the file where a byte of the block is.
    fn line(&self, at: usize) -> usize {
        let before = self.toml.get(..at).unwrap_or(&self.toml);
        self.lines_before + before.matches('\n').count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, fetched: bool) -> Result<Option<Metadata>, String> {
        Metadata::read(Path::new("check.py"), text, fetched)
    }

    fn dependencies(text: &str) -> Vec<String> {
        read(text, false).unwrap().unwrap().dependencies
    }

    #[test]
    fn the_block_may_be_anywhere_and_is_read_as_the_specification_says() {
        let block = "#!/usr/bin/env python3\n\n# /// script\n# requires-python = \">=3.8\"\n# dependencies = [\n\
                     #   \"rapidfuzz>=3\",\n#\n#   \"rich [x]\", # why\n# ]\n# [tool.uv]\n# index-url = \"https://e\"\n# ///\nimport x\n";
        assert_eq!(dependencies(block), ["rapidfuzz>=3", "rich [x]"]);
        assert_eq!(dependencies(&block.replace('\n', "\r\n")), ["rapidfuzz>=3", "rich [x]"]);
        // A `# ///` that other comments follow belongs to the block if one more ends it.
        let with_end = "# /// script\n# dependencies = [\"a\"] # x\n# ///\n# more\n";
        assert_eq!(dependencies(with_end), ["a"]);
        let other = "# /// other\n# = nonsense\n# ///\n\n# /// script\n# ///\n\n# /// open\n";
        assert_eq!(dependencies(other), [""; 0]);
        for none in ["", "import x\n", "#/// script\n", "# /// script \n", " # /// script\n"] {
            assert_eq!(read(none, false), Ok(None), "{none:?}");
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (text, expected) in [
            (
                "\n# /// script\n# dependencies = []\nimport x\n",
                "check.py:2: this block of metadata is not closed",
            ),
            ("# /// script\n# ///\n\n# /// script\n# ///\n", "check.py:4: there is a second"),
            ("# /// script\n#\n# dependencies = [\n# ///\n", "check.py:"),
            (
                "# /// script\n#\n# dependancies = []\n# ///\n",
                "check.py:3: unknown key `dependancies`",
            ),
            (
                "# /// script\n# dependencies = \"a\"\n# ///\n",
                "check.py:2: dependencies: this is not a list",
            ),
            (
                "# /// script\n# dependencies = [1]\n# ///\n",
                "check.py:2: dependencies: this is not a string",
            ),
            (
                "# /// script\n# dependencies = [\n#   \"a\",\n#   \"-r x\"]\n# ///\n",
                "check.py:4: dependencies: `-r x`: ",
            ),
            (
                "# /// script\n# dependencies = [\"a\\n-i x\"]\n# ///\n",
                "check.py:2: dependencies: `a\\n-i x`: ",
            ),
            (
                "# /// script\n# dependencies = [\"./lib\"]\n# ///\n",
                "check.py:2: dependencies: `./lib`: ",
            ),
            ("# /// script\n# dependencies = [\"\"]\n# ///\n", "check.py:2: dependencies: ``: "),
            (
                "# /// script\n# requires-python = \"new\"\n# ///\n",
                "check.py:2: requires-python: `new` is not",
            ),
            (
                "# /// script\n# requires-python = 3\n# ///\n",
                "check.py:2: requires-python: this is not a string",
            ),
        ] {
            let error = read(text, false).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn only_ones_own_file_may_say_where_a_package_comes_from() {
        let text = "# /// script\n# dependencies = [\"a @ https://e/a.whl\"]\n# ///\n";
        assert!(!read(text, false).unwrap().unwrap().is_plain);
        let error = read(text, true).unwrap_err();
        assert!(
            error.starts_with(
                "check.py:2: dependencies: `a @ https://e/a.whl`: an evaluator that was fetched"
            ),
            "{error}"
        );
        assert!(
            read("# /// script\n# dependencies = [\"a>1\"]\n# ///\n", true)
                .unwrap()
                .unwrap()
                .is_plain
        );
    }

    #[test]
    fn the_interpreter_has_to_be_one_that_is_accepted() {
        let metadata = |wanted: &str| {
            read(&format!("# /// script\n# requires-python = \"{wanted}\"\n# ///\n"), false)
                .unwrap()
                .unwrap()
        };
        for (wanted, version, accepted) in [
            (">=3.10", "3.11.7", true),
            (">=3.10", "3.9.18", false),
            (">=3.10,<3.11", "3.11.0", false),
            ("==3.11.*", "3.11.7", true),
            ("~=3.11", "3.14.0a1+", true),
            (">=3.10", "nonsense", false),
        ] {
            assert_eq!(metadata(wanted).accepts(version).is_ok(), accepted, "{wanted} {version}");
        }
        assert_eq!(metadata(">=3.99").accepts("3.11.7").unwrap_err(), (2, ">=3.99".to_owned()));
    }
}
