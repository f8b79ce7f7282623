//! Manifests embedded in a lone `.rs` file.
//!
//! Two forms are read: the frontmatter of cargo scripts, between `---` fences at the top of the file, and the
//! <code>```cargo</code> block in the leading `//!` comment that `rust-script` introduced.

use std::{fs, path::Path};

use crate::runtime::PrepareError;

/// A manifest found in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Embedded {
    /// The manifest's TOML.
    pub(super) toml: String,
    /// How many lines of the file come before the first line of `toml`.
    pub(super) lines_before: usize,
    /// The source as stable compilers can read it, with the same line numbers; `None` when that is the file itself.
    pub(super) plain_source: Option<String>,
}

/// An embedded manifest that is not well formed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Malformed {
    /// Line of the file, from 1.
    line: usize,
    /// What is wrong and what to write.
    reason: String,
}

/// The manifest embedded in a file. One that is not text has none, and the compiler will say so.
pub(super) fn read(path: &Path) -> Result<Option<Embedded>, PrepareError> {
    let bytes = fs::read(path).map_err(|error| PrepareError::Unusable {
        reason: format!("cannot read {}: {error}", path.display()),
    })?;
    let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(None) };
    find(text).map_err(|malformed| PrepareError::Unusable {
        reason: format!("{}:{}: {}", path.display(), malformed.line, malformed.reason),
    })
}

/// Finds the manifest embedded in `source`, if there is one.
fn find(source: &str) -> Result<Option<Embedded>, Malformed> {
    match frontmatter(source)? {
        Some(embedded) => Ok(Some(embedded)),
        None => comment_block(source),
    }
}

/// ````text
/// #!/usr/bin/env evaluator     (optional)
///                              (blank lines)
/// ---cargo                     (three dashes or more; `cargo` is optional)
/// [dependencies]
/// ---                          (as many dashes)
/// ````
fn frontmatter(source: &str) -> Result<Option<Embedded>, Malformed> {
    let text = source.strip_prefix('\u{feff}').unwrap_or(source);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut start = usize::from(lines.first().is_some_and(|line| is_shebang(line)));
    while lines.get(start).is_some_and(|line| line.trim().is_empty()) {
        start += 1;
    }
    let Some(opening) = lines.get(start) else { return Ok(None) };
    let dashes = leading_dashes(opening);
    if dashes < 3 {
        return Ok(None);
    }
    let info = opening[dashes..].trim();
    if !matches!(info, "" | "cargo") {
        return Err(Malformed {
            line: start + 1,
            reason: format!("frontmatter of kind `{info}` is not a manifest; write `---cargo`"),
        });
    }
    let first = start + 1;
    let Some(length) = lines[first..].iter().position(|line| leading_dashes(line) == dashes) else {
        return Err(Malformed {
            line: start + 1,
            reason: format!(
                "frontmatter is not closed; write `{}` on a line of its own",
                "-".repeat(dashes)
            ),
        });
    };
    let closing = first + length;
    if !lines[closing][dashes..].trim().is_empty() {
        return Err(Malformed {
            line: closing + 1,
            reason: "nothing may follow the dashes that close frontmatter".to_owned(),
        });
    }
    // Every line stays, so that the compiler's line numbers are those of the file.
    let mut plain_source = "\n".repeat(closing + 1);
    plain_source.extend(lines[closing + 1..].iter().copied());
    Ok(Some(Embedded {
        toml: lines[first..closing].concat(),
        lines_before: first,
        plain_source: Some(plain_source),
    }))
}

fn comment_block(source: &str) -> Result<Option<Embedded>, Malformed> {
    let mut block: Option<(usize, String)> = None;
    for (index, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("//!") else {
            if let Some((start, _)) = block {
                return Err(unclosed_block(start));
            }
            // The comment may come after a `#!` line, blank lines and ordinary comments, but before any code.
            if line.is_empty() || line.starts_with("//") || (index == 0 && is_shebang(line)) {
                continue;
            }
            return Ok(None);
        };
        let comment = comment.strip_prefix(' ').unwrap_or(comment);
        match &mut block {
            None if comment.trim() == "```cargo" => block = Some((index + 1, String::new())),
            None => {}
            Some((start, toml)) if comment.trim() == "```" => {
                return Ok(Some(Embedded {
                    toml: std::mem::take(toml),
                    lines_before: *start,
                    plain_source: None,
                }));
            }
            Some((_, toml)) => {
                toml.push_str(comment);
                toml.push('\n');
            }
        }
    }
    block.map_or(Ok(None), |(start, _)| Err(unclosed_block(start)))
}

fn unclosed_block(line: usize) -> Malformed {
    Malformed {
        line,
        reason: "the ```cargo block is not closed; write `//! ```` below it".to_owned(),
    }
}

/// A `#!` line, and not the start of an inner attribute.
fn is_shebang(line: &str) -> bool {
    line.strip_prefix("#!").is_some_and(|rest| !rest.trim_start().starts_with('['))
}

fn leading_dashes(line: &str) -> usize {
    line.bytes().take_while(|&byte| byte == b'-').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Embedded {
        find(source).unwrap().expect("a manifest")
    }

    #[test]
    fn ordinary_sources_have_none() {
        for source in [
            "",
            "\n\n",
            "fn main() {}",
            "#!/usr/bin/env evaluator\nfn main() {}",
            "#![allow(dead_code)]\n//! ```cargo\n//! ```\n",
            "//! ```rust\n//! a();\n//! ```\nfn main() {}",
            "fn main() {}\n---\n[package]\n---\n",
            "-- not frontmatter",
        ] {
            assert_eq!(find(source), Ok(None), "{source:?}");
        }
    }

    #[test]
    fn frontmatter_keeps_the_line_numbers_of_the_code() {
        let source =
            "#!/usr/bin/env x\n\n---cargo\n[dependencies]\nserde = \"1\"\n---\nfn main() {}\n";
        assert_eq!(
            found(source),
            Embedded {
                toml: "[dependencies]\nserde = \"1\"\n".to_owned(),
                lines_before: 3,
                plain_source: Some("\n\n\n\n\n\nfn main() {}\n".to_owned()),
            }
        );
    }

    #[test]
    fn frontmatter_may_be_long_bare_windows_and_empty() {
        assert_eq!(
            found("-----\r\na = 1\r\n---\r\n-----\r\nfn main() {}").toml,
            "a = 1\r\n---\r\n"
        );
        assert_eq!(found("\u{feff}---\n---").toml, "");
        assert_eq!(found("---   cargo  \n---  \n").toml, "");
    }

    #[test]
    fn malformed_frontmatter_is_named_with_its_line() {
        let error = |source| find(source).unwrap_err();
        assert_eq!(error("\n---yaml\n---\n").line, 2);
        assert_eq!(
            error("---yaml\n---\n").reason,
            "frontmatter of kind `yaml` is not a manifest; write `---cargo`"
        );
        assert_eq!(
            error("----\n---\nfn main() {}").reason,
            "frontmatter is not closed; write `----` on a line of its own"
        );
        assert_eq!(error("---\na = 1\n--- x\n").line, 3);
    }

    #[test]
    fn a_comment_block_is_read_and_the_file_left_as_it_is() {
        let source = "#!/usr/bin/env rust-script\n//! Checks things.\n//!\n//! ```cargo\n//! [dependencies]\n\
                      //!     a = \"1\"\n//!\n//! ```\nfn main() {}\n";
        assert_eq!(
            found(source),
            Embedded {
                toml: "[dependencies]\n    a = \"1\"\n\n".to_owned(),
                lines_before: 4,
                plain_source: None,
            }
        );
    }

    #[test]
    fn a_comment_block_must_be_closed() {
        assert_eq!(find("//! ```cargo\n//! a = 1\nfn main() {}").unwrap_err().line, 1);
        assert_eq!(find("//! ```cargo\n//! a = 1").unwrap_err().line, 1);
    }
}
