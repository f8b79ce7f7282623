//! The syntax of requirements: which packages a text names, and whether it names anything but packages of the index.
//!
//! What installers accept besides packages (options, addresses, paths, references to variables) chooses where packages come
//! from. Only the user may choose that, never a fetched evaluator. So its requirements are checked against a list of known
//! harmless forms: a name, extras, versions, a marker, hashes. Everything else is refused.
//!
//! Requirements of fetched evaluators are parsed and written again for the installer instead of being filtered:
//! nothing that the installer reads differently (encodings, line ends) can select another index.

use pep440_rs::VersionSpecifiers;

/// A line of requirements that a fetched evaluator may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}: `{text}`")]
#[non_exhaustive]
pub struct NotPlain {
    /// Line, from 1.
    pub line: usize,
    /// Reason why it is refused.
    pub reason: &'static str,
    /// The line, or the beginning of a long one.
    pub text: String,
}

impl NotPlain {
    fn new(line: usize, reason: &'static str, text: &str) -> Self {
        const LONGEST: usize = 80;
        let text = text.trim();
        let mut shown: String = text.escape_debug().take(LONGEST).collect();
        if text.chars().nth(LONGEST).is_some() {
            shown.push_str("..");
        }
        Self { line, reason, text: shown }
    }
}

/// Checks that requirements only name packages of the index: names with extras, versions, markers and hashes, and
/// comments. Options, addresses, paths and references to variables are refused, because they can choose where packages
/// come from.
///
/// # Errors
///
/// The first line that contains anything else.
pub fn check_plain(text: &str) -> Result<(), NotPlain> {
    parse(text).map(drop)
}

/// Extensions by which installers recognize files.
const ARCHIVES: [&str; 7] = [".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar"];

/// Returns the requirements of a text, one for each line, without comments and blank lines.
pub(super) fn parse(text: &str) -> Result<Vec<String>, NotPlain> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut requirements = Vec::new();
    for (index, line) in lines(text).enumerate() {
        let refused = |reason| NotPlain::new(index + 1, reason, line);
        // Installers may treat other characters as line ends, which could hide a requirement in a comment.
        if line.chars().any(|char| char != '\t' && (char.is_control() || is_separator(char))) {
            return Err(refused("control characters and unusual line ends are not allowed"));
        }
        if line.trim_end().ends_with('\\') {
            return Err(refused("lines that go on in the next line are not allowed"));
        }
        let requirement = without_comment(line).trim();
        if requirement.is_empty() {
            continue;
        }
        if let Some(reason) = problem(requirement) {
            return Err(refused(reason));
        }
        requirements.push(requirement.to_owned());
    }
    Ok(requirements)
}

/// Returns true if a text is one requirement as PEP 508 has it: a package of the index, or `NAME @ URL`.
#[must_use]
pub fn is_requirement(text: &str) -> bool {
    is_plain(text) || is_direct_reference(text)
}

/// Returns true if a text is one requirement that only names a package of the index.
pub(super) fn is_plain(text: &str) -> bool {
    parse(text).is_ok_and(|parsed| parsed == [text])
}

/// Lines as Python separates them.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

fn is_separator(char: char) -> bool {
    matches!(char, '\u{2028}' | '\u{2029}')
}

/// Removes a comment, which starts at the start of a line or after a blank.
pub(super) fn without_comment(line: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| {
        line[..*at].chars().next_back().is_none_or(|before| before.is_ascii_whitespace())
    };
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

/// Returns true if installers treat this name as a file.
pub(super) fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
}

/// Returns a requirement that [`parse`] has accepted without its hashes.
pub(super) fn without_hashes(requirement: &str) -> &str {
    split_options(requirement).0.trim_end()
}

/// Splits off the options. Installers look for options after any blank.
fn split_options(requirement: &str) -> (&str, &str) {
    let mut blanks = requirement.match_indices([' ', '\t']).map(|(at, _)| at);
    blanks
        .find(|at| requirement[at + 1..].starts_with('-'))
        .map_or((requirement, ""), |at| requirement.split_at(at))
}

fn problem(requirement: &str) -> Option<&'static str> {
    if requirement.starts_with('-') {
        return Some("installer options are not allowed");
    }
    let (named, hashes) = split_options(requirement);
    if !hashes.split_ascii_whitespace().all(is_hash) {
        return Some("only --hash options are allowed after a requirement");
    }
    let named = named.trim_end();
    let marker_at = named.find(';').unwrap_or(named.len());
    let (package, marker) = named.split_at(marker_at);
    if package.contains('@') || package.contains("://") || package.contains("+:") {
        return Some("addresses, repositories and direct references are not allowed");
    }
    if package.starts_with(['.', '/', '~']) || package.contains(['/', '\\']) {
        return Some("paths are not allowed");
    }
    if named.contains("${") {
        return Some("references to environment variables are not allowed");
    }
    let mut rest = Rest(package);
    let name = rest.name();
    if is_archive(name) {
        return Some("files are not allowed");
    }
    let is_name = name.starts_with(|char: char| char.is_ascii_alphanumeric())
        && name.ends_with(|char: char| char.is_ascii_alphanumeric());
    if !is_name || !rest.extras() || !rest.versions() || !rest.0.trim().is_empty() {
        return Some("this is not `NAME`, `NAME[EXTRA]` or `NAME>=VERSION`");
    }
    if marker_at < named.len() && !is_marker(&marker[1..]) {
        return Some("this is not a marker such as `python_version < \"3.12\"`");
    }
    None
}

/// Returns true for `NAME @ URL`, a direct reference of PEP 508.
pub(super) fn is_direct_reference(requirement: &str) -> bool {
    let mut rest = Rest(requirement);
    let name = rest.name();
    let is_name = name.starts_with(|char: char| char.is_ascii_alphanumeric());
    let Some((scheme, place)) = (is_name && rest.extras() && rest.eat("@"))
        .then(|| rest.0.trim_start().split_once(':'))
        .flatten()
    else {
        return false;
    };
    let is_scheme = |char: char| char.is_ascii_alphanumeric() || "+.-".contains(char);
    !scheme.is_empty()
        && scheme.chars().all(is_scheme)
        && !place.is_empty()
        && !requirement.chars().any(char::is_control)
}

/// The parts of a requirement that [`parse`] has accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) name: &'a str,
    /// True if it names extras or hashes: its version alone then does not show that it is installed.
    pub(super) has_more: bool,
    /// Accepted versions, empty for all.
    pub(super) versions: &'a str,
    pub(super) marker: Option<&'a str>,
}

/// The name of a package as indexes compare it (PEP 503).
pub(super) fn normalized(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// Splits a requirement that [`parse`] has accepted.
pub(super) fn split(requirement: &str) -> Parts<'_> {
    let (requirement, has_hashes) = match requirement.split_once(" --") {
        Some((requirement, _)) => (requirement, true),
        None => (requirement, requirement.contains("\t--")),
    };
    let (package, marker) = match requirement.split_once(';') {
        Some((package, marker)) => (package, Some(marker.trim())),
        None => (requirement, None),
    };
    let mut rest = Rest(package.trim());
    let name = rest.name();
    let has_extras = rest.0.trim_start().starts_with('[');
    rest.extras();
    let versions = rest.0.trim().trim_start_matches('(').trim_end_matches(')').trim();
    Parts { name, has_more: has_hashes || has_extras, versions, marker }
}

fn is_hash(word: &str) -> bool {
    word.strip_prefix("--hash=").and_then(|hash| hash.split_once(':')).is_some_and(
        |(algorithm, digest)| {
            let all = |text: &str| {
                !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            };
            all(algorithm) && all(digest)
        },
    )
}

/// The rest of a requirement that is being parsed.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn name(&mut self) -> &'a str {
        self.take_while(|char| char.is_ascii_alphanumeric() || "-_.".contains(char))
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|char| !keep(char)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn eat(&mut self, text: &str) -> bool {
        self.0 = self.0.trim_start();
        self.0.strip_prefix(text).map(|rest| self.0 = rest).is_some()
    }

    /// `[a, b]`, or nothing.
    fn extras(&mut self) -> bool {
        if !self.eat("[") {
            return true;
        }
        let inside = |char: char| char.is_ascii_alphanumeric() || "-_., \t".contains(char);
        self.take_while(inside);
        self.eat("]")
    }

    /// `>=1, <2`, in parentheses or not, or nothing.
    fn versions(&mut self) -> bool {
        let all = std::mem::take(&mut self.0).trim();
        let inner = all.strip_prefix('(').map(|rest| rest.strip_suffix(')'));
        let versions = inner.unwrap_or(Some(all));
        all.is_empty()
            || versions.is_some_and(|versions| {
                versions.is_ascii()
                    && !versions.trim().is_empty()
                    && versions.parse::<VersionSpecifiers>().is_ok()
            })
    }
}

/// Returns true if a text consists of tokens of markers. The installer checks their meaning.
fn is_marker(text: &str) -> bool {
    let mut rest = Rest(text.trim());
    if rest.0.is_empty() {
        return false;
    }
    while !rest.0.is_empty() {
        let word =
            rest.take_while(|char| char.is_ascii_alphanumeric() || "_.()<>=!~ \t".contains(char));
        if let Some(quote) = rest.0.chars().next().filter(|char| matches!(char, '"' | '\'')) {
            rest.0 = &rest.0[1..];
            rest.take_while(|char| char.is_ascii() && char != quote && char != '\\');
            if !rest.0.starts_with(quote) {
                return false;
            }
            rest.0 = &rest.0[1..];
        } else if word.is_empty() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packages_of_the_index_are_accepted() {
        for line in [
            "rapidfuzz",
            "rapidfuzz>=3.0",
            "rapidfuzz >= 3.0, < 4  # a comment",
            "a-b_c.d[x,y-z] == 1.*",
            "a[]",
            "a (>=1, !=1.5)",
            "a~=1.4.2",
            "a===1.0+local-1",
            "a==1!2.0.post1",
            "a; python_version < \"3.12\" and (sys_platform == 'win32' or extra in 'x y')",
            "a ; platform_release != 'a@b://c/d'",
            "a==1 --hash=sha256:0123abcd --hash=sha512:ff",
            "2to3",
            "# only a comment with anything: -r http://x @ $",
            "",
            "   ",
        ] {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
        }
        assert_eq!(
            parse("\u{feff}# packages\r\na # why\r\n\r\n  b>1\t# x\n").unwrap(),
            ["a", "b>1"]
        );
    }

    #[test]
    fn a_requirement_has_parts() {
        let parts = |name, has_more, versions, marker| Parts { name, has_more, versions, marker };
        assert_eq!(split("a-b.c"), parts("a-b.c", false, "", None));
        assert_eq!(split("a >= 1, < 4"), parts("a", false, ">= 1, < 4", None));
        assert_eq!(split("a (>=1)"), parts("a", false, ">=1", None));
        assert_eq!(split("a[x, y]==1.*"), parts("a", true, "==1.*", None));
        assert_eq!(split("a==1 --hash=sha256:0"), parts("a", true, "==1", None));
        assert!(split("a==1\t--hash=sha256:0").has_more);
        for (line, without) in [
            ("a==1 --hash=sha256:0\t--hash=sha256:1", "a==1"),
            ("a==1\t--hash=sha256:0", "a==1"),
            ("a >= 1 ; os_name == 'x-y'", "a >= 1 ; os_name == 'x-y'"),
        ] {
            assert_eq!(without_hashes(line), without);
        }
        assert_eq!(split("a>1 ; os_name == 'x'"), parts("a", false, ">1", Some("os_name == 'x'")));
    }

    #[test]
    fn a_direct_reference_is_a_name_and_a_url() {
        for yes in
            ["a @ https://e/a.whl", "a[x]@file:///a", "a @ git+ssh://git@e/r ; os_name == 'x'"]
        {
            assert!(is_direct_reference(yes), "{yes}");
        }
        for no in [
            "-r @ https://e",
            "@ https://e",
            "a @ ./lib",
            "a",
            "https://e",
            "a @ https:",
            "a @ https://e\n-r x",
        ] {
            assert!(!is_direct_reference(no), "{no}");
        }
    }

    #[test]
    fn whatever_chooses_where_packages_come_from_is_refused() {
        for (line, reason) in [
            ("-r other.txt", "installer options"),
            ("--index-url https://evil", "installer options"),
            ("-e .", "installer options"),
            ("a --index-url https://evil", "only --hash options"),
            ("a\t-i https://evil", "only --hash options"),
            ("a ; extra == ' -i x'", "only --hash options"),
            ("a --hash=sha256:0 -i x", "only --hash options"),
            ("a --hash", "only --hash options"),
            ("a @ https://evil/a.whl", "addresses"),
            ("a@file:///a", "addresses"),
            ("https://evil/a.whl", "addresses"),
            ("git+https://evil/a", "addresses"),
            ("git+ssh://git@evil/a", "addresses"),
            ("./a", "paths"),
            ("/a", "paths"),
            ("~/a", "paths"),
            ("..", "paths"),
            ("a/b", "paths"),
            ("a\\b", "paths"),
            ("a.whl", "files"),
            ("A.TAR.GZ", "files"),
            ("${HOME}", "references to environment variables"),
            ("a==${VERSION}", "references to environment variables"),
            ("a; extra == '${SECRET}'", "references to environment variables"),
            ("a b", "this is not `NAME`"),
            ("a==", "this is not `NAME`"),
            ("a==1,", "this is not `NAME`"),
            ("a=1", "this is not `NAME`"),
            ("a[x", "this is not `NAME`"),
            ("a(>1", "this is not `NAME`"),
            ("ä", "this is not `NAME`"),
            ("a-", "this is not `NAME`"),
            ("a;", "this is not a marker"),
            ("a; x == 'open", "this is not a marker"),
            ("a; x == 1 & y", "this is not a marker"),
            ("a \\", "lines that go on"),
            ("# a\u{2028}--index-url https://evil", "control characters"),
            ("# a\u{b}--index-url https://evil", "control characters"),
            ("# a\u{85}--index-url https://evil", "control characters"),
            ("a\0", "control characters"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.reason.starts_with(reason), "{line}: {error}");
            assert_eq!(error.line, 1);
        }
    }

    #[test]
    fn the_line_is_reported() {
        let error = parse("a\n\r\n# x\nb\r-r c\n").unwrap_err();
        assert_eq!(error.to_string(), "line 5: installer options are not allowed: `-r c`");
    }

    #[test]
    fn long_lines_are_cut() {
        let error = check_plain(&format!("{}/", "x".repeat(200))).unwrap_err();
        assert_eq!(error.text, format!("{}..", "x".repeat(80)));
    }

    proptest! {
        /// Nothing an installer would read as an option, an address or a path comes out, whatever goes in.
        #[test]
        fn what_is_accepted_names_packages(text in r"[-a@:/.\[\]\\ \t\n\r#;'${}=>1\u{2028}\u{c}]{0,24}") {
            if let Ok(requirements) = parse(&text) {
                for requirement in requirements {
                    prop_assert!(requirement.is_ascii());
                    prop_assert!(requirement.starts_with(|char: char| char.is_ascii_alphanumeric()));
                    let package = requirement.split(';').next().unwrap_or_default();
                    prop_assert!(!package.contains(['@', '/', '\\', '$']));
                    prop_assert!(!requirement.contains(['\n', '\r', '\\']));
                    prop_assert!(requirement.split([' ', '\t']).skip(1).all(|word| !word.starts_with('-') || is_hash(word)));
                }
            }
        }
    }
}
